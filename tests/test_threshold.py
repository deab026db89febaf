"""The calibrated threshold against sums over all counts, and the anchors of an ideal attack."""

import math

import numpy as np
import pytest
from scipy import special

from pe_core import Mechanism
from pe_core.best import ideal_test
from pe_core.bounds import epsilon_lower
from pe_core.errors import InputError
from pe_core.exact import cycled_test, rates_of_sum
from pe_core.linear_test import Rates
from pe_core.score import LinearScore
from pe_core.threshold import best_expected, calibrate, expected_bound, likely_counts

MECHANISM = Mechanism(1000, 0.1, 1.0, 0.1, 1e-5)
# α = 0.05 over five canaries and four ends.
TAIL = 0.0025


def binomial(n: int, p: float) -> np.ndarray:
    return np.array([math.comb(n, x) * p**x * (1.0 - p) ** (n - x) for x in range(n + 1)])


@pytest.mark.parametrize(("fpr", "tpr"), [(0.01, 0.3), (0.5, 0.6), (0.9, 0.999), (0.0, 1.0)])
def test_the_expectation_is_the_sum_over_all_counts(fpr: float, tpr: float) -> None:
    n, delta, tail = 40, 1e-3, 0.02
    rates = Rates(*(np.array(x) for x in (fpr, tpr, 1.0 - fpr, 1.0 - tpr, 0.0)))
    false, true = binomial(n, fpr), binomial(n, tpr)
    expected = sum(
        true[i] * false[j] * epsilon_lower(i, n, j, n, delta, tail)
        for i in range(n + 1)
        for j in range(n + 1)
    )
    assert float(expected_bound(rates, n, delta, tail)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("rate", [1e-6, 3e-5, 1e-3, 0.2, 0.999])
def test_spaced_counts_have_the_moments_of_all(rate: float) -> None:
    n = 10**6
    counts, weights = likely_counts(rate, 1.0 - rate, n)
    assert counts.size <= 140
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert weights @ counts == pytest.approx(n * rate, rel=1e-7)
    variance = n * rate * (1.0 - rate)
    assert weights @ (counts - n * rate) ** 2 == pytest.approx(variance, rel=1e-6)


def test_the_expectation_is_the_mean_of_sampled_audits() -> None:
    rates = ideal_test(MECHANISM).rates(3.0)
    rng = np.random.default_rng(3)
    n = 10**6
    bounds = [
        epsilon_lower(int(t), n, int(f), n, 1e-5, TAIL)
        for t, f in zip(
            rng.binomial(n, float(rates.tpr), 1500), rng.binomial(n, float(rates.fpr), 1500)
        )
    ]
    error = np.std(bounds) / math.sqrt(1500)
    expected = float(expected_bound(rates, n, 1e-5, TAIL))
    assert abs(np.mean(bounds) - expected) < 4.0 * error


def test_the_ideal_attack_at_a_million_trials() -> None:
    """0.99 on average; the largest of five lies in 0.99 … 1.19 in 90% (the paper's setting)."""
    test = ideal_test(MECHANISM)
    threshold, expected = best_expected(test, 10**6, 1e-5, TAIL)
    assert expected == pytest.approx(0.99, abs=0.005)
    rates = test.rates(threshold)
    rng = np.random.default_rng(4)
    true = rng.binomial(10**6, float(rates.tpr), 5 * 400)
    false = rng.binomial(10**6, float(rates.fpr), 5 * 400)
    bounds = np.array(
        [epsilon_lower(int(t), 10**6, int(f), 10**6, 1e-5, TAIL) for t, f in zip(true, false)]
    )
    low, high = np.quantile(bounds.reshape(400, 5).max(axis=1), [0.05, 0.95])
    assert low == pytest.approx(0.99, abs=0.02)
    assert high == pytest.approx(1.19, abs=0.03)


def test_no_other_threshold_is_expected_to_do_better() -> None:
    s = np.random.default_rng(5).normal(size=60) * 0.4
    canary, score = np.array([1.0]), LinearScore(np.array([1.0]), 0.7, 1.0)
    mechanism = Mechanism(150, 0.1, 1.0, 1.0, 1e-5)
    threshold = calibrate(score, s[:, None], canary, mechanism, 10**5, TAIL)
    test = cycled_test(score, s[:, None], canary, mechanism)
    tried = np.append(np.linspace(-8.0, 12.0, 161), threshold)
    values = expected_bound(test.rates(tried), 10**5, 1e-5, TAIL)
    assert values[-1] >= values.max() - 1e-4
    assert values[-1] > 0.0


def test_more_trials_move_the_threshold_out() -> None:
    test = ideal_test(MECHANISM)
    places = [best_expected(test, n, 1e-5, TAIL)[0] for n in (10**4, 10**6, 10**8)]
    assert places == sorted(places)
    bounds = [best_expected(test, n, 1e-5, TAIL)[1] for n in (10**4, 10**6, 10**8)]
    assert bounds == sorted(bounds)
    assert bounds[-1] < 1.6845438


def test_the_lower_branch_is_searched_too() -> None:
    """A canary always there, q = 1, and FNR events rarer than FPR events: symmetric pair."""
    test = ideal_test(Mechanism(0, 1.0, 1.0, 0.1, 1e-5))
    threshold, expected = best_expected(test, 10**5, 1e-5, TAIL)
    rates = test.rates([threshold, -threshold])
    mirrored = expected_bound(rates, 10**5, 1e-5, TAIL)
    assert mirrored[0] == pytest.approx(mirrored[1], rel=1e-6)
    assert expected == pytest.approx(mirrored[0], rel=1e-6)


def test_a_test_that_separates_nothing_still_has_a_threshold() -> None:
    score = LinearScore(np.zeros(1), 0.2, 0.0)
    mechanism = Mechanism(3, 0.1, 1.0, 0.1, 1e-5)
    assert math.isfinite(calibrate(score, np.ones((2, 1)), np.zeros(1), mechanism, 100, TAIL))
    idle = LinearScore(np.ones(1), 0.2, 0.0)
    assert math.isfinite(calibrate(idle, np.ones((2, 1)), np.zeros(1), mechanism, 100, TAIL))


def test_bad_input_says_what_is_allowed() -> None:
    test = ideal_test(MECHANISM)
    with pytest.raises(InputError, match="trials = 0"):
        best_expected(test, 0, 1e-5, TAIL)
    with pytest.raises(InputError, match="tail = 0"):
        best_expected(test, 10, 1e-5, 0.0)
    with pytest.raises(InputError, match="delta"):
        expected_bound(test.rates(1.0), 10, 2.0, TAIL)
    assert special.ndtr(0.0) == rates_of_sum([], 0.1, 1.0, 0.0, 0.0).fpr
