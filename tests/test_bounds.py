"""Bounds against their definitions, in mpmath and in closed form, and at every edge."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_core.bounds import clopper_pearson, epsilon_from_rates, epsilon_lower
from pe_core.errors import InputError

DELTA = 1e-5


def binomial_upper_tail(x: int, n: int, p: float) -> mpmath.mpf:
    """P[Bin(n, p) ≥ x] by summation from the smaller side."""
    with mpmath.workdps(50):
        p = mpmath.mpf(p)
        term = mpmath.binomial(n, x) * p**x * (1 - p) ** (n - x)
        total = mpmath.mpf(0)
        for k in range(x, n + 1):
            total += term
            term *= mpmath.mpf(n - k) / (k + 1) * p / (1 - p)
            if term < total * mpmath.mpf(10) ** -40:
                break
        return total


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    n=st.integers(1, 2000),
    share=st.floats(0.0, 1.0),
    tail=st.sampled_from([1e-17, 1e-9, 0.0025, 0.05, 0.4]),
)
def test_ends_solve_their_defining_equations(n: int, share: float, tail: float) -> None:
    x = round(share * n)
    lower, upper = clopper_pearson(x, n, tail)
    if x > 0:
        assert float(binomial_upper_tail(x, n, lower)) == pytest.approx(tail, rel=1e-6)
    if x < n and upper < 1.0 - 1e-9:
        at_most = binomial_upper_tail(n - x, n, 1.0 - upper)
        assert float(at_most) == pytest.approx(tail, rel=1e-4)


@pytest.mark.parametrize("tail", [1e-17, 1e-12, 0.0025, 0.05])
@pytest.mark.parametrize("n", [1, 10, 10**6, 10**9])
def test_no_and_all_successes_have_closed_forms(n: int, tail: float) -> None:
    lower, upper = clopper_pearson(0, n, tail)
    assert lower == 0.0
    assert upper == pytest.approx(-math.expm1(math.log(tail) / n), rel=1e-8)
    lower, upper = clopper_pearson(n, n, tail)
    assert upper == 1.0
    assert lower == pytest.approx(math.exp(math.log(tail) / n), rel=1e-8)


def test_a_tiny_tail_is_not_rounded_to_certainty() -> None:
    assert clopper_pearson(0, 10**6, 1e-17).upper == pytest.approx(3.914e-5, rel=1e-4)


def test_no_trials_say_nothing() -> None:
    assert clopper_pearson(0, 0, 0.05) == (0.0, 1.0)
    assert epsilon_lower(0, 0, 0, 0, DELTA, 0.05) == 0.0


def test_arrays_broadcast() -> None:
    lower, upper = clopper_pearson(np.arange(4), 3, 0.05)
    for x in range(4):
        assert (lower[x], upper[x]) == clopper_pearson(x, 3, 0.05)


def test_each_end_misses_with_probability_at_most_its_tail() -> None:
    n, tail = 40, 0.05
    lower, upper = clopper_pearson(np.arange(n + 1), n, tail)
    for p in np.linspace(0.01, 0.99, 33):
        pmf = np.array([math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)])
        assert pmf[lower > p].sum() <= tail + 1e-12
        assert pmf[upper < p].sum() <= tail + 1e-12


def test_both_branches_by_the_formula() -> None:
    tail, n = 0.0025, 10**6
    for tp, fp in ((300, 30), (n - 30, n - 300), (0, 0), (n, n), (n, 0), (0, n), (500_000, 90)):
        tpr, fpr = clopper_pearson(tp, n, tail), clopper_pearson(fp, n, tail)
        fnr, tnr = clopper_pearson(n - tp, n, tail), clopper_pearson(n - fp, n, tail)
        candidates = [0.0]
        for up, down in ((tpr.lower, fpr.upper), (tnr.lower, fnr.upper)):
            if up > DELTA:
                candidates.append(math.log((up - DELTA) / down))
        assert epsilon_lower(tp, n, fp, n, DELTA, tail) == pytest.approx(max(candidates), abs=1e-12)


def test_a_numerator_at_most_delta_gives_zero() -> None:
    assert epsilon_lower(0, 10**6, 0, 10**6, DELTA, 0.0025) == 0.0
    assert epsilon_lower(3, 10**6, 0, 10**6, DELTA, 0.0025) == 0.0
    assert epsilon_lower(10**6, 10**6, 0, 10**6, 1.0, 0.0025) == 0.0
    assert epsilon_from_rates(0.0, DELTA, DELTA) == 0.0


def test_a_false_positive_rate_below_delta_is_valid() -> None:
    assert epsilon_lower(200, 10**6, 0, 10**6, DELTA, 0.0025) > 3.0
    assert epsilon_from_rates(8.5e-6, 5.6e-5, DELTA) == pytest.approx(math.log(4.6e-5 / 8.5e-6))


def test_rates_seen_from_their_complements() -> None:
    # 1 − 1e-20 is 1 in float64; the complement keeps the digits.
    assert epsilon_from_rates(0.5, 1.0, 0.0, fnr=1e-20, tnr=0.5) == pytest.approx(
        math.log(0.5 / 1e-20)
    )
    assert epsilon_from_rates(0.5, 1.0, 0.0) == math.inf
    assert epsilon_from_rates(5e-324, 1.0, 0.0, fnr=0.5) == pytest.approx(-math.log(5e-324))


def test_an_error_bound_only_lowers_epsilon() -> None:
    for fpr, tpr in ((1e-5, 1e-4), (0.2, 0.9), (0.9, 0.999)):
        exact = epsilon_from_rates(fpr, tpr, 1e-6)
        moved = epsilon_from_rates(fpr, tpr, 1e-6, 1e-3)
        worst = min(
            epsilon_from_rates(fpr * (1 + a), min(1.0, tpr * (1 + b)), 1e-6)
            for a in (-1e-3, 1e-3)
            for b in (-1e-3, 1e-3)
        )
        assert moved <= worst + 1e-12
        assert moved < exact


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: clopper_pearson(5, 4, 0.05), "successes = 5 of trials = 4"),
        (lambda: clopper_pearson(-1, 4, 0.05), "successes = -1"),
        (lambda: clopper_pearson(1.0, 4, 0.05), "whole numbers"),
        (lambda: clopper_pearson(1, 4, 0.0), "tail = 0.0"),
        (lambda: clopper_pearson(1, 4, 1.0), "tail = 1.0"),
        (lambda: clopper_pearson(1, 4, math.nan), "tail = nan"),
        (lambda: epsilon_lower(1, 2, 1, 2, -0.1, 0.05), "delta = -0.1"),
        (lambda: epsilon_from_rates(math.nan, 0.5, 0.1), "fpr = nan"),
        (lambda: epsilon_from_rates(0.1, 0.5, 0.1, 1.0), "relative_error = 1.0"),
    ],
)
def test_bad_input_says_what_is_allowed(call, words: str) -> None:
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        call()
