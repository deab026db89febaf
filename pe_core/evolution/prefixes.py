"""The audit of several releases, for every number of them: the sum of the rounds' ℓ_mix
(equation 36).

Given the realised transcript, the banks are fixed, and with them every round's contributions. The
rounds are then independent: users, the canary among them, are sampled anew in each, and noise is
drawn anew. The log-likelihood ratio of a prefix of releases is the sum of its rounds' ℓ_mix.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pe_core import trials as sampling
from pe_core.best import best_epsilon
from pe_core.bounds import branch, check_delta, check_tail, ends, epsilon_lower
from pe_core.errors import InputError
from pe_core.exact import cycled_test, linear_test
from pe_core.linear_test import LinearTest, Rates
from pe_core.mechanism import Mechanism
from pe_core.releases import SummedRates, summed_rates
from pe_core.score import LinearScore, mixture
from pe_core.threshold import best_expected, expected_bound
from pe_core.trials import Counts

# Thresholds of a sum that are compared, and those of them whose expected bound is computed.
CANDIDATES = 4000
SHORTLIST = 40


@dataclass(frozen=True, eq=False)
class RoundTest:
    """What one release is tested with; rows are users, columns the inspected coordinates.

    Attributes:
        score: fitted on auxiliary users' contributions in this round.
        calibration: (n, r) of the calibration cohort in this round.
        contributions: (N, r) of the eligible users in this round.
        canary: v, float64 (r,), in this round.
    """

    score: LinearScore
    calibration: NDArray[np.float64] | csr_array
    contributions: NDArray[np.float64] | csr_array
    canary: NDArray[np.float64]


@dataclass(frozen=True)
class Prefix:
    """The audit of the first releases.

    Attributes:
        releases: how many.
        threshold: fixed on calibration users; of ℓ for one release, of Σ ℓ_mix for more.
        counts: of the trials.
        lower: bound on ε from the trials.
        exact: ε that the true rates at the threshold prove.
        exact_best: ε that the true rates at the best threshold prove.
    """

    releases: int
    threshold: float
    counts: Counts
    lower: float
    exact: float
    exact_best: float


def audit(
    tests: Sequence[RoundTest],
    mechanism: Mechanism,
    trials: int,
    tail: float,
    seeds: Sequence[np.random.SeedSequence],
    mesh: float = 1e-4,
) -> list[Prefix]:
    """Audit every prefix of the releases, each conditional on the realised transcript.

    One release is audited as `threshold.calibrate`, `trials.error_counts` and the linear test do,
    and gives the same numbers to the last digit. For several, the threshold has the largest
    expected bound under the calibration users' rates, and exact rates come from
    `releases.summed_rates`. Prefixes share trials; each alone is a sample of the size it states,
    and `lower` holds for each alone.

    Args:
        tests: one a round.
        mechanism: of one release; its population is the number of contributions.
        trials: ≥ 1, under each hypothesis.
        tail: γ of each Clopper-Pearson end.
        seeds: one a round, different.
        mesh: of the exact values' grid.

    Returns:
        One entry for each number of releases.

    Raises:
        InputError: numbers of tests and seeds that differ or are 0; as the functions named above.
        AccuracyError: rates that cannot be promised.

    Example:
        >>> mechanism = Mechanism(0, 0.1, 1.1088, 0.1, 1e-5)
        >>> score = LinearScore(np.array([0.1]) / mechanism.noise_scale**2, 0.407, 0.902)
        >>> test = RoundTest(score, np.zeros((0, 1)), np.zeros((0, 1)), np.array([0.1]))
        >>> seeds = [np.random.SeedSequence([1, t]) for t in range(2)]
        >>> [round(each.exact_best, 1) for each in audit([test] * 2, mechanism, 1000, 0.01, seeds)]
        [1.3, 1.5]
    """
    if not len(tests) == len(seeds) > 0:
        raise InputError(
            f"{len(tests)} tests and {len(seeds)} seeds: one of each is needed for every round"
        )
    calibrated = [cycled_test(t.score, t.calibration, t.canary, mechanism) for t in tests]
    exact = [linear_test(t.score, t.contributions, t.canary, mechanism) for t in tests]
    delta = mechanism.delta
    thresholds, values = [], []
    for t in range(1, len(tests) + 1):
        if t == 1:
            threshold = best_expected(calibrated[0], trials, delta, tail)[0]
            value = exact[0].epsilon(threshold, delta), best_epsilon(exact[0], delta).epsilon
        else:
            threshold = _calibrate(_summed(calibrated[:t], mesh), trials, delta, tail)
            value = _epsilons(_summed(exact[:t], mesh), threshold, delta)
        thresholds.append(threshold)
        values.append(value)
    counts = prefix_counts(tests, mechanism, thresholds, trials, seeds)
    return [
        Prefix(
            t,
            thresholds[t - 1],
            found,
            epsilon_lower(found.true_positives, trials, found.false_positives, trials, delta, tail),
            *values[t - 1],
        )
        for t, found in enumerate(counts, 1)
    ]


def prefix_counts(
    tests: Sequence[RoundTest],
    mechanism: Mechanism,
    thresholds: Sequence[float],
    trials: int,
    seeds: Sequence[np.random.SeedSequence],
) -> list[Counts]:
    """Count the trials whose score exceeds the threshold, for every number of releases.

    Args:
        tests: one a round.
        mechanism: of one release; its population is the number of contributions.
        thresholds: one a prefix. The first is of ℓ, whose event ℓ_mix has too, since it increases
            with ℓ: a prefix of one release counts as `trials.error_counts` does. The others are of
            the sum of ℓ_mix.
        trials: ≥ 1, under each hypothesis.
        seeds: one a round, different.

    Returns:
        The counts of each prefix.

    Raises:
        InputError: numbers of tests, thresholds and seeds that differ; as `trials.error_counts`.

    Example:
        >>> mechanism = Mechanism(0, 0.5, 1.0, 0.1, 1e-5)
        >>> score = LinearScore(np.array([10.0]), 0.5, 1.0)
        >>> test = RoundTest(score, np.zeros((0, 1)), np.zeros((0, 1)), np.array([0.1]))
        >>> seeds = [np.random.SeedSequence([1, t]) for t in range(2)]
        >>> counts = prefix_counts([test, test], mechanism, [2.0, 1.0], 1000, seeds)
        >>> [each.true_positives > each.false_positives for each in counts]
        [True, True]
    """
    if not len(tests) == len(thresholds) == len(seeds):
        raise InputError(
            f"{len(tests)} tests, {len(thresholds)} thresholds and {len(seeds)} seeds: one of each "
            "is needed for every round"
        )
    found: list[Counts] = []
    absent = present = np.zeros(0)
    for test, threshold, seed in zip(tests, thresholds, seeds):
        ell = sampling.scores(test.score, test.contributions, test.canary, mechanism, trials, seed)
        first = not found
        mixed = [mixture(each, mechanism.participation) for each in ell]
        absent, present = mixed if first else (absent + mixed[0], present + mixed[1])
        decided = ell if first else (absent, present)
        found.append(
            Counts(
                int(np.count_nonzero(decided[1] > threshold)),
                int(np.count_nonzero(decided[0] > threshold)),
                trials,
            )
        )
    return found


def _summed(tests: Sequence[LinearTest], mesh: float) -> SummedRates | None:
    """Rates of the sum, None where no round tells anything."""
    # A canary without a vote on the probes has ℓ_mix = 0, which adds nothing.
    telling = [test for test in tests if test.sum is not None and test.participation > 0.0]
    return summed_rates(telling, mesh) if telling else None


def _epsilons(rates: SummedRates | None, threshold: float, delta: float) -> tuple[float, float]:
    if rates is None:
        return 0.0, 0.0
    # Past either end of the grid lies an event too rare, or too sure, to prove anything.
    inside = rates.thresholds[0] <= threshold <= rates.thresholds[-1]
    value = rates.epsilon(threshold, delta) if inside else 0.0
    return value, rates.best_epsilon(delta)[0]


def _calibrate(rates: SummedRates | None, trials: int, delta: float, tail: float) -> float:
    """Return the threshold of the sum with the largest expected bound."""
    check_delta(delta)
    check_tail(tail)
    if rates is None:
        return 0.0
    # Beyond these ends the trials see nothing, or all.
    low, high = np.searchsorted(-rates.fpr, [-1.0 + 0.1 / trials, -0.1 / trials])
    nodes = np.unique(np.linspace(low, max(low, high - 1), CANDIDATES).astype(np.int64))

    def at(rows: NDArray[np.int64]) -> Rates:
        return Rates(
            rates.fpr[rows],
            rates.tpr[rows],
            rates.tnr[rows],
            rates.fnr[rows],
            np.zeros(len(rows)),
        )

    likely = at(nodes)
    n = float(trials)
    at_means = np.maximum(
        branch(ends(n * likely.tpr, n, tail).lower, ends(n * likely.fpr, n, tail).upper, delta),
        branch(ends(n * likely.tnr, n, tail).lower, ends(n * likely.fnr, n, tail).upper, delta),
    )
    best = nodes[np.sort(np.argsort(-at_means, kind="stable")[:SHORTLIST])]
    expected = expected_bound(at(best), trials, delta, tail)
    return float(rates.thresholds[best[int(np.argmax(expected))]])
