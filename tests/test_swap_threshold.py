"""The calibrated threshold of the swap score."""

import numpy as np
import pytest

from pe_core import InputError, Mechanism, swap
from pe_core.background import Background, estimate
from pe_core.linear_test import Rates
from pe_core.threshold import expected_bound

TRIALS, TAIL = 100_000, 0.0125


def pair(users):
    """Two canaries with votes on three positions among a few users."""
    rng = np.random.default_rng(4)
    mechanism = Mechanism(users, 0.1, 1.0, 0.1, 1e-5)
    votes = 0.04 * rng.random((max(users, 1), 3))
    first, second = np.array([0.09, 0.0, 0.04]), np.array([0.0, 0.08, 0.05])
    model = estimate(votes, mechanism)
    score = swap.SwapScore.fit(first, second, model, mechanism)
    return score, votes[:users], first, second, mechanism


@pytest.mark.parametrize("users", [0, 7])
def test_no_other_threshold_promises_a_larger_bound(users):
    setting = pair(users)
    chosen = swap.calibrate(*setting, TRIALS, TAIL)
    test = swap.plane_test(*setting)

    def promised(limits):
        rates = test.rates(limits)
        error = np.zeros_like(rates.tpr)
        known = Rates(rates.fpr, rates.tpr, 1 - rates.fpr, 1 - rates.tpr, error)
        return expected_bound(known, TRIALS, 1e-5, TAIL)

    everywhere = promised(np.linspace(-4.0, 4.0, 401))
    assert promised(np.array([chosen]))[0] >= everywhere.max() - 2e-3
    assert everywhere.max() > 0.3


def test_the_cohort_is_cycled_in_order_and_cut_at_the_population():
    score, votes, first, second, mechanism = pair(7)
    cohort = votes[:3]
    cycled = swap.calibrate(score, cohort, first, second, mechanism, TRIALS, TAIL)
    whole = cohort[[0, 1, 2, 0, 1, 2, 0]]
    assert cycled == swap.calibrate(score, whole, first, second, mechanism, TRIALS, TAIL)


def test_an_empty_cohort_cannot_be_cycled():
    mechanism = Mechanism(5, 0.1, 1.0, 0.1, 1e-5)
    v, other = np.array([0.1, 0.0]), np.array([0.0, 0.1])
    score = swap.SwapScore.fit(v, other, Background(np.zeros(2), 0.01 * np.eye(2)), mechanism)
    with pytest.raises(InputError, match="at least one row"):
        swap.calibrate(score, np.zeros((0, 2)), v, other, mechanism, TRIALS, TAIL)
