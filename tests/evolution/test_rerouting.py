import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_core import InputError, routing, seeds
from pe_core.evolution import reroute
from tests.naive import routing as naive

QUICK = settings(max_examples=120, deadline=None, derandomize=True)


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@st.composite
def changes(draw):
    """A bank before and after; few different rows, so that ties and duplicates are common."""
    p = draw(st.integers(1, 14))
    n = draw(st.integers(1, 8))
    kinds = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = unit(rng.standard_normal((kinds, 3)))
    before, after = rows[rng.integers(kinds, size=p)], rows[rng.integers(kinds, size=p)]
    changed = np.sort(rng.permutation(p)[: draw(st.integers(1, p))])
    bank = before.copy()
    bank[changed] = after[changed]
    return rows[rng.integers(kinds, size=n)], before, bank, changed, draw(st.integers(1, p))


@QUICK
@given(changes())
def test_rerouting_is_routing_from_scratch_to_the_last_bit(case):
    records, before, bank, changed, k = case
    found = reroute(routing.top_k(records, before, k), records, bank, changed)
    expected = routing.top_k(records, bank, k)
    assert found.index.dtype == np.int32
    assert np.array_equal(found.index, expected.index)
    assert np.array_equal(found.squared_distance, expected.squared_distance)
    index, distance = naive.top_k(records, bank, k)
    assert np.array_equal(found.index, index)
    assert np.array_equal(found.squared_distance, distance)


def test_an_entry_that_stays_comes_before_an_equal_new_one_behind_it():
    """Position 0 leaves; 1 stays and was never listed; 2 is new, and all are equally near."""
    near, far = np.array([[1, 0]], np.float32), np.array([[0, 1]], np.float32)
    before = np.concatenate([near, near, far])
    after = np.concatenate([far, near, near])
    found = reroute(routing.top_k(near, before, 1), near, after, np.array([0, 2]))
    assert found.index.tolist() == [[1]]


def test_entries_that_stay_are_searched_only_where_they_may_matter(monkeypatch):
    rng = seeds.generator(1, "rerouting")
    records, bank = unit(rng.standard_normal((300, 8))), unit(rng.standard_normal((80, 8)))
    before = routing.top_k(records, bank, 5)
    changed = np.arange(10, 80)
    after = bank.copy()
    after[changed] = unit(rng.standard_normal((70, 8)))
    searched = []
    top_k = routing.top_k

    def watched(rows, candidates, k):
        searched.append((len(rows), len(candidates)))
        return top_k(rows, candidates, k)

    monkeypatch.setattr(routing, "top_k", watched)
    found = reroute(before, records, after, changed)
    expected = top_k(records, after, 5)
    assert np.array_equal(found.index, expected.index)
    new, stayed = searched
    assert new == (300, 70)
    assert stayed[1] == 10
    further = expected.squared_distance[:, -1] > before.squared_distance[:, -1]
    assert 0 < stayed[0] == further.sum() < 300


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ([], "integers of shape"),
        ([0.5], "integers of shape"),
        ([1, 0], "must ascend"),
        ([1, 1], "must ascend"),
        ([3], "within 0 … 2"),
        ([-1], "within 0 … 2"),
    ],
)
def test_changed_positions_must_be_positions(changed, message):
    bank = np.eye(3, dtype=np.float32)
    routes = routing.top_k(bank, bank, 2)
    with pytest.raises(InputError, match=message):
        reroute(routes, bank, bank, np.array(changed))


def test_routes_must_be_of_the_records():
    bank = np.eye(3, dtype=np.float32)
    with pytest.raises(InputError, match="3 records, but 2 rows"):
        reroute(routing.top_k(bank, bank, 2), bank[:2], bank, np.array([0]))
