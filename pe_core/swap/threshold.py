"""The threshold of the swap attack, fixed on calibration users from their exact rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar

from pe_core.errors import InputError
from pe_core.linear_test import Rates
from pe_core.mechanism import Mechanism
from pe_core.swap.exact import PlaneTest, plane_test
from pe_core.swap.score import Floats, SwapScore
from pe_core.threshold import expected_bound

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Thresholds tried before the best of them is refined between its neighbours.
_TRIED = 64


def calibrate(
    score: SwapScore,
    contributions: Floats | csr_array,
    first: Floats,
    second: Floats,
    mechanism: Mechanism,
    trials: int,
    tail: float,
) -> float:
    """Return the threshold of s with the largest expected bound on calibration users.

    The calibration population is the cohort cycled in order and cut at the mechanism's population.

    Args:
        score: fitted on auxiliary users.
        contributions: of the calibration cohort, float64 (n, r), dense or CSR.
        first, second: v of z and v′ of z′, float64 (r,).
        mechanism: gives N, q, σC and δ.
        trials: of the evaluation under each hypothesis, ≥ 1.
        tail: γ of each Clopper-Pearson end of the evaluation.

    Raises:
        InputError: see `plane_test` and `threshold.expected_bound`; no user to cycle.
        AccuracyError: see `plane_test`.

    Example:
        >>> from pe_core.background import Background
        >>> mechanism = Mechanism(0, 0.1, 1.0, 0.1, 1e-5)
        >>> z, other = np.array([0.1, 0.0]), np.array([0.0, 0.1])
        >>> score = SwapScore.fit(z, other, Background(np.zeros(2), 0.01 * np.eye(2)), mechanism)
        >>> fixed = calibrate(score, np.zeros((0, 2)), z, other, mechanism, 1_000_000, 0.0125)
        >>> 1.0 < abs(fixed) < 2.0
        True
    """
    users: Any = contributions
    population = mechanism.population
    if users.ndim != 2 or (users.shape[0] == 0 and population > 0):
        raise InputError(
            f"contributions have shape {users.shape}: at least one row is needed to cycle"
        )
    if population > 0:
        users = users[np.arange(population) % users.shape[0]]
    test = plane_test(score, users, first, second, mechanism)

    def expected(thresholds: Floats) -> Floats:
        return expected_bound(_complemented(test, thresholds), trials, mechanism.delta, tail)

    grid = _range(test)
    values = expected(grid)
    at = int(np.argmax(values))
    found = minimize_scalar(
        lambda limit: -float(expected(np.array([limit]))[0]),
        bounds=(grid[max(at - 1, 0)], grid[min(at + 1, grid.size - 1)]),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(found.x if -found.fun > values[at] else grid[at])


def _complemented(test: PlaneTest, thresholds: Floats) -> Rates:
    rates = test.rates(thresholds)
    error = np.full_like(rates.fpr, rates.error)
    return Rates(rates.fpr, rates.tpr, 1.0 - rates.fpr, 1.0 - rates.tpr, error)


def _range(test: PlaneTest) -> Floats:
    """Thresholds from one end of the score in the window to the other, without the ends."""
    ends = test.score(test.start + np.array([[0.0], [test.width]]), test.nodes)
    return np.linspace(float(ends.min()), float(ends.max()), _TRIED + 2)[1:-1]
