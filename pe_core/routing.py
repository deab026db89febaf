"""Routing: the k bank entries nearest to each record, and probes merged into them (section 5).

Rows are float32 unit vectors and the distance is Euclidean. The order is always that of
(squared distance in float64, bank position), so an answer depends on its record and the bank only:
not on the BLAS library, threads, block sizes or the other records.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pe_core.errors import InputError
from pe_core.kernels import merge, topk
from pe_core.rows import check_k, check_pair
from pe_core.threads import in_blocks

_TILE = 2048


@dataclass(frozen=True, eq=False)
class Routes:
    """The nearest bank entries of n records, nearest first, equal distances by position.

    Attributes:
        index: (n, k) int32 bank positions, different within a row.
        squared_distance: (n, k) float64.

    Raises:
        InputError: other dtypes, or shapes that differ.
    """

    index: NDArray[np.int32]
    squared_distance: NDArray[np.float64]

    def __post_init__(self) -> None:
        index, distance = self.index, self.squared_distance
        if index.dtype != np.int32 or distance.dtype != np.float64:
            raise InputError(
                f"routes: int32 and float64 are needed, got {index.dtype} and {distance.dtype}"
            )
        if index.ndim != 2 or index.shape != distance.shape:
            raise InputError(
                f"routes: two equal shapes (n, k) are needed, got {index.shape}, {distance.shape}"
            )

    def relabel(self, positions: NDArray[np.integer]) -> "Routes":
        """Give entry j of the searched bank its position in a larger bank, `positions[j]`.

        Args:
            positions: (p,) ascending, so that ties stay in order.

        Raises:
            InputError: positions not ascending, not int32, or fewer than the routes refer to.

        Example:
            >>> routes = Routes(np.array([[1, 0]], np.int32), np.array([[0.0, 0.5]]))
            >>> routes.relabel(np.array([3, 7])).index
            array([[7, 3]], dtype=int32)
        """
        kept = _positions(positions)
        if np.any(np.diff(kept.astype(np.int64)) <= 0):
            raise InputError("positions: they must ascend, for ties go to the lowest position")
        if self.index.size and self.index.max() >= kept.size:
            raise InputError(
                f"positions: {kept.size} given, but the routes refer to entry {self.index.max()}"
            )
        return Routes(kept[self.index], self.squared_distance)


def top_k(records: NDArray[np.float32], bank: NDArray[np.float32], k: int) -> Routes:
    """Return the k bank entries nearest to each record, exactly.

    Inner products in float32, by blocks, propose candidates; everything that a bound on their
    rounding error leaves possible is decided on float64 distances. The scores of all records and
    entries never exist together: a thread holds 1,024 × 2,048 of them (8 MB).

    Args:
        records: (n, d) float32, C-contiguous, unit rows; n ≥ 1.
        bank: (p, d) float32, C-contiguous, unit rows.
        k: votes per record, 1 ≤ k ≤ p.

    Returns:
        Routes: index int32 (n, k), squared_distance float64 (n, k).

    Raises:
        InputError: another dtype, layout or shape, no rows, NaN or infinite values, rows whose norm
            is more than 1e-4 from 1, or k outside 1 … p.

    Example:
        >>> bank = np.array([[0, 1], [1, 0], [1, 0], [0.6, 0.8]], np.float32)
        >>> routes = top_k(bank[1:2], bank, 3)
        >>> routes.index
        array([[1, 2, 3]], dtype=int32)
        >>> routes.squared_distance.round(6)
        array([[0. , 0. , 0.8]])
    """
    record_norms, bank_norms = check_pair("records", records, "bank", bank)
    check_k(k, bank.shape[0])
    n, p = records.shape[0], bank.shape[0]
    margin = _margin(record_norms, bank_norms, records.shape[1])
    routes = Routes(np.empty((n, k), np.int32), np.empty((n, k), np.float64))
    room = max(4 * k, 2 * k + topk.CHUNK)

    def start(most: int) -> Callable[[slice], None]:
        top = np.empty((most, k), np.float32)
        found = np.empty((most, room), np.int32)
        score = np.empty((most, room), np.float32)
        scores = np.empty(most * min(p, _TILE), np.float32)

        def work(block: slice) -> None:
            mine = records[block]
            b = mine.shape[0]
            count = np.zeros(b, np.int64)
            top.fill(-np.inf)
            for first in range(0, p, _TILE):
                tile = bank[first : first + _TILE]
                product = scores[: b * tile.shape[0]].reshape(b, tile.shape[0])
                np.matmul(mine, tile.T, out=product)
                topk.scan(product, first, margin, mine, bank, top, found, score, count)
            topk.rerank(
                mine, bank, found, count, routes.index[block], routes.squared_distance[block]
            )

        return work

    in_blocks(n, start)
    return routes


def squared_distances(
    records: NDArray[np.float32], probes: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return all squared distances, bit for bit those that `top_k` compares.

    Args:
        records: (n, d) float32, C-contiguous, unit rows; n ≥ 1.
        probes: (r, d) float32, C-contiguous, unit rows; r ≥ 1.

    Returns:
        (n, r) float64, Σ(a−b)².

    Raises:
        InputError: as `top_k`.

    Example:
        >>> rows = np.array([[0, 1], [1, 0]], np.float32)
        >>> squared_distances(rows, rows)
        array([[0., 2.],
               [2., 0.]])
    """
    check_pair("records", records, "probes", probes)
    out = np.empty((records.shape[0], probes.shape[0]))
    in_blocks(
        records.shape[0],
        lambda _: lambda block: topk.squared_distances(records[block], probes, out[block]),
    )
    return out


def merge_top_k(
    base: Routes,
    positions: NDArray[np.integer],
    squared_distance: NDArray[np.float64],
    k: int | None = None,
) -> Routes:
    """Route on the bank with its probes, given the routes on the bank without them.

    An entry outside a record's top k cannot enter it when others are added, so the base top k and
    the probes hold the answer.

    Args:
        base: routes among the entries that stay, by their positions in the full bank. At least k
            of them a record, or all that there are: a base of fewer than k entries is allowed.
        positions: (r,) bank positions of the probes, in any order, none of them in `base`.
        squared_distance: (n, r) float64, from `squared_distances`.
        k: entries to keep, at most the base's and the probes together; the base's where not given.

    Returns:
        Routes on the full bank, (n, k).

    Raises:
        InputError: shapes that do not fit, repeated positions or positions used by the base,
            distances that are NaN, infinite or negative, or k out of range.

    Example:
        >>> base = Routes(np.array([[0, 4]], np.int32), np.array([[0.1, 0.3]]))
        >>> merged = merge_top_k(base, np.array([2, 3]), np.array([[0.3, 0.2]]))
        >>> merged.index
        array([[0, 3]], dtype=int32)
        >>> merge_top_k(base, np.array([2, 3]), np.array([[0.3, 0.2]]), k=4).index
        array([[0, 3, 2, 4]], dtype=int32)
    """
    probes = _positions(positions)
    n, held = base.index.shape
    _check_distances(squared_distance, (n, probes.size))
    k = held if k is None else k
    check_k(k, held + probes.size)
    if np.unique(probes).size < probes.size:
        raise InputError("positions: every probe needs a position of its own, some are repeated")
    if probes.size:
        used = np.zeros(max(int(probes.max()), int(base.index.max(initial=0))) + 1, np.bool_)
        used[probes] = True
        if used[base.index].any():
            taken = base.index[used[base.index]][0]
            raise InputError(
                f"positions: {taken} is in the base routes; route on the bank without the probes"
            )
    keep = min(held, k)
    index = np.empty((n, k), np.int32)
    distance = np.empty((n, k), np.float64)
    index[:, :keep] = base.index[:, :keep]
    distance[:, :keep] = base.squared_distance[:, :keep]
    merge.merge(index, distance, keep, probes, np.ascontiguousarray(squared_distance))
    return Routes(index, distance)


def add_probe(
    routes: Routes, position: int, squared_distance: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Add one probe to routes in place, touching only the records that it wins.

    Adding probes one by one, in any order, gives what `merge_top_k` gives for all at once.

    Args:
        routes: changed in place; the probe's position is not in them.
        position: bank position of the probe.
        squared_distance: (n,) float64, from `squared_distances`.

    Returns:
        The records whose routes changed, ascending.

    Raises:
        InputError: shapes that do not fit, a distance that is NaN, infinite or negative, a position
            that is not an int32 ≥ 0, or read-only routes.

    Example:
        >>> index = np.array([[0, 4], [4, 0]], np.int32)
        >>> routes = Routes(index, np.array([[0.1, 0.3], [0.0, 0.1]]))
        >>> add_probe(routes, 2, np.array([0.2, 0.2]))
        array([0])
        >>> routes.index
        array([[0, 2],
               [4, 0]], dtype=int32)
    """
    probe = _positions(np.array([position]))
    _check_distances(squared_distance, (routes.index.shape[0],))
    if not (routes.index.flags.writeable and routes.squared_distance.flags.writeable):
        raise InputError("routes: they are changed in place, but are read-only; pass a copy")
    values = np.ascontiguousarray(squared_distance)
    return merge.add(routes.index, routes.squared_distance, probe[0], values)


def _margin(
    record_norms: NDArray[np.float64], bank_norms: NDArray[np.float64], d: int
) -> np.float32:
    """How far a score may be under the k-th largest while its entry may still be among the nearest.

    With u = 2⁻²⁴, a float32 inner product in any order of summation is within e = γ‖a‖‖b‖ of the
    true one, γ = du/(1−du). For entries i and j, D_j − D_i = (‖b_j‖²−‖b_i‖²) − 2(a·b_j − a·b_i), so
    a score more than 2e + (max‖b‖² − min‖b‖²)/2 under i's makes j strictly farther. Added are the
    rounding of the float64 distances and norms (a relative d·2⁻⁵² each, with room), of the
    subtraction `score − margin` in float32 (4u), and underflow in the product.
    """
    u = 2.0**-24
    a = np.sqrt(record_norms.max())
    b = np.sqrt(bank_norms.max())
    rounding = 2 * d * u / (1 - d * u) * a * b + 4 * u * a * b
    spread = (bank_norms.max() - bank_norms.min()) / 2
    distances = (d + 4) * 2.0**-51 * (a + b) ** 2
    underflow = d * 2.0**-125
    return np.nextafter(np.float32(rounding + spread + distances + underflow), np.float32(np.inf))


def _positions(positions: NDArray[np.integer]) -> NDArray[np.int32]:
    given = np.asarray(positions)
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InputError(f"positions: integers of shape (r,), got {given.dtype} {given.shape}")
    if given.size and (given.min() < 0 or given.max() > np.iinfo(np.int32).max):
        raise InputError(f"positions: {given.min()} … {given.max()} found, int32 ≥ 0 allowed")
    return given.astype(np.int32)


def _check_distances(distances: NDArray[np.float64], shape: tuple[int, ...]) -> None:
    if not isinstance(distances, np.ndarray) or distances.dtype != np.float64:
        raise InputError("squared_distance: a float64 array is needed, from `squared_distances`")
    if distances.shape != shape:
        raise InputError(f"squared_distance: shape {distances.shape} given, {shape} needed")
    if distances.size and not (np.isfinite(distances).all() and distances.min() >= 0):
        raise InputError("squared_distance: values must be finite and at least 0")
