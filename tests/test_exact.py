"""Exact rates against enumeration, closed forms and sampled trials, and their own error bound."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from pe_core import Mechanism
from pe_core.bounds import clopper_pearson
from pe_core.errors import AccuracyError, InputError
from pe_core.exact import cycled_test, error_rates, linear_test, rates_of_sum
from pe_core.kernels import characteristic, dot
from pe_core.linear_test import LinearTest, Rates, epsilon_of
from pe_core.score import LinearScore
from tests.naive import exact as naive

LEAST = mpmath.mpf(10) ** -300


def assert_within_own_bound(rates: Rates, expected) -> None:
    for found, true in zip((rates.fpr, rates.tpr, rates.tnr, rates.fnr), expected):
        if true < LEAST:
            assert found <= 1.0001e-300
            continue
        with mpmath.workdps(naive.DIGITS):
            assert abs(mpmath.mpf(float(found)) / true - 1) <= float(rates.relative_error)
    assert rates.relative_error <= 1e-8


shift = st.one_of(
    st.floats(-30.0, 30.0),
    st.sampled_from([0.0, 1.0, 1.0, 20.0, -20.0, 1e-9, -1e-5, 400.0, 1e5]),
)


@settings(deadline=None, max_examples=120, derandomize=True)
@given(
    shifts=st.lists(shift, max_size=7),
    q=st.sampled_from([0.0, 1e-5, 1e-3, 0.1, 0.5, 0.9, 1.0 - 1e-5, 1.0]),
    noise=st.sampled_from([0.02, 1.0, 7.0]),
    b=st.sampled_from([0.0, 0.3, 1.0, 20.0, -2.0]),
    pattern=st.integers(0, 127),
    away=st.floats(-38.0, 38.0),
)
def test_every_pattern_enumerated(shifts, q, noise, b, pattern, away) -> None:
    s = np.array(shifts, dtype=np.float64) * noise
    threshold = float(s @ [pattern >> j & 1 for j in range(s.size)]) + away * noise
    rates = rates_of_sum(s, q, noise, b * noise, threshold)
    assert_within_own_bound(rates, naive.rates(s, q, noise, b * noise, threshold))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "scale", "away"),
    [(1e-5, 20.0, 0.7), (0.1, 0.01, -30.0), (0.1, 1.0, 9.0), (0.5, 20.0, 0.3)],
)
def test_all_subsets_of_sixteen_users(q: float, scale: float, away: float) -> None:
    s = np.random.default_rng(16).normal(size=16) * scale
    threshold = q * float(s.sum()) + away * math.hypot(1.0, scale)
    rates = rates_of_sum(s, q, 1.0, 1.0, threshold)
    assert_within_own_bound(rates, naive.rates(s, q, 1.0, 1.0, threshold))


@pytest.mark.parametrize("q", [0.1, 1.0])
def test_no_background_is_the_gaussian(q: float) -> None:
    for a in (-37.0, -8.0, -0.1, 0.0, 1.0, 6.0, 37.0):
        rates = rates_of_sum([], q, 2.0, 2.0, 2.0 * a)
        assert_within_own_bound(rates, naive.rates(np.zeros(0), q, 2.0, 2.0, 2.0 * a))


def binomial_mixture(count: int, q: float, t: float, a: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Both tails of t·Binomial + Z, summed over the counts within 60 deviations of the peak."""
    q_, t_, a_ = mpmath.mpf(q), mpmath.mpf(t), mpmath.mpf(a)
    tails = []
    for sign in (1, -1):
        j = np.arange(count + 1, dtype=np.float64)
        x = sign * (a - j * t)
        rough = np.cumsum(
            np.concatenate([[count * math.log1p(-q)], np.log((count - j[:-1]) / (j[:-1] + 1))])
            + np.concatenate([[0.0], np.full(count, math.log(q) - math.log1p(-q))])
        ) - np.where(x > 0, x * x / 2, 0.0)
        near = np.flatnonzero(rough > rough.max() - 55.0)
        total = mpmath.mpf(0)
        k = int(near[0])
        term = mpmath.binomial(count, k) * q_**k * (1 - q_) ** (count - k)
        for k in range(int(near[0]), int(near[-1]) + 1):
            total += term * mpmath.erfc(sign * (a_ - k * t_) / mpmath.sqrt(2)) / 2
            term *= mpmath.mpf(count - k) / (k + 1) * q_ / (1 - q_)
        tails.append(total)
    return tails[0], tails[1]


@pytest.mark.parametrize(
    ("count", "q", "t"),
    [
        (1000, 0.1, 20.0),
        (1000, 0.1, 0.05),
        (1000, 1e-5, 20.0),
        (1000, 0.97, 1.0),
        (1000, 0.1, 1e4),
        (10**6, 1e-5, 20.0),
        (10**6, 1e-5, 1.0),
        (10**6, 0.1, 20.0),
    ],
)
def test_equal_weights_are_a_binomial_mixture(count: int, q: float, t: float) -> None:
    test = LinearTest(np.array([t]), np.array([count]), q, 1.0, 0.0, 0.0, 0.0)
    deviation = math.sqrt(1.0 + count * q * (1.0 - q) * t * t)
    with mpmath.workdps(40):
        for z in (-4.0, 0.1, 6.0, 25.0):
            a = count * q * t + z * deviation
            above, below = binomial_mixture(count, q, t, a)
            assert_within_own_bound(test.rates(a), (above, above, below, below))


def test_users_given_one_by_one_collapse() -> None:
    one_by_one = rates_of_sum(np.full(1000, 0.3), 0.1, 1.0, 1.0, 33.0)
    collapsed = LinearTest(np.array([0.3]), np.array([1000]), 0.1, 1.0, 1.0, 0.0, 0.0).rates(33.0)
    nearly = 0.3 * (1.0 + 2e-16 * np.random.default_rng(0).integers(0, 2, 1000))
    merged = rates_of_sum(nearly, 0.1, 1.0, 1.0, 33.0)
    np.testing.assert_allclose(one_by_one.fpr, collapsed.fpr, rtol=1e-10)
    np.testing.assert_allclose(merged.fpr, collapsed.fpr, rtol=1e-10)


def test_a_sum_of_independent_parts_is_a_convolution() -> None:
    """Many distinct weights, deep in the tail: condition on half of the users, average the rest."""
    rng = np.random.default_rng(5)
    few, many = rng.normal(size=6), rng.normal(size=400) * 0.2
    whole = rates_of_sum(np.concatenate([few, many]), 0.1, 1.0, 0.0, 14.0)
    patterns = (np.arange(64)[:, None] >> np.arange(6)) & 1
    chance = 0.1 ** patterns.sum(1) * 0.9 ** (6 - patterns.sum(1))
    parts = rates_of_sum(many, 0.1, 1.0, 0.0, 14.0 - patterns @ few)
    np.testing.assert_allclose(whole.fpr, chance @ parts.fpr, rtol=1e-8)
    assert 0.0 < whole.fpr < 1e-8


def test_huge_weights_among_many_tiny_ones() -> None:
    """The huge ones are conditioned on by hand."""
    tiny = np.random.default_rng(6).normal(size=300) * 0.1
    threshold = 1e6 + 2.0
    whole = rates_of_sum(np.concatenate([tiny, [1e6, -3e4]]), 1e-3, 1.0, 1.0, threshold)
    rest = rates_of_sum(tiny, 1e-3, 1.0, 1.0, [threshold, 2.0, 3e4 + threshold, 3e4 + 2.0])
    chance = np.array([0.999**2, 1e-3 * 0.999, 1e-3 * 0.999, 1e-6])
    np.testing.assert_allclose(whole.fpr, chance @ rest.fpr, rtol=1e-8)
    np.testing.assert_allclose(whole.tpr, chance @ rest.tpr, rtol=1e-8)


def test_reflection_and_shift_leave_rates_alone() -> None:
    s = np.random.default_rng(7).normal(size=50)
    here = rates_of_sum(s, 0.2, 1.0, 0.7, [-3.0, 1.0, 12.0])
    there = rates_of_sum(-s, 0.2, 1.0, -0.7, [3.0, -1.0, -12.0])
    np.testing.assert_allclose(here.fpr, there.tnr, rtol=1e-8)
    np.testing.assert_allclose(here.fnr, there.tpr, rtol=1e-8)
    # Who takes part with q stays away with 1 − q.
    away = rates_of_sum(-s, 0.8, 1.0, 0.0, np.array([-3.0, 1.0, 12.0]) - s.sum())
    np.testing.assert_allclose(here.fpr, away.fpr, rtol=1e-8)


def test_rates_are_monotone_and_complement_each_other() -> None:
    s = np.random.default_rng(8).normal(size=500) * 0.5
    rates = rates_of_sum(s, 0.1, 1.0, 1.0, np.linspace(-40.0, 40.0, 401))
    assert np.all(np.diff(rates.fpr) <= 0.0)
    assert np.all(np.diff(rates.fnr) >= 0.0)
    np.testing.assert_allclose(rates.fpr + rates.tnr, 1.0, rtol=1e-8)
    np.testing.assert_allclose(rates.tpr + rates.fnr, 1.0, rtol=1e-8)
    assert rates_of_sum(s, 0.1, 1.0, 1.0, np.zeros((2, 3))).fpr.shape == (2, 3)
    assert rates_of_sum(s, 0.1, 1.0, 1.0, []).fpr.shape == (0,)


def test_thresholds_beyond_every_sum() -> None:
    rates = rates_of_sum([1.0, -2.0], 0.3, 1.0, 1.0, [-1e300, -1e4, 1e4, 1e300])
    assert rates.fpr.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert rates.fnr.tolist() == [0.0, 0.0, 1.0, 1.0]


def test_an_unresolved_rate_never_proves_infinity() -> None:
    test = LinearTest(np.zeros(0), np.zeros(0, np.int64), 0.1, 1.0, 1.0, 0.0, 0.0)
    assert test.rates(40.0).fpr == 0.0
    assert math.isfinite(test.epsilon(40.0, 0.0))
    assert test.epsilon(40.0, 1e-5) == 0.0


@pytest.mark.parametrize("trials", [10**6, pytest.param(10**8, marks=pytest.mark.slow)])
def test_sampled_trials_agree(trials: int) -> None:
    s = np.random.default_rng(9).normal(size=12) * 0.6
    thresholds = np.array([0.5, 3.5])
    rng = np.random.default_rng(10)
    false, true = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for _ in range(trials // 100_000):
        total = (rng.random((100_000, 12)) < 0.1) @ s + rng.standard_normal(100_000)
        false += np.sum(total[:, None] > thresholds, axis=0)
        total += rng.random(100_000) < 0.1
        true += np.sum(total[:, None] > thresholds, axis=0)
    rates = rates_of_sum(s, 0.1, 1.0, 1.0, thresholds)
    for counts, found in ((false, rates.fpr), (true, rates.tpr)):
        lower, upper = clopper_pearson(counts, trials, 1e-4)
        assert np.all(lower <= found)
        assert np.all(found <= upper)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    weights=st.lists(st.floats(-30.0, 30.0), max_size=9, unique=True),
    power=st.sampled_from([1, 2, 15, 16, 1000]),
    q=st.sampled_from([1e-5, 0.1, 0.5]),
    tilt=st.floats(0.0, 3.0),
    blocks=st.integers(1, 3),
)
def test_characteristic_kernel_equals_its_twin(weights, power, q, tilt, blocks) -> None:
    t = np.array(weights, dtype=np.float64)
    counts = np.full(t.size, power, dtype=np.int64)
    present, absent = characteristic.tilted_probabilities(tilt, t, q)
    grown = q * np.exp(tilt * t)
    np.testing.assert_allclose(present, grown / (1.0 - q + grown), rtol=1e-13)
    np.testing.assert_allclose(absent, (1.0 - q) / (1.0 - q + grown), rtol=1e-13)
    nodes = 0.07 * np.arange(32 * blocks)
    real, imag = np.exp(-0.5 * nodes**2), np.zeros(nodes.size)
    live = characteristic.characteristic(
        t, counts, present, absent, 0.07, real, imag, np.ones(nodes.size), 1e-24
    )
    expected = naive.characteristic(t, counts, present, nodes)
    alive = np.isin(np.arange(nodes.size) // 32, live)
    np.testing.assert_allclose((real + 1j * imag)[alive], expected[alive], atol=2e-12)
    assert np.all(np.abs(expected[~alive]) <= 1e-23)


def test_inversion_kernel_equals_the_sum() -> None:
    rng = np.random.default_rng(11)
    real, imag, points = rng.normal(size=96), rng.normal(size=96), rng.normal(size=5) * 9.0
    live = np.array([0, 2])
    used = np.r_[0:32, 64:96]
    phase = np.exp(-1j * np.multiply.outer(points, 0.05 * used))
    expected = (phase @ (real + 1j * imag)[used]).real
    found = characteristic.invert(real, imag, live, 0.05, points)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_cumulants_kernel_against_many_digits() -> None:
    t, m, q = np.array([-40.0, -0.3, 1e-8, 2.0, 60.0]), np.array([3, 1, 7, 2, 1]), 0.01
    for tilt in (0.0, 0.02, 1.0, 30.0):
        with mpmath.workdps(40):

            def log_mean(z, t=t, m=m, q=q):
                return sum(
                    int(k)
                    * mpmath.log(1 - mpmath.mpf(q) + q * mpmath.exp(z * mpmath.mpf(float(x))))
                    for x, k in zip(t, m)
                )

            expected = [float(mpmath.diff(log_mean, mpmath.mpf(tilt), n)) for n in range(3)]
        found = characteristic.cumulants(np.array([tilt]), t, m, q)[0]
        np.testing.assert_allclose(found[:3], expected, rtol=1e-11, atol=1e-17)


def test_dot_products_are_rounded_once() -> None:
    rng = np.random.default_rng(12)
    rows = rng.normal(size=(20, 30)) * 10.0 ** rng.integers(-8, 8, size=(20, 30))
    rows[:, 15:] = -rows[:, :15] * (1.0 + 1e-13)
    weights = np.tile(rng.normal(size=15), 2)
    expected = [float(math.fsum(float(p) for p in _exact_products(row, weights))) for row in rows]
    np.testing.assert_allclose(dot.dense_dots(rows, weights), expected, rtol=1e-12)
    sparse = csr_array(np.where(rng.random(rows.shape) < 0.3, rows, 0.0))
    np.testing.assert_array_equal(
        dot.sparse_dots(sparse.indptr, sparse.indices, sparse.data, weights),
        dot.dense_dots(sparse.toarray(), weights),
    )


def _exact_products(row, weights):
    """Every product as two numbers that add up to it exactly."""
    with mpmath.workprec(200):
        for a, b in zip(row, weights):
            product = mpmath.mpf(float(a)) * mpmath.mpf(float(b))
            high = float(product)
            yield high
            yield float(product - high)


def small_case() -> tuple[LinearScore, np.ndarray, np.ndarray, Mechanism]:
    rng = np.random.default_rng(13)
    contributions = rng.random((9, 4)) * 0.04
    canary = np.array([0.05, 0.0, 0.06, 0.01])
    score = LinearScore(rng.normal(size=4) * 10.0, 0.3, 1.0)
    return score, contributions, canary, Mechanism(9, 0.1, 1.0, 0.1, 1e-5)


def test_a_score_is_its_sum() -> None:
    score, contributions, canary, mechanism = small_case()
    found = error_rates(score, contributions, canary, mechanism, 0.4)
    noise = 0.1 * float(np.linalg.norm(score.weights))
    expected = rates_of_sum(
        contributions @ score.weights, 0.1, noise, float(score.weights @ canary), 0.4 + 0.3
    )
    np.testing.assert_allclose(found.fpr, expected.fpr, rtol=1e-12)
    np.testing.assert_allclose(found.tpr, expected.tpr, rtol=1e-12)
    sparse = error_rates(score, csr_array(contributions), canary, mechanism, 0.4)
    assert sparse.fpr == found.fpr
    order = np.random.default_rng(1).permutation(9)
    assert error_rates(score, contributions[order], canary, mechanism, 0.4).fpr == found.fpr


def test_a_cycled_cohort_equals_its_copies() -> None:
    score, contributions, canary, _ = small_case()
    mechanism = Mechanism(23, 0.1, 1.0, 0.1, 1e-5)
    copies = contributions[np.arange(23) % 9]
    found = cycled_test(score, contributions, canary, mechanism).rates(0.4)
    expected = linear_test(score, copies, canary, mechanism).rates(0.4)
    np.testing.assert_allclose(found.tpr, expected.tpr, rtol=1e-10)
    fewer = Mechanism(4, 0.1, 1.0, 0.1, 1e-5)
    np.testing.assert_allclose(
        cycled_test(score, contributions, canary, fewer).rates(0.4).fpr,
        linear_test(score, contributions[:4], canary, fewer).rates(0.4).fpr,
        rtol=1e-10,
    )


def test_a_constant_score_decides_nothing() -> None:
    _, contributions, canary, mechanism = small_case()
    test = linear_test(LinearScore(np.zeros(4), 0.3, 0.0), contributions, canary, mechanism)
    rates = test.rates([-1.0, -0.3, 1.0])
    assert rates.fpr.tolist() == rates.tpr.tolist() == [1.0, 0.0, 0.0]
    assert test.epsilon(0.0, 1e-5) == 0.0


def test_the_error_bound_is_subtracted() -> None:
    exact = Rates(*(np.array([x]) for x in (0.1, 0.3, 0.9, 0.7, 0.0)))
    moved = Rates(*(np.array([x]) for x in (0.1, 0.3, 0.9, 0.7, 1e-3)))
    worst = math.log((0.3 * (1 - 1e-3) - 1e-5) / (0.1 * (1 + 1e-3)))
    assert epsilon_of(moved, 1e-5)[0, 0] == pytest.approx(worst, abs=1e-12)
    assert np.all(epsilon_of(moved, 1e-5) < epsilon_of(exact, 1e-5))


def test_what_cannot_be_promised_raises() -> None:
    with pytest.raises(AccuracyError, match="relative error"):
        rates_of_sum([1e13], 0.5, 1.0, 0.0, 1e13 + 1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rates_of_sum([[1.0]], 0.1, 1.0, 0.0, 0.0), "one axis"),
        (lambda: rates_of_sum([math.nan], 0.1, 1.0, 0.0, 0.0), "finite"),
        (lambda: rates_of_sum([1.0], 1.5, 1.0, 0.0, 0.0), "participation = 1.5"),
        (lambda: rates_of_sum([1.0], math.nan, 1.0, 0.0, 0.0), "participation = nan"),
        (lambda: rates_of_sum([1.0], 1e-200, 1.0, 0.0, 0.0), "participation = 1e-200"),
        (lambda: rates_of_sum([1.0], 0.1, -1.0, 0.0, 0.0), "noise = -1.0"),
        (lambda: rates_of_sum([1.0], 0.1, 0.0, 0.0, 0.0), "noise of the score = 0"),
        (lambda: rates_of_sum([1.0], 0.1, 1.0, math.inf, 0.0), "canary_shift = inf"),
        (lambda: rates_of_sum([1.0], 0.1, 1.0, 0.0, math.inf), "thresholds"),
    ],
)
def test_bad_input_says_what_is_allowed(call, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


def test_shapes_that_do_not_fit() -> None:
    score, contributions, canary, mechanism = small_case()
    with pytest.raises(InputError, match="population of 9"):
        linear_test(score, contributions[:8], canary, mechanism)
    with pytest.raises(InputError, match="r, r and"):
        linear_test(score, contributions[:, :3], canary, mechanism)
    with pytest.raises(InputError, match="canary are not all finite"):
        linear_test(score, contributions, np.full(4, np.nan), mechanism)
    with pytest.raises(InputError, match="at least one row"):
        cycled_test(score, contributions[:0], canary, mechanism)
