"""The swap audit against the ideal pair, enumeration, full releases and its own symmetries."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from pe_core import AccuracyError, InputError, Mechanism, swap, threads
from pe_core.accounting import delta_of, epsilon
from pe_core.background import Background, estimate
from pe_core.kernels.swap import log_mixture, plane_transform
from tests.naive import swap as naive


def ideal(q=0.1, sigma=1.0, first=(1.0, 0.0), second=(0.0, 1.0)):
    """No other users; contributions given in units of the clip."""
    mechanism = Mechanism(0, q, sigma, 0.1, 1e-5)
    v, other = 0.1 * np.array(first), 0.1 * np.array(second)
    background = Background(np.zeros(v.size), mechanism.noise_scale**2 * np.eye(v.size))
    score = swap.SwapScore.fit(v, other, background, mechanism)
    return score, np.zeros((0, v.size)), v, other, mechanism


def crowd(seed, users, q, sigma=1.0, coordinates=5):
    """Users and two canaries with overlapping votes, and a background estimated from the users."""
    rng = np.random.default_rng(seed)
    mechanism = Mechanism(users, q, sigma, 0.1, 1e-5)
    votes = rng.random((users + 2, coordinates)) * (rng.random((users + 2, coordinates)) < 0.6)
    votes[-2:, 1] += 0.2
    norms = np.linalg.norm(votes, axis=1, keepdims=True)
    votes *= np.minimum(1.0, 0.1 / np.maximum(norms, 1e-12))
    contributions, v, other = votes[:-2], votes[-2], votes[-1]
    background = estimate(contributions if users else np.zeros((1, coordinates)), mechanism)
    score = swap.SwapScore.fit(v, other, background, mechanism)
    return score, contributions, v, other, mechanism


def test_the_ideal_pair_reaches_the_account():
    test = swap.plane_test(*ideal())
    best, threshold = test.best_epsilon(1e-5)
    account = epsilon(Mechanism(0, 0.1, 1.0, 0.1, 1e-5), "substitute_votes")
    assert best == pytest.approx(1.7082, abs=5e-5)
    assert best <= account.high
    # The best event is the likelihood-ratio test at ε itself.
    assert threshold == pytest.approx(account.estimate, abs=1e-3)


def test_a_single_linear_statistic_loses_half():
    """The best line between two orthogonal shifts of 1: shifts of ±1/√2 seen along it."""
    cuts = np.linspace(0.0, 8.0, 4001)
    absent, shift = 0.9 * ndtr(-cuts), math.sqrt(0.5)
    tpr = absent + 0.1 * ndtr(shift - cuts)
    fpr = absent + 0.1 * ndtr(-shift - cuts)
    single = np.log(np.maximum(tpr - 1e-5, 1e-300) / fpr).max()
    assert single == pytest.approx(0.870, abs=5e-4)
    assert swap.plane_test(*ideal()).best_epsilon(1e-5)[0] > 1.9 * single


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("q", [0.05, 0.5, 1.0])
def test_the_ideal_pair_traces_the_hockey_stick(q, sigma):
    """TPR − e^ε·FPR of the event s > ε is δ(ε) of the orthogonal pair."""
    limits = np.array([-0.5, 0.1, 0.5]) * (1.0 if q < 1 else 2.0)
    rates = swap.error_rates(*ideal(q, sigma), limits)
    for tpr, fpr, limit in zip(rates.tpr, rates.fpr, limits):
        if limit >= 0:
            expected = delta_of(Mechanism(0, q, sigma, 0.1, 0.0), limit, "substitute_votes")
            assert tpr - math.exp(limit) * fpr == pytest.approx(
                expected.estimate, abs=1e-10 + 4 * rates.error
            )


def test_opposite_contributions_reach_the_antipodal_account():
    """Not votes, but the score does not mind: one statistic in a plane."""
    test = swap.plane_test(*ideal(first=(1.0, 0.0), second=(-1.0, 0.0)))
    assert test.best_epsilon(1e-5)[0] == pytest.approx(1.7891546, abs=1e-6)


def test_a_canary_without_votes_makes_it_membership():
    test = swap.plane_test(*ideal(second=(0.0, 0.0)))
    assert test.best_epsilon(1e-5)[0] == pytest.approx(1.6845438, abs=1e-6)


@pytest.mark.parametrize(
    ("users", "q", "threshold"), [(0, 0.3, 0.1), (3, 0.3, -0.2), (4, 0.7, 0.5)]
)
def test_exact_rates_equal_enumeration(users, q, threshold):
    rng = np.random.default_rng(users)
    contributions = 0.07 * rng.random((users, 2))
    if users == 4:
        contributions[1] = contributions[0]
    mechanism = Mechanism(users, q, 1.0, 0.1, 1e-5)
    background = Background(np.array([0.03, 0.01]), np.diag([0.012, 0.015]))
    v, other = np.array([0.1, 0.0]), np.array([0.0, 0.06])
    score = swap.SwapScore.fit(v, other, background, mechanism)
    found = swap.error_rates(score, contributions, v, other, mechanism, np.array([threshold]))
    for canary, rate in ((v, found.tpr[0]), (other, found.fpr[0])):
        expected = naive.rate(
            canary,
            contributions,
            v,
            other,
            background.mean,
            background.covariance,
            q,
            0.1,
            threshold,
        )
        assert rate == pytest.approx(expected, abs=1e-11 + found.error)


def test_the_stated_error_grows_with_the_users():
    """Factors are rounded, and there is one a user."""
    users, vote, q = 100_000, 1e-4, 0.1
    mechanism = Mechanism(users, q, 1.0, 0.1, 1e-5)
    background = Background(np.array([users * q * vote, 0.0]), np.diag([0.011, 0.011]))
    v, other = np.array([0.1, 0.0]), np.array([0.0, 0.1])
    score = swap.SwapScore.fit(v, other, background, mechanism)
    contributions = np.tile([vote, 0.0], (users, 1))
    found = swap.error_rates(score, contributions, v, other, mechanism, np.array([0.3]))
    for canary, rate in ((v, found.tpr[0]), (other, found.fpr[0])):
        expected = naive.rate_among_equals(
            canary,
            vote,
            users,
            v,
            other,
            background.mean,
            background.covariance,
            q,
            0.1,
            0.3,
        )
        assert abs(rate - expected) < found.error
    assert found.error < 1e-8


@settings(deadline=None, max_examples=10, derandomize=True)
@given(seed=st.integers(0, 10**6), users=st.integers(0, 40), q=st.floats(0.02, 0.98))
def test_sampled_rates_equal_exact_ones(seed, users, q):
    case = crowd(seed, users, q)
    limits = np.array([-0.3, 0.05, 0.4])
    exact = swap.error_rates(*case, limits)
    trials = 60_000
    for limit, tpr, fpr in zip(limits, exact.tpr, exact.fpr):
        counts = swap.error_counts(*case, float(limit), trials, np.random.SeedSequence(seed))
        for count, rate in ((counts.true_positives, tpr), (counts.false_positives, fpr)):
            # 5.5 standard deviations: one false alarm in 2·10⁷ at the normal tail.
            assert abs(count - trials * rate) <= 5.5 * math.sqrt(trials * rate * (1 - rate) + 1) + 3


@pytest.mark.parametrize(("users", "q"), [(0, 0.4), (7, 0.2), (60, 5e-3), (20, 1.0)])
def test_trials_equal_full_releases(users, q):
    """Releases drawn coordinate by coordinate, scored by the public score."""
    score, contributions, v, other, mechanism = crowd(users, users, q)
    trials, rng = 100_000, np.random.default_rng(5)
    counts = swap.error_counts(
        score, contributions, v, other, mechanism, 0.1, trials, np.random.SeedSequence(1)
    )
    for canary, count in ((v, counts.true_positives), (other, counts.false_positives)):
        plain = naive.sampled(rng, canary, contributions, score, q, 0.1, 0.1, trials)
        rate = (count + plain) / (2 * trials)
        assert abs(count - plain) <= 5 * math.sqrt(2 * trials * rate * (1 - rate) + 1)


@settings(deadline=None, max_examples=15, derandomize=True)
@given(seed=st.integers(0, 10**6), q=st.floats(0.05, 0.95))
def test_exchanging_the_canaries_turns_the_event_round(seed, q):
    score, contributions, v, other, mechanism = crowd(seed, 6, q)
    turned = swap.SwapScore(score.second, score.first, q)
    one = swap.error_rates(score, contributions, v, other, mechanism, np.array([0.2]))
    back = swap.error_rates(turned, contributions, other, v, mechanism, np.array([-0.2]))
    assert back.tpr[0] == pytest.approx(1 - one.fpr[0], abs=one.error + back.error + 1e-12)
    assert back.fpr[0] == pytest.approx(1 - one.tpr[0], abs=one.error + back.error + 1e-12)


def test_counts_do_not_depend_on_threads_or_storage(monkeypatch):
    from scipy.sparse import csr_array

    score, contributions, v, other, mechanism = crowd(3, 50, 0.1)
    seed = np.random.SeedSequence(9)
    args = (v, other, mechanism, 0.1, 200_001, seed)
    one = swap.error_counts(score, contributions, *args)
    monkeypatch.setattr(threads, "cores", lambda: 1)
    assert swap.error_counts(score, contributions, *args) == one
    assert swap.error_counts(score, csr_array(contributions), *args) == one


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    ell=st.floats(-800, 800),
    q=st.one_of(st.floats(1e-6, 1 - 1e-6), st.sampled_from([0.0, 1.0])),
)
def test_kernel_mixture_is_the_mixture(ell, q):
    expected = np.logaddexp(np.log1p(-q) if q < 1 else -np.inf, (np.log(q) if q else -np.inf) + ell)
    assert log_mixture(ell, q) == pytest.approx(float(expected), rel=1e-9, abs=1e-12)


def test_plane_transform_is_the_product():
    rng = np.random.default_rng(0)
    shifts, counts = rng.normal(size=(4, 2)), np.array([1, 3, 1, 2])
    first, second = np.array([0.0, 0.4, 8.9]), np.array([-2.0, 0.0, 1.5])
    found = plane_transform(shifts, counts, 0.3, first, second, 9.0)
    for i, t1 in enumerate(first):
        for j, t2 in enumerate(second):
            near = t1**2 + t2**2 <= 81
            expected = naive.transform(shifts, counts, 0.3, t1, t2) if near else 0.0
            assert abs(found[i, j] - expected) < 1e-15


def test_bad_input_is_named():
    score, contributions, v, other, mechanism = crowd(1, 4, 0.1)
    seed = np.random.SeedSequence(1)
    with pytest.raises(InputError, match="trials"):
        swap.error_counts(score, contributions, v, other, mechanism, 0.0, 0, seed)
    with pytest.raises(InputError, match="population by the coordinates"):
        swap.error_counts(score, contributions[:2], v, other, mechanism, 0.0, 9, seed)
    with pytest.raises(InputError, match="second"):
        swap.plane_test(score, contributions, v, other[:2], mechanism)
    with pytest.raises(InputError, match="threshold"):
        swap.error_counts(score, contributions, v, other, mechanism, math.nan, 9, seed)
    with pytest.raises(InputError, match="parallel"):
        swap.plane_test(*ideal(second=(1.0, 0.0)))
    with pytest.raises(InputError, match="constant"):
        swap.plane_test(*ideal(first=(0.0, 0.0), second=(0.0, 0.0)))
    with pytest.raises(InputError, match="finite"):
        swap.error_rates(score, contributions, v, other, mechanism, np.array([np.inf]))


def test_sums_too_wide_for_the_grid_are_refused():
    rng = np.random.default_rng(0)
    contributions = 0.04 * rng.random((3000, 2)) + 0.03
    v, other = np.array([0.1, 0.0]), np.array([0.0, 0.1])
    mechanism = Mechanism(3000, 0.5, 0.02, 0.1, 1e-5)
    score = swap.SwapScore.fit(v, other, Background(np.zeros(2), 0.01 * np.eye(2)), mechanism)
    with pytest.raises(AccuracyError, match="cells"):
        swap.plane_test(score, contributions, v, other, mechanism)
