import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pe_core import InputError, seeds
from pe_core.evolution import Bank, Release, Rules, select
from tests.evolution import toy
from tests.naive import evolution as naive

QUICK = settings(max_examples=80, deadline=None, derandomize=True)


@st.composite
def votes(draw):
    """A histogram with many ties, negative counts and reserved positions, and a share to keep."""
    p = draw(st.integers(2, 30))
    reserved = sorted(draw(st.sets(st.integers(0, p - 1), max_size=p - 1)))
    room = p - len(reserved)
    share = draw(st.sampled_from([k / p for k in range(1, room + 1)]))
    counts = draw(st.lists(st.integers(-2, 2), min_size=p, max_size=p))
    return toy.bank(p, reserved), Release(np.array(counts, np.float64)), share


@QUICK
@given(votes())
def test_the_top_is_that_of_the_plain_ranking(case):
    bank, release, share = case
    rules = Rules(keep=share)
    try:
        found = select(bank, release, rules, np.random.default_rng(0))
    except InputError:
        # A share as written may be a hair above k/p, and one more entry than there is room for.
        assert rules.keep * len(bank.texts) > len(bank.texts) - len(bank.reserved) - 1e-9
        return
    expected = naive.survivors(release.histogram, bank.reserved, share)
    assert found[: len(expected)].tolist() == expected


@pytest.mark.parametrize(
    ("keep", "p", "count"),
    [(0.05, 8192, 410), (0.05, 100, 5), (0.07, 100, 7), (0.05, 1, 1), (1.0, 9, 9), (0.1, 30, 3)],
)
def test_how_many_survive(keep, p, count):
    assert Rules(keep=keep).survivors(toy.bank(p)) == count


def test_negative_counts_are_ordinary_numbers():
    release = Release(np.array([-3.0, -1.0, -2.0, -1.0]))
    found = select(toy.bank(4), release, Rules(keep=0.75), np.random.default_rng(0))
    assert found.tolist() == [1, 3, 2]


def test_sampling_draws_in_proportion_without_replacement():
    counts = np.array([5.0, 0.2, 3.0, 0.5, 2.0, 1.5, 99.0])
    bank, release = toy.bank(7, reserved=(6,)), Release(counts)
    rules = Rules(keep=2 / 7, selection="sample", threshold=0.5)
    draws = 4000
    found = np.zeros(7)
    for t in range(draws):
        chosen = select(bank, release, rules, seeds.generator(2, "selection", t))
        assert len(set(chosen.tolist())) == rules.survivors(bank) == 2
        assert (np.diff(counts[chosen]) < 0).all()
        found[chosen] += 1
    expected = naive.inclusion(np.maximum(counts[:6] - 0.5, 0.0), 2)
    assert found[[1, 3, 6]].tolist() == [0, 0, 0]
    for j in (0, 2, 4, 5):
        assert stats.binomtest(int(found[j]), draws, expected[j]).pvalue > 1e-3


def test_sampling_with_too_few_above_the_threshold_takes_the_largest_of_the_others():
    counts = Release(np.array([0.1, 7.0, 0.4, 0.4, -1.0]))
    rules = Rules(keep=0.6, selection="sample", threshold=0.5)
    for t in range(20):
        found = select(toy.bank(5), counts, rules, seeds.generator(2, "selection", t))
        assert found.tolist() == [1, 2, 3]


def test_sampling_with_every_count_below_the_threshold_is_the_top():
    counts = Release(np.array([-4.0, -2.0, -2.0, -9.0]))
    for keep in (0.25, 0.5, 1.0):
        sampled = Rules(keep=keep, selection="sample", threshold=0.0)
        found = select(toy.bank(4), counts, sampled, np.random.default_rng(3))
        top = select(toy.bank(4), counts, Rules(keep=keep), np.random.default_rng(3))
        assert found.tolist() == top.tolist()


def test_a_bank_without_room_says_what_is_needed():
    bank = toy.bank(10, reserved=(0, 1, 2))
    with pytest.raises(InputError, match="10 entries, but 3 probes and 8 survivors"):
        select(bank, Release(np.zeros(10)), Rules(keep=0.8), np.random.default_rng(0))


def test_the_histogram_must_be_that_of_the_bank():
    with pytest.raises(InputError, match="2 counts for a bank of 3"):
        select(toy.bank(3), Release(np.zeros(2)), Rules(), np.random.default_rng(0))


@pytest.mark.parametrize("reserved", [(1, 0), (0, 0), (3,), (-1,)])
def test_reserved_positions_ascend_within_the_bank(reserved):
    with pytest.raises(InputError, match="reserved positions must ascend within 0 … 2"):
        Bank(("a", "b", "c"), ("x", "x", "x"), reserved)


def test_every_text_has_a_label():
    with pytest.raises(InputError, match="2 texts and 1 labels"):
        Bank(("a", "b"), ("x",))
    with pytest.raises(InputError, match="0 texts and 0 labels"):
        Bank((), ())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keep": 0.0}, "keep = 0.0"),
        ({"keep": 1.5}, "keep = 1.5"),
        ({"keep": float("nan")}, "keep = nan"),
        ({"selection": "best"}, "selection = 'best'"),
        ({"threshold": float("inf")}, "threshold = inf"),
        ({"feedback": "none"}, "feedback = 'none'"),
        ({"high": 0}, "high = 0"),
        ({"low": -1}, "low = -1"),
        ({"together": 0}, "together = 0"),
        ({"attempts": True}, "attempts = True"),
    ],
)
def test_rules_out_of_range(change, message):
    with pytest.raises(InputError, match=message):
        Rules(**change)
