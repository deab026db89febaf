"""The best threshold against the mechanism's own ε and against a dense search."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, optimize, special

from pe_core import Mechanism
from pe_core.best import best_epsilon, epsilon_curve, ideal_test, trade_off
from pe_core.errors import InputError
from pe_core.exact import linear_test
from pe_core.linear_test import LinearTest, epsilon_of
from pe_core.score import LinearScore

MECHANISM = Mechanism(1000, 0.1, 1.0, 0.1, 1e-5)


def tight_epsilon(q: float, sigma: float, delta: float) -> float:
    """ε at which the hockey-stick divergence of the subsampled Gaussian pair equals δ."""

    def divergence(epsilon: float) -> float:
        # (1 − q) + q·exp(ℓ) > exp(ε) beyond x.
        x = sigma**2 * math.log((math.exp(epsilon) - 1.0 + q) / q) + 0.5
        f0, f1 = special.ndtr(-x / sigma), special.ndtr((1.0 - x) / sigma)
        return (1.0 - q) * f0 + q * f1 - math.exp(epsilon) * f0 - delta

    if divergence(0.0) <= 0.0:
        return 0.0
    return optimize.brentq(divergence, 0.0, 30.0, xtol=1e-13)


@pytest.mark.parametrize("q", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-3])
def test_the_ideal_attack_reaches_the_mechanism(q: float, sigma: float, delta: float) -> None:
    mechanism = Mechanism(1000, q, sigma, 0.1, delta)
    found = best_epsilon(ideal_test(mechanism), delta)
    expected = tight_epsilon(q, sigma, delta)
    assert found.epsilon == pytest.approx(expected, abs=2e-7)
    assert found.epsilon <= expected + 1e-12
    assert found.branch == "above"


def test_the_defaults_give_the_exact_pair() -> None:
    assert best_epsilon(ideal_test(MECHANISM), 1e-5).epsilon == pytest.approx(1.6845438, abs=1e-7)


def test_nobody_else_voting_is_the_ideal_attack() -> None:
    canary = np.array([0.06, 0.08])
    score = LinearScore(np.array([6.0, 8.0]), 0.5, 1.0)
    test = linear_test(score, np.zeros((1000, 2)), canary, MECHANISM)
    assert best_epsilon(test, 1e-5).epsilon == pytest.approx(1.6845438, abs=1e-7)


def random_test(seed: int, scale: float) -> LinearTest:
    s = np.random.default_rng(seed).normal(size=300) * scale
    return LinearTest(s, np.ones(300, np.int64), 0.1, 1.0, 1.0, 0.0, 0.0)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_no_threshold_of_a_dense_search_does_better(scale: float) -> None:
    test = random_test(1, scale)
    deviation = math.sqrt(1.0 + 0.09 * 300 * scale**2)
    thresholds = np.linspace(-8.0 * deviation, 8.0 * deviation, 4001)
    for delta in (1e-5, 1e-2):
        found = best_epsilon(test, delta)
        dense = epsilon_of(test.rates(thresholds), delta).max()
        assert dense - 1e-9 <= found.epsilon <= dense + 0.01
        assert test.epsilon(found.threshold, delta) == pytest.approx(found.epsilon, abs=1e-9)


def test_a_staircase_is_searched_step_by_step() -> None:
    """All weights equal and far apart: the rate falls only next to whole multiples."""
    test = LinearTest(np.array([1e4]), np.array([50]), 0.1, 1.0, 3.0, 0.0, 0.0)
    near = np.concatenate([k * 1e4 + np.linspace(-9.0, 12.0, 211) for k in range(51)])
    dense = epsilon_of(test.rates(near), 1e-5).max()
    assert best_epsilon(test, 1e-5).epsilon == pytest.approx(dense, abs=1e-4)
    assert best_epsilon(test, 1e-5).epsilon >= dense - 1e-9


def test_the_removal_side_wins_for_a_frequent_canary() -> None:
    """With q = 1 the pair is symmetric, and removal has the larger ε for q < 1 (subsampling)."""
    test = ideal_test(Mechanism(0, 1.0, 1.0, 0.1, 1e-5))
    sigma = 1.0

    def divergence(epsilon: float) -> float:
        return (
            special.ndtr(0.5 / sigma - epsilon * sigma)
            - math.exp(epsilon) * special.ndtr(-0.5 / sigma - epsilon * sigma)
            - 1e-5
        )

    expected = optimize.brentq(divergence, 0.1, 20.0)
    assert best_epsilon(test, 1e-5).epsilon == pytest.approx(expected, abs=1e-6)


def test_the_curve_falls_with_delta_and_meets_the_single_answers() -> None:
    deltas = np.logspace(-12, -1, 12)
    test = random_test(2, 0.3)
    curve = [best.epsilon for best in epsilon_curve(test, deltas)]
    assert all(a >= b for a, b in itertools.pairwise(curve))
    for delta, epsilon in zip(deltas[::4], curve[::4]):
        assert best_epsilon(test, delta).epsilon == pytest.approx(epsilon, abs=1e-6)


def test_edges() -> None:
    test = ideal_test(MECHANISM)
    assert best_epsilon(test, 0.0).epsilon == math.inf
    assert best_epsilon(test, 1.0).epsilon == 0.0
    # δ ≥ q: the canary takes part no more often than the guarantee may fail.
    assert best_epsilon(test, 0.1).epsilon == 0.0
    assert best_epsilon(ideal_test(Mechanism(5, 0.0, 1.0, 0.1, 1e-5)), 1e-5).epsilon == 0.0
    still = LinearTest(np.ones(3), np.ones(3, np.int64), 0.1, 1.0, 0.0, 0.0, 0.0)
    assert best_epsilon(still, 1e-5).epsilon == 0.0
    with pytest.raises(InputError, match="delta"):
        best_epsilon(test, -1e-5)
    with pytest.raises(InputError, match="noise_multiplier = 0"):
        ideal_test(Mechanism(5, 0.1, 0.0, 0.1, 1e-5))


def test_the_trade_off_curve_of_the_gaussian_mechanism() -> None:
    """FNR = Φ(Φ⁻¹(1 − FPR) − 1/σ) for q = 1 (Dong, Roth and Su)."""
    _, rates = trade_off(ideal_test(Mechanism(0, 1.0, 2.0, 0.1, 1e-5)), 1e-9)
    inner = (rates.fpr > 1e-12) & (rates.tnr > 1e-3)
    expected = special.ndtr(-special.ndtri(rates.fpr[inner]) - 0.5)
    np.testing.assert_allclose(rates.fnr[inner], expected, rtol=1e-7)
    assert rates.fpr.min() < 1e-9
    assert rates.fnr.min() < 1e-9


def test_the_trade_off_curve_integrates_to_the_rank_probability() -> None:
    """∫ FNR dFPR = P[absent > present] for two independent scores: by their difference."""
    b = 1.5
    test = LinearTest(np.zeros(0), np.zeros(0, np.int64), 0.3, 1.0, b, 0.0, 0.0)
    _, rates = trade_off(test)
    area = -integrate.trapezoid(rates.fnr, rates.fpr)
    expected = 0.7 * 0.5 + 0.3 * special.ndtr(-b / math.sqrt(2.0))
    assert area == pytest.approx(expected, abs=2e-3)
