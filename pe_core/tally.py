"""Users who contribute alike, counted: a population in the size of its variety.

Contributions on the inspected coordinates repeat: a clipped user's entries are whole votes times
C/√(Σ votes²), and most users have one vote there or none. Distinct rows and how often each occurs
hold everything that the background's moments and a score's histogram need. Counts are whole
numbers, so tallies of shards add up to the same bytes in any order and for any cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pe_core.errors import InputError


@dataclass(frozen=True, eq=False)
class Tally:
    """Distinct contributions of some users.

    Attributes:
        rows: float64 (d, r), distinct, in ascending lexicographic order, clipped votes.
        counts: int64 (d,), users with each row, at least 1.
    """

    rows: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def users(self) -> int:
        """Number of users counted."""
        return int(self.counts.sum())

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return Σ_u c_u, float64 (r,), and Σ_u c_u c_uᵀ, float64 (r, r) and symmetric.

        The sums run over the rows in their order, which does not depend on how users were cut.

        Example:
            >>> total, second = tally(csr_array(np.array([[0.5, 0.0], [0.5, 0.0]]))).moments()
            >>> total.tolist(), second.tolist()
            ([1.0, 0.0], [[0.5, 0.0], [0.0, 0.0]])
        """
        rows = csr_array(self.rows)
        counted = csr_array(self.rows * self.counts[:, None])
        second = (counted.T @ rows).toarray()
        return np.asarray(counted.sum(axis=0)).reshape(-1), (second + second.T) / 2.0


def tally(contributions: csr_array) -> Tally:
    """Count the users of each distinct contribution.

    Args:
        contributions: CSR float64 (users, r), one user a row; memory grows with the users who have
            an entry, not with all.

    Raises:
        InputError: not a CSR matrix of finite float64.

    Example:
        >>> votes = csr_array(np.array([[0.0, 0.1], [0.0, 0.0], [0.0, 0.1]]))
        >>> counted = tally(votes)
        >>> counted.rows.tolist(), counted.counts.tolist()
        ([[0.0, 0.0], [0.0, 0.1]], [1, 2])
    """
    if not isinstance(contributions, csr_array) or contributions.ndim != 2:
        raise InputError(
            f"contributions are {type(contributions).__name__}: a csr_array (users, r) is needed"
        )
    if contributions.dtype != np.float64 or not np.isfinite(contributions.data).all():
        raise InputError(f"contributions are {contributions.dtype}: finite float64 is needed")
    voting = np.flatnonzero(np.diff(contributions.indptr))
    silent = contributions.shape[0] - len(voting)
    rows = contributions[voting].toarray()
    counts = np.ones(len(rows), np.int64)
    if silent:
        rows = np.concatenate([np.zeros((1, rows.shape[1])), rows])
        counts = np.concatenate([[silent], counts])
    return _distinct(rows, counts)


def merge(tallies: Iterable[Tally]) -> Tally:
    """Add tallies up; two at a time, so that shards may be read one after the other.

    Raises:
        InputError: no tally, or different numbers of coordinates.

    Example:
        >>> one = tally(csr_array(np.array([[0.1], [0.0]])))
        >>> merge([one, one]).counts.tolist()
        [2, 2]
    """
    left = iter(tallies)
    total = next(left, None)
    if total is None:
        raise InputError("no tally: at least one is needed")
    for other in left:
        total = _add(total, other)
    return total


def _add(one: Tally, other: Tally) -> Tally:
    if one.rows.shape[1] != other.rows.shape[1]:
        raise InputError(
            f"tallies of {one.rows.shape[1]} and {other.rows.shape[1]} coordinates: they must agree"
        )
    return _distinct(
        np.concatenate([one.rows, other.rows]), np.concatenate([one.counts, other.counts])
    )


def _distinct(rows: NDArray[np.float64], counts: NDArray[np.int64]) -> Tally:
    users, r = rows.shape
    if users == 0 or r == 0:
        return Tally(rows[:1], counts[:1] if users == 0 else counts.sum(keepdims=True))
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    return Tally(ordered[new], np.add.reduceat(counts[order], np.flatnonzero(new)))
