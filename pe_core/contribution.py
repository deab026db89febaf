"""Contributions: a user's votes, normalised and clipped once (equation 1)."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pe_core.errors import InputError
from pe_core.kernels import votes

_MOST = np.iinfo(np.int32).max


def contributions(
    index: NDArray[np.int32], user: NDArray[np.integer], users: int, candidates: int, clip: float
) -> csr_array:
    """Return every user's contribution v = h̄·min(1, C/‖h̄‖₂), h̄ = votes / (records · k).

    The norm is over the whole bank, and all records of a user share one clip whatever their labels.

    Args:
        index: (n, k) int32 bank positions that each record votes for.
        user: (n,) integers in 0 … users − 1, the record's user, in any order.
        users: number of users ≥ 1; those without records contribute zero.
        candidates: number of bank entries p.
        clip: C > 0.

    Returns:
        (users, candidates) float64 compressed rows, indices ascending within a row.

    Raises:
        InputError: another dtype or shape, a position or user out of range, no users, more users or
            candidates than an int32 can number, or a clip that is not positive and finite.

    Example:
        >>> index = np.array([[0, 1], [0, 2], [3, 1]], np.int32)
        >>> contributions(index, np.array([0, 0, 2]), users=3, candidates=4, clip=1.0).toarray()
        array([[0.5 , 0.25, 0.25, 0.  ],
               [0.  , 0.  , 0.  , 0.  ],
               [0.  , 0.5 , 0.  , 0.5 ]])
    """
    _check_count("users", users)
    _check_count("candidates", candidates)
    if not isinstance(clip, (int, float, np.floating)) or not (0 < clip < math.inf):
        raise InputError(f"clip = {clip!r}: a finite number above 0 is needed")
    if not isinstance(index, np.ndarray) or index.dtype != np.int32 or index.ndim != 2:
        raise InputError("index: an int32 array of shape (n, k) is needed, as `Routes.index`")
    if index.shape[1] == 0:
        raise InputError("index: shape (n, 0) given, every record has at least one vote")
    _check_range("index", index, candidates)
    owner = np.asarray(user)
    if owner.shape != index.shape[:1] or not np.issubdtype(owner.dtype, np.integer):
        raise InputError(
            f"user: integers of shape {index.shape[:1]} are needed, got {owner.dtype} {owner.shape}"
        )
    _check_range("user", owner, users)

    kind = np.int32 if index.size <= _MOST else np.int64
    indptr = np.empty(users + 1, kind)
    indices = np.empty(index.size, kind)
    data = np.empty(index.size)
    size = votes.clipped_votes(index, owner, users, candidates, float(clip), indptr, indices, data)
    return csr_array((data[:size], indices[:size], indptr), shape=(users, candidates))


def inspected(contributions: csr_array, positions: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the contributions on the inspected coordinates, dense, in the order of `positions`.

    Args:
        contributions: (users, candidates), from `contributions`.
        positions: (r,) bank positions.

    Returns:
        (users, r) float64.

    Raises:
        InputError: positions that are not whole numbers in 0 … candidates − 1.

    Example:
        >>> rows = contributions(np.array([[0, 3]], np.int32), np.array([0]), 1, 4, 1.0)
        >>> inspected(rows, np.array([3, 2]))
        array([[0.5, 0. ]])
    """
    where = np.asarray(positions)
    if where.ndim != 1 or (where.size and not np.issubdtype(where.dtype, np.integer)):
        raise InputError(f"positions: integers of shape (r,), got {where.dtype} {where.shape}")
    _check_range("positions", where, contributions.shape[1])
    return contributions[:, where.astype(np.int64)].toarray()


def _check_count(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{name} = {value!r}: a whole number is needed")
    if not 1 <= value <= _MOST:
        raise InputError(f"{name} = {value}: allowed are 1 … {_MOST}")


def _check_range(name: str, values: NDArray[np.integer], limit: int) -> None:
    if values.size and (values.min() < 0 or values.max() >= limit):
        raise InputError(
            f"{name}: {values.min()} … {values.max()} found, allowed are 0 … {limit - 1}"
        )
