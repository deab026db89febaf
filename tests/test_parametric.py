"""The parametric bound: its inverse, its direction and the design's figures."""

import math

import numpy as np
import pytest
from scipy import special

from pe_core import Mechanism
from pe_core.errors import InputError
from pe_core.parametric import (
    epsilon_of_separation,
    epsilon_parametric,
    moderate_threshold,
    separation_lower,
)

MECHANISM = Mechanism(1000, 0.1, 1.0, 0.1, 1e-5)
# Two ends enter, so that α = 0.05 over five canaries leaves 0.005 to each.
TAIL = 0.005


@pytest.mark.parametrize("q", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("t", [-1.0, 0.5, 2.0])
def test_the_separation_is_recovered(q: float, mu: float, t: float) -> None:
    fpr = special.ndtr(-t)
    tpr = (1.0 - q) * fpr + q * special.ndtr(mu - t)
    assert separation_lower(fpr, tpr, q) == pytest.approx(mu, rel=1e-9)


def test_worse_bounds_only_lower_it() -> None:
    base = separation_lower(0.03, 0.045, 0.1)
    assert separation_lower(0.031, 0.045, 0.1) < base
    assert separation_lower(0.03, 0.044, 0.1) < base
    assert separation_lower(0.03, 0.03, 0.1) == 0.0
    assert separation_lower(0.0, 0.1, 0.1) == math.inf


def test_the_figures_of_an_ideal_attack() -> None:
    assert moderate_threshold(MECHANISM, 10**5, TAIL)[1] == pytest.approx(1.21, abs=0.005)
    assert moderate_threshold(MECHANISM, 10**6, TAIL)[1] == pytest.approx(1.53, abs=0.005)


def test_it_misses_the_truth_no_more_often_than_its_tails_allow() -> None:
    threshold, _ = moderate_threshold(MECHANISM, 10**5, TAIL)
    fpr = float(special.ndtr(-threshold))
    tpr = 0.9 * fpr + 0.1 * float(special.ndtr(0.8 - threshold))
    rng = np.random.default_rng(6)
    truth = epsilon_of_separation(0.8, MECHANISM, 1e-5)
    n, audits = 10**5, 60
    values = [
        epsilon_parametric(int(t), n, int(f), n, MECHANISM, TAIL)
        for t, f in zip(rng.binomial(n, tpr, audits), rng.binomial(n, fpr, audits))
    ]
    assert np.mean(np.array(values) > truth) <= 0.05
    assert np.mean(values) > 0.3 * truth


def test_it_never_passes_the_mechanism() -> None:
    found = epsilon_parametric(90_000, 10**5, 10, 10**5, MECHANISM, TAIL)
    assert found == pytest.approx(1.6845438, abs=1e-7)
    assert epsilon_parametric(10, 10**5, 10, 10**5, MECHANISM, TAIL) == 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: separation_lower(1.1, 0.5, 0.1), "fpr_upper = 1.1"),
        (lambda: separation_lower(0.1, 0.5, 0.0), "participation = 0.0"),
        (lambda: epsilon_of_separation(-1.0, MECHANISM, 1e-5), "separation = -1.0"),
        (
            lambda: moderate_threshold(Mechanism(0, 0.1, 0.0, 0.1, 1e-5), 10, 0.05),
            "noise_multiplier = 0",
        ),
    ],
)
def test_bad_input_says_what_is_allowed(call, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()
