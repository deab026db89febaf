"""Whole audits under the null, and the wrong way once, so that the check is known to bite."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from pe_core.bounds import clopper_pearson

# The same audits as the benchmark's, which is a script and in no package.
SCRIPT = Path(__file__).parents[1] / "benchmarks" / "coverage.py"
spec = importlib.util.spec_from_file_location("benchmark_coverage", SCRIPT)
benchmark = importlib.util.module_from_spec(spec)
spec.loader.exec_module(benchmark)

# A share is called too large, or too small, only where chance alone would make it so this rarely.
RARELY = 1e-4


@pytest.fixture(scope="module")
def audits():
    return [benchmark.null_audit(index, 5_000) for index in range(120)]


def test_epsilon_is_positive_in_at_most_alpha(audits) -> None:
    positive = sum(epsilon > 0.0 for epsilon, *_ in audits)
    assert clopper_pearson(positive, len(audits), RARELY).lower <= benchmark.ALPHA


def test_no_end_misses_more_often_than_its_tail(audits) -> None:
    for end in range(4):
        misses = sum(missed[end] for _, missed, _, _ in audits)
        assert clopper_pearson(misses, len(audits), RARELY).lower <= benchmark.TAIL


def test_the_threshold_leaves_something_to_count(audits) -> None:
    """Or the two tests above would pass for want of events."""
    assert np.median([events for *_, events in audits]) > 5.0


@pytest.mark.slow
def test_ends_miss_nearly_as_often_as_they_may() -> None:
    audits = (benchmark.null_audit(index, 20_000) for index in range(2000))
    results = [missed for _, missed, _, events in audits if events >= 100.0]
    for end in range(4):
        misses = sum(missed[end] for missed in results)
        assert clopper_pearson(misses, len(results), RARELY).upper >= benchmark.TAIL / 2.0
        assert clopper_pearson(misses, len(results), RARELY).lower <= benchmark.TAIL


def test_a_threshold_chosen_on_its_own_trials_is_caught() -> None:
    """One canary at γ = 0.05: positive in about a third of runs, many times what γ suggests."""
    runs = 150
    positive = sum(benchmark.wrong_way(index, 20_000, 0.05) for index in range(runs))
    assert clopper_pearson(positive, runs, RARELY).lower > 0.05
    lower, upper = clopper_pearson(positive, runs, 0.001)
    assert lower < 1.0 / 3.0 < upper
