"""The swap score: log-ratio of two mixtures, a function of two linear statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pe_core.background import Background
from pe_core.errors import InputError
from pe_core.mechanism import Mechanism
from pe_core.score import LinearScore, mixture

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SwapScore:
    """s(y) = ℓ_mix(ℓ_z(y)) − ℓ_mix(ℓ_z′(y)): above 0 where z is the likelier of the two.

    Each ℓ is the linear score of one canary against the same background, so s needs two numbers of
    a release. One number is not enough: for the ideal pair the best linear statistic proves
    0.870 where both together prove 1.708.

    Attributes:
        first, second: linear scores of z and z′.
        participation: q.
    """

    first: LinearScore
    second: LinearScore
    participation: float

    @classmethod
    def fit(
        cls, first: Floats, second: Floats, background: Background, mechanism: Mechanism
    ) -> SwapScore:
        """Fit the score to the two canaries.

        Args:
            first: contribution v of z on the inspected coordinates, float64 (r,).
            second: v′ of z′, likewise.
            background: of the same coordinates, without either.
            mechanism: gives q, and C, which both must respect.

        Raises:
            InputError: as `LinearScore.fit`.

        Example:
            >>> mechanism = Mechanism(0, 0.1, 1.0, 0.1, 1e-5)
            >>> background = Background(np.zeros(2), 0.01 * np.eye(2))
            >>> z, other = np.array([0.1, 0.0]), np.array([0.0, 0.1])
            >>> score = SwapScore.fit(z, other, background, mechanism)
            >>> round(float(score(np.array([[0.3, 0.0], [0.0, 0.3]]))[0]), 6)
            0.790732
        """
        return cls(
            LinearScore.fit(first, background, mechanism),
            LinearScore.fit(second, background, mechanism),
            float(mechanism.participation),
        )

    def __call__(self, releases: Floats) -> Floats:
        """Score releases.

        Args:
            releases: y, float64 (n, r).

        Returns:
            s, float64 (n,).

        Raises:
            InputError: another number of coordinates than the score's, or entries not finite.
        """
        releases = np.asarray(releases, dtype=np.float64)
        if releases.ndim != 2 or releases.shape[1] != self.first.weights.size:
            raise InputError(
                f"releases of shape {releases.shape}: (n, {self.first.weights.size}) is needed"
            )
        ells = (releases @ part.weights - part.offset for part in (self.first, self.second))
        one, other = (mixture(ell, self.participation) for ell in ells)
        return one - other


def checked_users(contributions: Floats | csr_array, score: SwapScore, mechanism: Mechanism) -> Any:
    """Return the contributions as rows that a product accepts; raises InputError."""
    r = score.first.weights.size
    rows: Any = contributions if hasattr(contributions, "tocsr") else np.asarray(contributions)
    if rows.ndim != 2 or rows.shape != (mechanism.population, r) or rows.dtype != np.float64:
        raise InputError(
            f"contributions are {rows.dtype} of shape {rows.shape}: float64 of shape "
            f"({mechanism.population}, {r}), the population by the coordinates, is needed"
        )
    values = rows.data if hasattr(rows, "tocsr") else rows
    if not np.isfinite(values).all():
        raise InputError("contributions are not all finite")
    return rows


def checked_canary(name: str, canary: Floats, score: SwapScore) -> Floats:
    """Return the canary's contribution; raises InputError."""
    v = np.asarray(canary)
    r = score.first.weights.size
    if v.shape != (r,) or v.dtype != np.float64 or not np.isfinite(v).all():
        raise InputError(f"{name} is {v.dtype} of shape {v.shape}: finite float64 ({r},) is needed")
    return v


def projections(rows: Any, weights: Floats) -> Floats:
    """Rows times weights (r, 2) without BLAS, whose sums depend on its threads."""
    if hasattr(rows, "tocsr"):
        return np.stack([rows @ weights[:, 0], rows @ weights[:, 1]], axis=1)
    return np.einsum("ur,rk->uk", rows, weights)
