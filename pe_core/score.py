"""The auditor's statistic: the log-likelihood ratio of two Gaussians, linear in the release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pe_core.background import Background
from pe_core.errors import InputError
from pe_core.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class LinearScore:
    """ℓ(y) = weights·y − offset, the log-likelihood ratio of a release with and without the canary.

    Attributes:
        weights: w = Σ̂⁻¹v, float64 (r,).
        offset: wᵀ(m̂₀ + v/2).
        separation: μ_eff = √(vᵀΣ̂⁻¹v).
    """

    weights: NDArray[np.float64]
    offset: float
    separation: float

    @classmethod
    def fit(
        cls, contribution: NDArray[np.float64], background: Background, mechanism: Mechanism
    ) -> LinearScore:
        """Fit the score to one canary (equations 14 and 22).

        Args:
            contribution: v, float64 (r,), the canary's clipped contribution on the inspected
                coordinates.
            background: of the same r coordinates.
            mechanism: gives the clip C, which v must respect.

        Returns:
            The score; all zero for a canary without a vote on the inspected coordinates.

        Raises:
            InputError: shapes that differ, entries not finite, ‖v‖ over the clip, or a covariance
                that is not positive definite.

        Example:
            >>> import numpy as np
            >>> mechanism = Mechanism(0, 0.1, 1.0, 0.1, 1e-5)
            >>> background = Background(np.zeros(2), 0.01 * np.eye(2))
            >>> score = LinearScore.fit(np.array([0.1, 0.0]), background, mechanism)
            >>> score.weights.round(12), round(score.offset, 12), round(score.separation, 12)
            (array([10.,  0.]), 0.5, 1.0)
        """
        v = np.asarray(contribution)
        if v.ndim != 1 or v.dtype != np.float64:
            raise InputError(
                f"contribution is {v.dtype} of shape {v.shape}: float64 of one axis is needed"
            )
        r = v.shape[0]
        if background.mean.shape != (r,) or background.covariance.shape != (r, r):
            raise InputError(
                f"contribution has {r} coordinates, the background's mean {background.mean.shape} "
                f"and covariance {background.covariance.shape}: they must agree"
            )
        if not np.isfinite(v).all():
            raise InputError("contribution is not finite")
        norm = float(np.linalg.norm(v))
        # Clipping in float64 may leave the norm a few units in the last place above C.
        if norm > mechanism.clip * (1.0 + 1e-12):
            raise InputError(f"contribution has norm {norm!r}: at most clip = {mechanism.clip!r}")
        if not (np.isfinite(background.mean).all() and np.isfinite(background.covariance).all()):
            raise InputError("background is not finite")
        if r == 0:
            return cls(np.zeros(0), 0.0, 0.0)
        try:
            factor = np.linalg.cholesky(background.covariance)
        except np.linalg.LinAlgError as error:
            raise InputError(
                "the background's covariance is not positive definite: raise ridge or σ"
            ) from error
        # vᵀΣ̂⁻¹v as the square of a norm is never below zero.
        whitened = np.linalg.solve(factor, v)
        weights = np.linalg.solve(factor.T, whitened)
        offset = float(weights @ (background.mean + 0.5 * v))
        return cls(weights, offset, float(np.linalg.norm(whitened)))


def mixture(ell: NDArray[np.float64] | float, participation: float) -> NDArray[np.float64]:
    """ℓ_mix = log((1−q) + q·e^ℓ), the score of a canary who takes part with probability q.

    Increasing in ℓ for q > 0, so one release needs only ℓ; scores of several releases add up as
    ℓ_mix (equation 36). Right to a few units in the last place of ℓ_mix, or of the change that
    rounding ℓ itself makes, where that is larger.

    Args:
        ell: ℓ, any shape, finite.
        participation: q in [0, 1].

    Returns:
        float64 of the same shape.

    Raises:
        InputError: ℓ not finite or q outside [0, 1].

    Example:
        >>> [round(float(value), 6) for value in mixture(np.array([0.0, 2e3, -2e3]), 0.5)]
        [0.0, 1999.306853, -0.693147]
    """
    if not 0.0 <= participation <= 1.0:
        raise InputError(f"participation = {participation!r}: allowed are values in [0, 1]")
    ell = np.asarray(ell, dtype=np.float64)
    if not np.isfinite(ell).all():
        raise InputError("ell is not finite")
    if participation == 0.0:
        return np.zeros_like(ell)
    if participation == 1.0:
        return ell.copy()
    # Exact near ℓ = 0 and for small q; the other form takes over where it would lose digits to
    # 1 − q(1 − e^ℓ) close to zero, or overflow.
    change = participation * np.expm1(np.minimum(ell, 700.0))
    far = (change < -0.5) | (ell > 700.0)
    return np.where(
        far,
        np.logaddexp(np.log1p(-participation), np.log(participation) + ell),
        np.log1p(np.where(far, 0.0, change)),
    )
