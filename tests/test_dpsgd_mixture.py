import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_core import InputError, Mechanism, accounting
from pe_core.dpsgd import (
    gdp_epsilon,
    log_ratio,
    separation,
    tail_rates,
    threshold_at,
    worst_case_epsilon,
)
from tests.naive import dpsgd as naive


def mechanism(participation, sigma, steps, delta=1e-5):
    return Mechanism(0, participation, sigma, 1.0, delta, releases=steps)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    value=st.floats(-30, 30),
    participation=st.sampled_from([0.0, 1e-3, 0.3, 0.97, 1.0]),
    steps=st.integers(1, 7),
    sigma=st.sampled_from([0.3, 1.0, 5.0]),
)
def test_the_log_ratio_is_that_of_the_densities(value, participation, steps, sigma):
    with mpmath.workdps(200):
        deviation = mpmath.sqrt(steps) * mpmath.mpf(sigma)
        densities = [
            naive.mixture_density(value, participation, steps, deviation, sign, mpmath.mpf)
            for sign in (1, -1)
        ]
        expected = float(mpmath.log(densities[0] / densities[1]))
    found = float(log_ratio(value, mechanism(participation, sigma, steps)))
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-11)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    threshold=st.floats(-25, 25),
    participation=st.sampled_from([1e-3, 0.3, 1.0]),
    steps=st.integers(1, 6),
    sigma=st.sampled_from([0.5, 2.0]),
)
def test_tail_rates_are_those_of_the_mixture(threshold, participation, steps, sigma):
    found = tail_rates(threshold, mechanism(participation, sigma, steps))
    with mpmath.workdps(900):
        deviation = mpmath.sqrt(steps) * mpmath.mpf(sigma)
        q = mpmath.mpf(participation)
        for sign, above, below in (
            (-1, found.log_fpr, found.log_tnr),
            (1, found.log_tpr, found.log_fnr),
        ):
            tail = sum(
                mpmath.binomial(steps, k) * q**k * (1 - q) ** (steps - k)
                * mpmath.erfc((threshold - sign * k) / deviation / mpmath.sqrt(2)) / 2
                for k in range(steps + 1)
            )  # fmt: skip
            assert float(above) == pytest.approx(float(mpmath.log(tail)), rel=1e-11, abs=1e-13)
            rest = float(mpmath.log(1 - tail))
            assert float(below) == pytest.approx(rest, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("fpr", [1e-12, 1e-5, 0.3, 0.999])
@pytest.mark.parametrize("participation", [0.05, 1.0])
def test_the_threshold_has_its_rate(fpr, participation):
    setting = mechanism(participation, 0.7, 20)
    assert math.exp(tail_rates(threshold_at(fpr, setting), setting).log_fpr) == pytest.approx(
        fpr, rel=1e-9
    )


@pytest.mark.parametrize(
    ("participation", "sigma", "steps", "delta"),
    [(0.1, 1.0, 1, 1e-5), (0.1, 1.1088, 6, 1e-5), (0.5, 2.0, 3, 1e-2), (1.0, 3.0, 4, 1e-8)],
)
def test_epsilon_has_its_delta_by_quadrature(participation, sigma, steps, delta):
    epsilon = worst_case_epsilon(mechanism(participation, sigma, steps, delta))
    with mpmath.workdps(30):
        deviation = mpmath.sqrt(steps) * mpmath.mpf(sigma)

        def excess(value):
            pair = [
                naive.mixture_density(value, participation, steps, deviation, sign, mpmath.mpf)
                for sign in (1, -1)
            ]
            return max(pair[0] - mpmath.e**epsilon * pair[1], mpmath.mpf(0))

        crossing = mpmath.findroot(
            lambda value: (
                mpmath.log(
                    naive.mixture_density(value, participation, steps, deviation, 1, mpmath.mpf)
                    / naive.mixture_density(value, participation, steps, deviation, -1, mpmath.mpf)
                )
                - epsilon
            ),
            (0, steps + 5 * float(deviation)),
            solver="anderson",
        )
        knots = [crossing + i * deviation for i in range(0, 20, 2)]
        total = mpmath.quad(excess, knots) / (deviation * mpmath.sqrt(2 * mpmath.pi))
    assert float(total) == pytest.approx(delta, rel=1e-7)


@pytest.mark.parametrize("steps", [1, 2, 5, 40])
@pytest.mark.parametrize("sigma", [1.0, 7.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2])
def test_without_subsampling_it_is_the_gaussian_mechanism(steps, sigma, delta):
    found = worst_case_epsilon(mechanism(1.0, sigma, steps, delta))
    assert found == pytest.approx(gdp_epsilon(2.0 * math.sqrt(steps) / sigma, delta), abs=1e-9)


def test_one_step_is_the_substitute_value_and_more_steps_are_below_it():
    assert worst_case_epsilon(mechanism(0.1, 1.0, 1)) == pytest.approx(1.7891546, abs=5e-7)
    assert worst_case_epsilon(mechanism(0.1, 1.1088, 1)) == pytest.approx(1.43862, abs=5e-6)
    # The accountant's adversary sees all six steps; the final sum hides which held the canary.
    assert 1.43862 < worst_case_epsilon(mechanism(0.1, 1.1088, 6)) < 2.37043 - 0.2


def test_the_gaussian_curve_through_an_exact_point_passes_the_true_epsilon():
    setting = mechanism(0.1, 1.0, 1)
    with mpmath.workdps(30):

        def rates(at):
            tails = [mpmath.erfc((at - shift) / mpmath.sqrt(2)) / 2 for shift in (-1, 0, 1)]
            return (tails[0] + 9 * tails[1]) / 10, (tails[2] + 9 * tails[1]) / 10

        at = mpmath.findroot(lambda value: mpmath.log(rates(value)[0] * 10**5), 4.2)
        quantile = lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)  # noqa: E731
        mu = quantile(1 - mpmath.mpf(10) ** -5) - quantile(1 - rates(at)[1])
        implied = mpmath.findroot(
            lambda e: (
                mpmath.ncdf(-e / mu + mu / 2)
                - mpmath.e**e * mpmath.ncdf(-e / mu - mu / 2)
                - mpmath.mpf(10) ** -5
            ),
            1.8,
        )
    exact = tail_rates(threshold_at(1e-5, setting), setting)
    found = gdp_epsilon(
        float(separation(np.exp(exact.log_fpr), np.exp(exact.log_fnr))), setting.delta
    )
    assert found == pytest.approx(float(implied), abs=1e-6)
    assert found > worst_case_epsilon(setting) + 0.002


def test_degenerate_mechanisms_have_defined_answers():
    assert worst_case_epsilon(mechanism(0.0, 0.0, 5)) == 0.0
    assert worst_case_epsilon(mechanism(0.5, 0.0, 0)) == 0.0
    assert worst_case_epsilon(mechanism(0.5, 0.0, 2, 0.75)) == 0.0
    assert worst_case_epsilon(mechanism(0.5, 0.0, 2, 0.7)) == math.inf
    assert worst_case_epsilon(mechanism(0.5, 1.0, 2, 0.0)) == math.inf
    assert worst_case_epsilon(mechanism(1.0, 1.0, 2, 1.0)) == 0.0
    # δ above the total variation of the two mixtures.
    assert worst_case_epsilon(mechanism(0.5, 50.0, 1, 0.1)) == 0.0
    assert log_ratio([-3.0, 3.0], mechanism(0.0, 1.0, 4)).tolist() == [0.0, 0.0]


def test_bad_input_is_refused():
    for bad in (mechanism(0.5, 0.0, 1), mechanism(0.5, 1.0, 0)):
        with pytest.raises(InputError, match="at least one step"):
            log_ratio(0.0, bad)
    for fpr in (0.0, 1.0, math.nan):
        with pytest.raises(InputError, match="fpr"):
            threshold_at(fpr, mechanism(0.5, 1.0, 1))
    with pytest.raises(InputError, match="finite"):
        tail_rates([0.0, math.nan], mechanism(0.5, 1.0, 1))
    with pytest.raises(InputError, match="delta"):
        worst_case_epsilon(mechanism(0.5, 1.0, 1), 1.5)


@pytest.mark.parametrize(
    ("participation", "sigma", "steps"),
    [(1.0, 1.0, 1), (1.0, 10.8, 100), (0.1, 1.0, 1), (0.25, 2.9, 1), (0.0625, 1.05, 1)],
)
def test_it_is_the_accountants_substitute_epsilon_where_the_sum_is_all_there_is(
    participation, sigma, steps
):
    setting = mechanism(participation, sigma, steps)
    certified = accounting.epsilon(setting, "substitute")
    found = worst_case_epsilon(setting)
    assert certified.low - 1e-9 <= found <= certified.high + 1e-9
    assert found == pytest.approx(certified.estimate, abs=1e-3)


def test_what_the_sum_hides_grows_as_the_share_shrinks():
    hidden = []
    for participation, sigma in ((0.25, 2.9), (0.0625, 1.05)):
        setting = mechanism(participation, sigma, 20)
        hidden.append(accounting.epsilon(setting, "substitute").low - worst_case_epsilon(setting))
    assert 0.0 < hidden[0] < 0.01
    assert 0.3 < hidden[1] < 0.5
