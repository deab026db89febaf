"""Background model: mean and covariance of a release without the canary, from auxiliary users."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pe_core.errors import InputError
from pe_core.mechanism import Mechanism

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Background:
    """The estimated distribution of a release on the inspected coordinates, canary absent.

    Attributes:
        mean: m̂₀, float64 (r,), clipped votes.
        covariance: Σ̂, float64 (r, r), symmetric, in squared clipped votes.
    """

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]


def estimate(
    contributions: NDArray[np.float64] | csr_array,
    mechanism: Mechanism,
    shrinkage: float = 0.1,
    ridge: float = 1e-9,
) -> Background:
    """Estimate the background from auxiliary users' contributions (equations 31–35).

    With μ̂ and M̂ the mean and the uncentred second moment of the contributions,
    m̂₀ = qNμ̂ and Σ̂ = q(1−q)N·shrink(M̂) + (σC)²I + ridge·I, where `shrink` multiplies the
    off-diagonal entries by 1 − shrinkage. Each sum runs over users in order, so the answer does
    not depend on threads, and Σ̂ is symmetric to the last bit.

    Args:
        contributions: (n_aux, r), one clipped contribution a row, dense or CSR.
        mechanism: gives q, N, σ and C.
        shrinkage: in [0, 1].
        ridge: ≥ 0, added to each variance.

    Returns:
        The background on the r coordinates.

    Raises:
        InputError: no auxiliary user, entries not finite, not a matrix of numbers, or a
            `shrinkage` or `ridge` outside its range.

    Example:
        >>> import numpy as np
        >>> mechanism = Mechanism(100, 0.5, 1.0, 0.1, 1e-5)
        >>> background = estimate(np.array([[0.1, 0.0], [0.0, 0.0]]), mechanism, ridge=0.0)
        >>> background.mean
        array([2.5, 0. ])
        >>> background.covariance.round(3)
        array([[0.135, 0.   ],
               [0.   , 0.01 ]])
    """
    rows = _as_rows(contributions)
    total = np.asarray(rows.sum(axis=0), dtype=np.float64).reshape(-1)
    second = (rows.T @ rows).toarray()
    return from_moments(total, second, rows.shape[0], mechanism, shrinkage, ridge)


def from_moments(
    total: NDArray[np.float64],
    second: NDArray[np.float64],
    users: int,
    mechanism: Mechanism,
    shrinkage: float = 0.1,
    ridge: float = 1e-9,
) -> Background:
    """Estimate the background from sums over auxiliary users, which add up over shards of them.

    Args:
        total: Σ_u c_u, float64 (r,).
        second: Σ_u c_u c_uᵀ, float64 (r, r), symmetric.
        users: number of auxiliary users summed over, ≥ 1.
        mechanism, shrinkage, ridge: as for `estimate`.

    Raises:
        InputError: no auxiliary user, shapes that disagree, or a `shrinkage` or `ridge` outside its
            range.

    Example:
        >>> mechanism = Mechanism(100, 0.5, 1.0, 0.1, 1e-5)
        >>> from_moments(np.array([0.1]), np.array([[0.01]]), 2, mechanism).mean
        array([2.5])
    """
    if not 0.0 <= shrinkage <= 1.0:
        raise InputError(f"shrinkage = {shrinkage!r}: allowed are values in [0, 1]")
    if not (0.0 <= ridge < math.inf):
        raise InputError(f"ridge = {ridge!r}: a finite value of at least 0 is needed")
    if users < 1:
        raise InputError(f"the background needs at least 1 auxiliary user, found {users}")
    if total.ndim != 1 or second.shape != 2 * total.shape:
        raise InputError(
            f"the sums have shapes {total.shape} and {second.shape}: (r,) and (r, r) are needed"
        )
    q, population = mechanism.participation, mechanism.population
    covariance = second * (q * (1.0 - q) * population * (1.0 - shrinkage) / users)
    variance = second.diagonal() * (q * (1.0 - q) * population / users)
    np.fill_diagonal(covariance, variance + mechanism.noise_scale**2 + ridge)
    return Background(q * population / users * total, covariance)


def _as_rows(contributions: NDArray[np.float64] | csr_array) -> csr_array:
    # Imported late: it takes a third of the core's start-up, and `Background` needs none of it.
    from scipy.sparse import csr_array, issparse

    if not issparse(contributions):
        contributions = np.asarray(contributions)
    if contributions.ndim != 2:
        raise InputError(
            f"contributions have {contributions.ndim} axes: a matrix (users, coordinates) is needed"
        )
    if contributions.dtype != np.float64:
        raise InputError(f"contributions are {contributions.dtype}: float64 is needed")
    rows = csr_array(contributions, copy=True)
    rows.sum_duplicates()
    if not np.isfinite(rows.data).all():
        user = int(np.flatnonzero(~np.isfinite(rows.toarray()).all(axis=1))[0])
        raise InputError(f"contributions of user {user} are not finite")
    return rows
