"""Several releases: one as the special case, sampling, quadrature, the direction of rounding."""

import math

import numpy as np
import pytest
from scipy import special

from pe_core import Mechanism
from pe_core.best import best_epsilon, ideal_test
from pe_core.bounds import clopper_pearson
from pe_core.errors import InputError
from pe_core.linear_test import LinearTest
from pe_core.releases import summed_rates
from pe_core.score import mixture

DELTA = 1e-5


def crowded(seed: int, q: float = 0.1) -> LinearTest:
    s = np.random.default_rng(seed).normal(size=20) * 0.5
    return LinearTest(s, np.ones(20, np.int64), q, 1.0, 0.9, 0.4, 0.0)


@pytest.mark.parametrize("q", [0.1, 0.9, 1.0])
def test_one_release_is_the_special_case(q: float) -> None:
    test = crowded(1, q)
    mesh = 1e-3
    summed = summed_rates([test], mesh)
    inner = (summed.thresholds > math.log1p(-q) + 0.01 if q < 1.0 else summed.thresholds > -9.0) & (
        summed.thresholds < 3.0
    )
    y = summed.thresholds[inner]
    # The true rates lie between those one mesh to either side.
    for step, side in ((-mesh, 1), (mesh, -1)):
        ell = np.log((np.exp(y + step) - (1.0 - q)) / q)
        beside = test.rates(ell)
        slack = 1.0 + 1e-6
        assert np.all(side * beside.fpr >= side * summed.fpr[inner] / slack**side)
        assert np.all(side * beside.tpr >= side * summed.tpr[inner] / slack**side)
    here = test.rates(np.log((np.exp(y) - (1.0 - q)) / q))
    # The comparison's own rounding is allowed for, far below the mesh.
    assert np.all(summed.fpr[inner] >= here.fpr * (1.0 - 1e-10))
    assert np.all(summed.tpr[inner] <= here.tpr * (1.0 + 1e-10))
    assert np.all(summed.tnr[inner] <= here.tnr * (1.0 + 1e-10))
    assert np.all(summed.fnr[inner] >= here.fnr * (1.0 - 1e-10))
    assert summed.best_epsilon(DELTA)[0] <= best_epsilon(test, DELTA).epsilon


def test_one_ideal_release_converges_to_the_exact_value() -> None:
    test = ideal_test(Mechanism(1000, 0.1, 1.0, 0.1, DELTA))
    errors = [
        1.6845438 - summed_rates([test], mesh).best_epsilon(DELTA)[0] for mesh in (1e-3, 1e-4)
    ]
    assert 0.0 < errors[1] < 1e-3
    assert errors[1] < 0.2 * errors[0]


def test_two_releases_against_quadrature() -> None:
    """Condition on the first release of two, integrate over it."""
    sigma, q = 1.1088, 0.1
    x = np.linspace(-10.0, 11.0, 40_001)
    density = np.exp(-0.5 * (x / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi)) * (x[1] - x[0])
    shifted = (
        np.exp(-0.5 * ((x - 1) / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi)) * (x[1] - x[0])
    )
    ell = mixture((x - 0.5) / sigma**2, q)
    summed = summed_rates([ideal_test(Mechanism(0, q, sigma, 0.1, DELTA))] * 2, 1e-4)
    for y in (-0.1, 0.5, 1.5, 2.5):
        grown = np.exp(y - ell) - (1.0 - q)
        second = np.where(
            grown > 0, 0.5 + sigma**2 * np.log(np.where(grown > 0, grown, 1.0) / q), -1e9
        )
        f0 = special.ndtr(-second / sigma)
        f1 = (1.0 - q) * f0 + q * special.ndtr((1.0 - second) / sigma)
        at = int(np.argmin(np.abs(summed.thresholds - y)))
        assert summed.fpr[at] == pytest.approx(density @ f0, rel=2e-3)
        assert summed.fpr[at] >= density @ f0 * (1.0 - 1e-6)
        present = (1.0 - q) * density + q * shifted
        assert summed.tpr[at] == pytest.approx(present @ f1, rel=2e-3)
        assert summed.tpr[at] <= present @ f1 * (1.0 + 1e-6)


def test_six_ideal_releases_against_another_accountant() -> None:
    """The design's 1.989819 comes from a privacy-loss distribution at mesh 1e-4."""
    test = ideal_test(Mechanism(1000, 0.1, 1.1088, 0.1, DELTA))
    found, threshold = summed_rates([test] * 6).best_epsilon(DELTA)
    assert 1.989819 - 5e-3 < found < 1.989819
    # The best event of a likelihood ratio is where it equals exp(ε).
    assert threshold == pytest.approx(found, abs=0.01)


def test_sampled_sums_agree() -> None:
    rounds = [crowded(2), crowded(3, 0.3), crowded(2)]
    summed = summed_rates(rounds, 1e-4)
    rng = np.random.default_rng(4)
    n = 200_000
    absent, present = np.zeros(n), np.zeros(n)
    for test, seed in zip(rounds, (2, 3, 2)):
        s = np.random.default_rng(seed).normal(size=20) * 0.5
        q = test.participation
        for total, canary in ((absent, 0.0), (present, 0.9)):
            score = (rng.random((n, 20)) < q) @ s + rng.standard_normal(n) - 0.4
            total += mixture(score + canary * (rng.random(n) < q), q)
    for y in (-0.5, 0.0, 0.6, 1.5):
        at = int(np.searchsorted(summed.thresholds, y))
        y = summed.thresholds[at]
        for scores, rate in ((absent, summed.fpr[at]), (present, summed.tpr[at])):
            lower, upper = clopper_pearson(int(np.sum(scores > y)), n, 1e-4)
            assert lower - 2e-4 <= rate <= upper + 2e-4


def test_rates_are_rates() -> None:
    summed = summed_rates([crowded(5), crowded(6)], 1e-3)
    for rates in (summed.fpr, summed.tpr, summed.tnr, summed.fnr):
        assert np.all((rates >= 0.0) & (rates <= 1.0))
    # What is rounded towards less ε leaves room on one side only.
    assert np.all(summed.fpr + summed.tnr >= 1.0 - 1e-9)
    assert np.all(summed.tpr + summed.fnr >= 1.0 - 1e-9)
    assert np.all(np.diff(summed.fpr) <= 1e-15)


def test_more_releases_give_more_away() -> None:
    test = ideal_test(Mechanism(1000, 0.1, 2.0, 0.1, DELTA))
    values = [summed_rates([test] * count, 1e-3).best_epsilon(DELTA)[0] for count in (1, 2, 4)]
    assert values == sorted(values)


def test_a_given_threshold_is_met_on_the_grid() -> None:
    summed = summed_rates([crowded(7)], 1e-3)
    best, threshold = summed.best_epsilon(DELTA)
    assert summed.epsilon(threshold, DELTA) == best
    with pytest.raises(InputError, match="grid covers"):
        summed.epsilon(1e9, DELTA)
    with pytest.raises(InputError, match="grid covers"):
        summed.epsilon(math.nan, DELTA)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: summed_rates([]), "rounds are empty"),
        (lambda: summed_rates([crowded(1)], 0.0), "mesh = 0.0"),
        (lambda: summed_rates([crowded(1, 0.0)]), "never takes part"),
    ],
)
def test_bad_input_says_what_is_allowed(call, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()
