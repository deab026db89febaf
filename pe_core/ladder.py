"""Where the missing leakage went: a ladder of exact ε, each step removing one idealisation."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from pe_core.best import best_epsilon, ideal_test
from pe_core.bounds import check_tail
from pe_core.errors import InputError
from pe_core.exact import linear_test
from pe_core.linear_test import LinearTest
from pe_core.mechanism import Mechanism
from pe_core.score import LinearScore
from pe_core.threshold import expected_bound

Floats = npt.NDArray[np.float64]

STEPS = (
    "mechanism",
    "canary",
    "traffic",
    "estimated weights",
    "calibrated threshold",
    "expected",
    "realised",
)


@dataclass(frozen=True)
class Step:
    """One rung.

    Attributes:
        name: one of `STEPS`.
        epsilon: ε once everything down to this step is as in the attack.
        change: ε minus the ε of the step above; 0 for the first. It may be positive: weights that
            are best for the separation need not be best for ε.
    """

    name: str
    epsilon: float
    change: float


def ladder(
    score: LinearScore,
    contributions: Floats | csr_array,
    canary: Floats,
    mechanism: Mechanism,
    threshold: float,
    trials: int,
    tail: float,
    realised: float,
    mechanism_epsilon: float | None = None,
) -> list[Step]:
    """Return the account of one cell, from the mechanism's tight ε to the bound realised.

    The steps: the mechanism's own ε (an ideal attack); the canary's real norm on the inspected
    coordinates; other users' traffic, met by the weights Σ⁻¹v with their true covariance; weights
    estimated from auxiliary users; the calibrated threshold in place of the best; the bound that n
    trials are expected to give there; the bound that they gave.

    Args:
        score: as the attack used it, fitted on auxiliary users.
        contributions: of the N test users, float64 (N, r), dense or CSR.
        canary: v, float64 (r,).
        mechanism: gives N, q, σC and δ.
        threshold: of ℓ, calibrated.
        trials: n under each hypothesis.
        tail: γ of each Clopper-Pearson end.
        realised: the bound that the trials gave.
        mechanism_epsilon: the mechanism's tight ε where an accountant has it; by default computed
            from the exact pair.

    Returns:
        The steps in the order of `STEPS`.

    Raises:
        InputError: see `exact.linear_test`; trials below 1; a tail outside (0, 1).
        AccuracyError: rates that cannot be promised.

    Example:
        >>> from pe_core.background import Background
        >>> mechanism = Mechanism(0, 0.1, 1.0, 0.1, 1e-5)
        >>> v = np.array([0.08])
        >>> score = LinearScore.fit(v, Background(np.zeros(1), np.eye(1) * 0.01), mechanism)
        >>> steps = ladder(score, np.zeros((0, 1)), v, mechanism, 2.5, 10**6, 0.0025, 0.5)
        >>> [(step.name, round(step.epsilon, 3)) for step in steps[:3]]
        [('mechanism', 1.685), ('canary', 1.016), ('traffic', 1.016)]
    """
    check_tail(tail)
    delta = mechanism.delta
    if mechanism_epsilon is None:
        mechanism_epsilon = best_epsilon(ideal_test(mechanism), delta).epsilon
    attack = linear_test(score, contributions, canary, mechanism)
    at_threshold = attack.rates(threshold)
    values = [
        mechanism_epsilon,
        best_epsilon(_without_traffic(canary, mechanism), delta).epsilon,
        best_epsilon(
            linear_test(
                best_weights(contributions, canary, mechanism), contributions, canary, mechanism
            ),
            delta,
        ).epsilon,
        best_epsilon(attack, delta).epsilon,
        attack.epsilon(threshold, delta),
        float(expected_bound(at_threshold, trials, delta, tail)),
        float(realised),
    ]
    above = [values[0], *values[:-1]]
    return [Step(name, value, value - up) for name, value, up in zip(STEPS, values, above)]


def best_weights(
    contributions: Floats | csr_array, canary: Floats, mechanism: Mechanism
) -> LinearScore:
    """Return the score w = Σ⁻¹v with the users' true covariance: the largest separation there is.

    Σ = q(1 − q)·Σ_u c_u c_uᵀ + (σC)²I is the covariance of the release without the canary, exactly.

    Raises:
        InputError: shapes that do not fit, σ = 0.

    Example:
        >>> mechanism = Mechanism(1, 0.5, 1.0, 0.1, 1e-5)
        >>> score = best_weights(np.array([[0.1, 0.0]]), np.array([0.1, 0.0]), mechanism)
        >>> round(score.separation**2, 6)
        0.8
    """
    if mechanism.noise_scale == 0.0:
        raise InputError("noise_multiplier = 0: the covariance may be singular")
    if contributions.ndim != 2 or contributions.shape[1:] != canary.shape:
        raise InputError(
            f"contributions have shape {contributions.shape}, the canary {canary.shape}: (N, r) "
            "and (r,) are needed"
        )
    q = mechanism.participation
    product = contributions.T @ contributions
    second = product.toarray() if isinstance(product, csr_array) else np.asarray(product)
    covariance = q * (1.0 - q) * second + mechanism.noise_scale**2 * np.eye(canary.size)
    if canary.size == 0:
        return LinearScore(np.zeros(0), 0.0, 0.0)
    weights = cho_solve(cho_factor(covariance, lower=True), canary)
    mean = q * np.asarray(contributions.sum(axis=0)).ravel()
    return LinearScore(
        weights, float(weights @ (mean + 0.5 * canary)), float(np.sqrt(weights @ canary))
    )


def _without_traffic(canary: Floats, mechanism: Mechanism) -> LinearTest:
    alone = replace(mechanism, population=0)
    score = LinearScore(np.asarray(canary, dtype=np.float64), 0.0, 0.0)
    return linear_test(score, np.zeros((0, canary.size)), canary, alone)
