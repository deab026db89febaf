import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from pe_core import InputError, Mechanism
from pe_core.bounds import clopper_pearson
from pe_core.dpsgd import (
    audit_scores,
    gdp_delta,
    gdp_epsilon,
    play_worst_case,
    tail_rates,
    worst_case_epsilon,
)
from pe_core.dpsgd.mixture import log_ratio


@settings(deadline=None, max_examples=60, derandomize=True)
@given(mu=st.floats(0.01, 40), epsilon=st.floats(0, 60))
def test_the_gaussian_delta_is_the_formula(mu, epsilon):
    with mpmath.workdps(80):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        expected = mpmath.ncdf(-e / m + m / 2) - mpmath.e**e * mpmath.ncdf(-e / m - m / 2)
    assert gdp_delta(mu, epsilon) == pytest.approx(float(expected), rel=1e-7, abs=1e-300)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(mu=st.floats(0.05, 40), delta=st.floats(-12, -0.5).map(lambda power: 10.0**power))
def test_the_gaussian_epsilon_is_its_inverse(mu, delta):
    epsilon = gdp_epsilon(mu, delta)
    if epsilon == 0.0:
        assert gdp_delta(mu, 0.0) <= delta
    else:
        assert gdp_delta(mu, epsilon) == pytest.approx(delta, rel=1e-6)


def test_known_gaussian_values_and_edges():
    assert gdp_epsilon(1.0, 1e-5) == pytest.approx(4.37718, abs=5e-6)
    assert gdp_epsilon(2.0, 1e-5) == pytest.approx(9.99726, abs=5e-6)
    assert gdp_epsilon(0.0, 0.0) == 0.0
    assert gdp_epsilon(1.0, 0.0) == math.inf
    assert gdp_epsilon(1.0, 1.0) == 0.0
    for mu in (-1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="mu"):
            gdp_epsilon(mu, 1e-5)
    with pytest.raises(InputError, match="epsilon"):
        gdp_delta(1.0, -1.0)


def test_larger_scores_mean_z():
    random = np.random.default_rng(0)
    present, replaced = random.normal(2, 1, 4000), random.normal(0, 1, 4000)
    right = audit_scores(present, replaced, 1e-5, 0.05)
    assert right.epsilon > 2.0
    assert 1.8 < right.mu_lower < 2.0
    wrong = audit_scores(replaced, present, 1e-5, 0.05)
    # The wrong way round, no threshold is better than one that all or none pass.
    assert (wrong.epsilon, wrong.epsilon_if_gdp, wrong.mu_lower) == (0.0, 0.0, 0.0)


def test_the_counts_are_of_runs_that_the_threshold_has_not_seen():
    random = np.random.default_rng(1)
    present, replaced = random.normal(1, 1, 80), random.normal(0, 1, 120)
    first = audit_scores(present, replaced, 1e-5, 0.05)
    assert (first.counts.present_runs, first.counts.replaced_runs) == (60, 90)
    moved = audit_scores(np.append(present[:20], random.normal(9, 1, 60)), replaced, 1e-5, 0.05)
    assert moved.counts.threshold == first.counts.threshold
    assert moved.counts_if_gdp.threshold == first.counts_if_gdp.threshold
    assert moved.counts.true_positives == 60
    counts = first.counts_if_gdp
    assert counts.true_positives == np.sum(present[20:] > counts.threshold)
    assert counts.false_positives == np.sum(replaced[30:] > counts.threshold)


def test_bounds_follow_from_their_counts():
    random = np.random.default_rng(2)
    found = audit_scores(random.normal(1.5, 1, 400), random.normal(0, 1, 400), 1e-3, 0.1)
    ends = []
    for counts in (found.counts, found.counts_if_gdp):
        fpr = clopper_pearson(counts.false_positives, counts.replaced_runs, 0.05).upper
        misses = counts.present_runs - counts.true_positives
        ends.append((fpr, clopper_pearson(misses, counts.present_runs, 0.05).upper))
    (fpr, fnr), (fpr_gdp, fnr_gdp) = ends
    expected = max(math.log((1 - fnr - 1e-3) / fpr), math.log((1 - fpr - 1e-3) / fnr))
    assert found.epsilon == pytest.approx(expected, rel=1e-9)
    assert found.mu_lower == pytest.approx(
        special.ndtri(1 - fpr_gdp) - special.ndtri(fnr_gdp), rel=1e-9
    )
    assert gdp_delta(found.mu_lower, found.epsilon_if_gdp) == pytest.approx(1e-3, rel=1e-6)


def test_many_runs_come_near_a_small_separation():
    found = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        present, replaced = random.normal(0.4, 1.0, 12_500), random.normal(0.0, 1.0, 12_500)
        found.append(audit_scores(present, replaced, 1e-5, 0.05).mu_lower)
    # At the middle threshold both rates are Φ(−0.2) = 0.4207, whose ends from 9,375 runs are at
    # most 0.4308: μ = 0.349. A rare event of 3,125 runs, taken at its rate, would promise more.
    assert min(found) > 0.3


def test_all_scores_equal_prove_nothing():
    found = audit_scores(np.ones(20), np.ones(20), 1e-5, 0.05)
    assert (found.epsilon, found.epsilon_if_gdp) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("present", "replaced", "message"),
    [
        (np.zeros(7), np.zeros(8), "present: shape"),
        (np.zeros(8), np.zeros((8, 1)), "replaced: shape"),
        (np.array([0.0] * 8 + [np.nan]), np.zeros(8), "present: score 8 is not finite"),
    ],
)
def test_unusable_scores_are_refused(present, replaced, message):
    with pytest.raises(InputError, match=message):
        audit_scores(present, replaced, 1e-5, 0.05)
    with pytest.raises(InputError, match="delta"):
        audit_scores(np.zeros(8), np.zeros(8), 2.0, 0.05)
    with pytest.raises(InputError, match="tail"):
        audit_scores(np.zeros(8), np.zeros(8), 0.0, 1.0)


ALPHA, AUDITS = 0.1, 600
# Four standard errors of a share of ALPHA among AUDITS.
SLACK = 4 * math.sqrt(ALPHA * (1 - ALPHA) / AUDITS)


def test_under_the_null_a_bound_above_zero_is_as_rare_as_it_says():
    # A high α, so that the wrong way has room to fail visibly.
    alpha, free, gdp, greedy = 0.3, 0, 0, 0
    for seed in range(AUDITS):
        random = np.random.default_rng(seed)
        present, replaced = random.normal(size=(2, 300))
        found = audit_scores(present, replaced, 1e-5, alpha)
        free += found.epsilon > 0
        gdp += found.mu_lower > 0
        # The wrong way: the threshold is chosen on the scores that are counted.
        thresholds = np.concatenate([present, replaced])[:, None]
        fpr = clopper_pearson((replaced > thresholds).sum(1), 300, alpha / 2).upper
        fnr = clopper_pearson((present <= thresholds).sum(1), 300, alpha / 2).upper
        greedy += np.any(-special.ndtri(fpr) - special.ndtri(fnr) > 0)
    assert free / AUDITS <= alpha
    assert gdp / AUDITS <= alpha
    assert greedy / AUDITS > 1.5 * alpha


@pytest.mark.parametrize(
    ("participation", "sigma", "steps"), [(1.0, 4.0, 1), (0.25, 1.0, 1), (0.25, 1.5, 20)]
)
def test_the_assumption_free_bound_obeys_its_confidence_level(participation, sigma, steps):
    delta = 1e-2
    mechanism = Mechanism(0, participation, sigma, 1.0, delta, releases=steps)
    truth = worst_case_epsilon(mechanism)
    above = missed_fpr = missed_fnr = 0
    for seed in range(AUDITS):
        scores = play_worst_case(mechanism, 1200, (steps,), seed)
        found = audit_scores(scores.present[:, 0], scores.replaced[:, 0], delta, ALPHA)
        above += found.epsilon > truth
        # Scores grow with the sum, so the threshold has a sum and the event exact rates.
        at = _sum_with_ratio(found.counts_if_gdp.threshold, mechanism)
        rates = tail_rates(at, mechanism)
        counts = found.counts_if_gdp
        tail = ALPHA / 2
        fpr = clopper_pearson(counts.false_positives, counts.replaced_runs, tail).upper
        misses = counts.present_runs - counts.true_positives
        fnr = clopper_pearson(misses, counts.present_runs, tail).upper
        missed_fpr += fpr < math.exp(rates.log_fpr)
        missed_fnr += fnr < math.exp(rates.log_fnr)
    assert above / AUDITS <= ALPHA + SLACK
    for missed in (missed_fpr, missed_fnr):
        # At most its tail; and not so much less that the end would be no use.
        assert ALPHA / 2 / 4 <= missed / AUDITS <= ALPHA / 2 + SLACK


def _sum_with_ratio(ratio, mechanism):
    low, high = -1e3, 1e3
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if log_ratio(middle, mechanism) < ratio else (low, middle)
    return low
