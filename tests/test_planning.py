"""Ceilings and trials needed, against each other and against the design's figures."""

from dataclasses import replace

import pytest

from pe_core import Mechanism, planning
from pe_core.best import ideal_test
from pe_core.errors import InputError
from pe_core.planning import ceiling, ceilings, trials_needed
from pe_core.threshold import best_expected

MECHANISM = Mechanism(1000, 0.1, 1.0, 0.1, 1e-5)
TAIL = 0.0025


def test_a_million_trials_are_expected_to_prove_099() -> None:
    assert ceiling(MECHANISM, 10**6, TAIL) == pytest.approx(0.99, abs=0.005)


@pytest.mark.parametrize("releases", [2, 6])
def test_releases_of_everyone_are_one_release_of_less_noise(releases: int) -> None:
    many = Mechanism(0, 1.0, 3.0, 0.1, 1e-5, releases=releases)
    one = Mechanism(0, 1.0, 3.0 / releases**0.5, 0.1, 1e-5)
    assert ceiling(many, 10**6, TAIL) == pytest.approx(ceiling(one, 10**6, TAIL), abs=1e-5)


def test_the_sum_of_one_release_has_the_ceiling_of_the_release(monkeypatch) -> None:
    values = [ceiling(replace(MECHANISM, releases=n), 10**6, TAIL) for n in (0, 1, 2, 3)]
    assert values[0] == 0.0
    assert values[1] < values[2] < values[3] < 2.0 * values[1]
    # What two meshes leave of the grid's rounding, where the sum has one term.
    once, sum_of = ideal_test(MECHANISM), planning.summed_rates
    monkeypatch.setattr(planning, "summed_rates", lambda _, mesh: sum_of([once], mesh))
    assert ceiling(replace(MECHANISM, releases=2), 10**6, TAIL) == pytest.approx(
        values[1], abs=1e-5
    )


def test_ceilings_rise_towards_the_exact_value() -> None:
    rows = ceilings(ideal_test(MECHANISM), [10**4, 10**6, 10**9], 1e-5, TAIL)
    expected = [row.expected for row in rows]
    assert expected == sorted(expected)
    assert all(row.expected < row.exact for row in rows)
    assert rows[-1].exact == pytest.approx(1.6845438, abs=1e-7)
    assert rows[-1].exact - rows[-1].expected < 0.05


def test_the_trials_needed_are_enough_and_not_many_too_many() -> None:
    test = ideal_test(MECHANISM)
    needed = trials_needed(test, 0.8, 1e-5, TAIL)
    assert best_expected(test, needed, 1e-5, TAIL)[1] >= 0.8
    assert best_expected(test, int(needed * 0.97), 1e-5, TAIL)[1] < 0.8


def test_what_cannot_be_reached_says_so() -> None:
    test = ideal_test(MECHANISM)
    with pytest.raises(InputError, match=r"less than 1\.684"):
        trials_needed(test, 1.7, 1e-5, TAIL)
    with pytest.raises(InputError, match=r"more than 1e\+10"):
        trials_needed(test, 1.6845, 1e-5, TAIL)
    with pytest.raises(InputError, match="epsilon = 0"):
        trials_needed(test, 0.0, 1e-5, TAIL)
    with pytest.raises(InputError, match="tail = 1"):
        trials_needed(test, 0.5, 1e-5, 1.0)


@pytest.mark.parametrize("releases", [0, 1, 2])
def test_a_ceiling_of_no_trials_or_without_a_tail_is_refused(releases: int) -> None:
    mechanism = replace(MECHANISM, releases=releases)
    with pytest.raises(InputError, match="trials = 0"):
        ceiling(mechanism, 0, TAIL)
    with pytest.raises(InputError, match="tail = 2"):
        ceiling(mechanism, 10, 2.0)
