"""Routing after a round: new entries are routed, entries that stay keep their distances."""

import numpy as np
from numpy.typing import NDArray

from pe_core import routing
from pe_core.errors import InputError
from pe_core.routing import Routes


def reroute(
    routes: Routes,
    records: NDArray[np.float32],
    bank: NDArray[np.float32],
    changed: NDArray[np.integer],
) -> Routes:
    """Route on a bank of which some entries are new, given the routes before the change.

    The entries that stay and were among a record's nearest keep their distances, and the new ones
    are searched. An entry that stays and was not among a record's nearest lies behind the last of
    them; it is searched only for records whose nearest have moved away past that last one.

    Args:
        routes: on the bank before the change, (n, k).
        records: (n, d) float32 unit rows.
        bank: (p, d) float32 unit rows, after the change.
        changed: positions of the new entries, ascending, at least one.

    Returns:
        What `routing.top_k(records, bank, k)` returns, to the last bit.

    Raises:
        InputError: shapes that do not fit, positions that do not ascend or lie outside the bank,
            and as `routing.top_k`.

    Example:
        >>> bank = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
        >>> before = routing.top_k(bank[:1], bank, 2)
        >>> bank[2] = [0.8, 0.6]
        >>> reroute(before, bank[:1], bank, np.array([2])).index
        array([[0, 2]], dtype=int32)
    """
    n, k = routes.index.shape
    p = len(bank)
    new = np.asarray(changed)
    if len(records) != n:
        raise InputError(f"routes: {n} records, but {len(records)} rows of records are given")
    if new.ndim != 1 or not new.size or not np.issubdtype(new.dtype, np.integer):
        raise InputError(
            f"changed: integers of shape (c,), c ≥ 1, are needed, got {new.dtype} {new.shape}"
        )
    if new[0] < 0 or new[-1] >= p or (np.diff(new) <= 0).any():
        raise InputError(f"changed: positions must ascend within 0 … {p - 1}")
    is_new = np.zeros(p, np.bool_)
    is_new[new] = True
    kept = np.flatnonzero(~is_new)

    found = routing.top_k(records, np.ascontiguousarray(bank[new]), min(k, new.size)).relabel(new)
    gone = is_new[routes.index]
    merged = _nearest(
        np.where(gone, p, routes.index),
        np.where(gone, np.inf, routes.squared_distance),
        found,
        k,
    )
    last, limit = merged.squared_distance[:, -1], routes.squared_distance[:, -1]
    behind = (last > limit) | ((last == limit) & (merged.index[:, -1] > routes.index[:, -1]))
    rows = np.flatnonzero(behind)
    if rows.size and kept.size:
        stayed = routing.top_k(
            np.ascontiguousarray(records[rows]),
            np.ascontiguousarray(bank[kept]),
            min(k, kept.size),
        ).relabel(kept)
        searched = Routes(found.index[rows], found.squared_distance[rows])
        again = _nearest(stayed.index, stayed.squared_distance, searched, k)
        merged.index[rows] = again.index
        merged.squared_distance[rows] = again.squared_distance
    return merged


def _nearest(
    index: NDArray[np.int32], distance: NDArray[np.float64], more: Routes, k: int
) -> Routes:
    """Return the first k of two disjoint lists a record, by (distance, position)."""
    positions = np.concatenate([index, more.index], axis=1)
    distances = np.concatenate([distance, more.squared_distance], axis=1)
    order = np.lexsort((positions, distances), axis=1)[:, :k]
    return Routes(
        np.take_along_axis(positions, order, axis=1).astype(np.int32),
        np.take_along_axis(distances, order, axis=1),
    )
