"""What an audit can hope for: ceilings on the bound at n trials, and the trials that a bound needs.

A counted bound pays the Clopper-Pearson price of rare events: at a million trials an ideal attack
is expected to prove less than two thirds of what the mechanism gives away.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pe_core.best import best_epsilon, ideal_test
from pe_core.bounds import check_tail
from pe_core.errors import InputError
from pe_core.linear_test import LinearTest
from pe_core.mechanism import Mechanism
from pe_core.threshold import best_expected

MOST_TRIALS = 10**10
# Relative width to which the number of trials is found.
WIDTH = 0.01


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
    """Return the expected bound of an ideal attack on the mechanism at n trials.

    Raises:
        InputError: trials below 1, a tail outside (0, 1), σ = 0.

    Example:
        >>> round(ceiling(Mechanism(1000, 0.1, 1.0, 0.1, 1e-5), 1_000_000, 0.0025), 2)
        0.99
    """
    return best_expected(ideal_test(mechanism), trials, mechanism.delta, tail)[1]
