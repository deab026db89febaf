"""What an audit can hope for: ceilings on the bound at n trials, and the trials that a bound needs.

A counted bound pays the Clopper-Pearson price of rare events: at a million trials an ideal attack
is expected to prove less than two thirds of what the mechanism gives away.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pe_core.best import best_epsilon, ideal_test
from pe_core.bounds import check_tail
from pe_core.errors import InputError
from pe_core.linear_test import LinearTest, Rates
from pe_core.mechanism import Mechanism
from pe_core.releases import SummedRates, summed_rates
from pe_core.threshold import best_expected, expected_bound

MOST_TRIALS = 10**10
# Relative width to which the number of trials is found.
WIDTH = 0.01
# The coarser spacing of a sum's grid, and thresholds at which its ceiling is looked for at a time.
MESH, TRIED = 2e-4, 64


@dataclass(frozen=True)
class Ceiling:
    """Expectation at one number of trials.

    Attributes:
        trials: n under each hypothesis.
        expected: expected bound on ε at the best fixed threshold.
        exact: ε that the attack proves without sampling; no number of trials is expected to
            reach it.
    """

    trials: int
    expected: float
    exact: float


def ceilings(test: LinearTest, trials: Sequence[int], delta: float, tail: float) -> list[Ceiling]:
    """Return what an attack can be expected to prove at each number of trials.

    Args:
        test: from `exact.linear_test`, or `best.ideal_test(mechanism)` for the ceiling of all.
        trials: numbers of trials under each hypothesis, each ≥ 1.
        delta: δ in [0, 1].
        tail: γ of each Clopper-Pearson end.

    Raises:
        InputError: trials below 1, δ outside [0, 1], a tail outside (0, 1).

    Example:
        >>> ideal = ideal_test(Mechanism(1000, 0.1, 1.0, 0.1, 1e-5))
        >>> [round(row.expected, 2) for row in ceilings(ideal, [10**5, 10**6], 1e-5, 0.0025)]
        [0.56, 0.99]
    """
    exact = best_epsilon(test, delta).epsilon
    return [Ceiling(n, best_expected(test, n, delta, tail)[1], exact) for n in trials]


def trials_needed(test: LinearTest, epsilon: float, delta: float, tail: float) -> int:
    """Return a number of trials at which the expected bound reaches a wanted ε.

    The expected bound at the returned number is at least `epsilon`, and about 1% fewer trials are
    expected to miss it.

    Args:
        test: from `exact.linear_test` or `best.ideal_test`.
        epsilon: wanted bound, > 0.
        delta: δ in [0, 1].
        tail: γ of each Clopper-Pearson end.

    Raises:
        InputError: ε not above 0; an ε that the attack does not prove even without sampling error,
            or only with more than 10¹⁰ trials.

    Example:
        >>> ideal = ideal_test(Mechanism(1000, 0.1, 1.0, 0.1, 1e-5))
        >>> 1.0e6 < trials_needed(ideal, 1.0, 1e-5, 0.0025) < 1.1e6
        True
    """
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        raise InputError(f"epsilon = {epsilon!r}: a finite number above 0 is needed")
    check_tail(tail)
    exact = best_epsilon(test, delta).epsilon
    if epsilon >= exact:
        # Rounded up: it is a limit.
        above = math.ceil(1e6 * exact) / 1e6
        raise InputError(
            f"epsilon = {epsilon!r}: the attack proves less than {above:.6f} however many trials"
        )

    def enough(trials: int) -> bool:
        return best_expected(test, trials, delta, tail)[1] >= epsilon

    low, high = 1, 1
    while not enough(high):
        if high >= MOST_TRIALS:
            raise InputError(
                f"epsilon = {epsilon!r}: more than {MOST_TRIALS:.0e} trials are needed"
            )
        low, high = high, min(10 * high, MOST_TRIALS)
    while high - low > max(1, WIDTH * high):
        middle = math.isqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def ceiling(mechanism: Mechanism, trials: int, tail: float) -> float:
    """Return the expected bound of an ideal attack on the mechanism's releases at n trials.

    For several releases the summed score's rates come from a grid, rounded towards less ε by an
    amount proportional to its mesh; two meshes give the value without it, to about 1e-6.

    Raises:
        InputError: trials below 1, a tail outside (0, 1), σ = 0.

    Example:
        >>> round(ceiling(Mechanism(1000, 0.1, 1.0, 0.1, 1e-5), 1_000_000, 0.0025), 2)
        0.99
        >>> round(ceiling(Mechanism(1000, 0.1, 1.0, 0.1, 1e-5, releases=2), 1_000_000, 0.0025), 2)
        1.19
    """
    if trials < 1:
        raise InputError(f"trials = {trials!r}: at least 1 is needed")
    check_tail(tail)
    ideal = ideal_test(mechanism)
    if mechanism.releases == 0 or mechanism.participation == 0.0:
        return 0.0
    if mechanism.releases == 1:
        return best_expected(ideal, trials, mechanism.delta, tail)[1]
    coarse, fine = (
        _largest_expected(
            summed_rates([ideal] * mechanism.releases, mesh), trials, mechanism.delta, tail
        )
        for mesh in (MESH, MESH / 2)
    )
    return max(2.0 * fine - coarse, 0.0)


def _largest_expected(rates: SummedRates, trials: int, delta: float, tail: float) -> float:
    """Return the expected bound at the best threshold of the grid."""
    # Where the event is seen with the canary, and its complement without; either error may be so
    # rare that it never is.
    seen = np.flatnonzero(np.minimum(rates.tpr, rates.tnr) * trials > 1.0)
    if seen.size == 0:
        return 0.0
    low, high, found = seen[0], seen[-1], 0.0
    # Over all of them, then between the neighbours of the best, down to single nodes.
    for _ in range(3):
        at = np.unique(np.linspace(low, high, TRIED).astype(int))
        tried = Rates(rates.fpr[at], rates.tpr[at], rates.tnr[at], rates.fnr[at], np.zeros(at.size))
        bounds = expected_bound(tried, trials, delta, tail)
        best = int(np.argmax(bounds))
        low, high = at[max(best - 1, 0)], at[min(best + 1, at.size - 1)]
        found = max(found, float(bounds[best]))
    return found
