"""Contributions: equation (1), clipped once a user, in compressed rows."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_core.contribution import contributions, inspected
from pe_core.errors import InputError
from tests.naive import contribution as naive

cases = settings(deadline=None, derandomize=True, max_examples=100)


@st.composite
def votes(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    candidates = draw(st.integers(1, 40))
    users = draw(st.integers(1, 12))
    k = draw(st.integers(1, min(candidates, 6)))
    n = draw(st.integers(0, 60))
    index = np.array([rng.permutation(candidates)[:k] for _ in range(n)], np.int32).reshape(n, k)
    # Some users without records, records in any order.
    user = rng.choice(rng.integers(0, users, max(1, users // 2)), n)
    return index, user, users, candidates, draw(st.sampled_from([0.01, 0.1, 0.5, 1.0, 3.0]))


@cases
@given(votes())
def test_contributions_are_the_naive_ones(case):
    found = contributions(*case)
    expected = naive.contributions(*case)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-14, atol=0)
    assert found.shape == expected.shape
    assert found.nnz == np.count_nonzero(expected)
    assert found.has_canonical_format
    for row in range(found.shape[0]):
        assert (np.diff(found.indices[found.indptr[row] : found.indptr[row + 1]]) > 0).all()


@cases
@given(votes())
def test_no_user_exceeds_the_clip_and_unclipped_ones_sum_to_one(case):
    found = contributions(*case).toarray()
    norms = np.linalg.norm(found, axis=1)
    assert (norms <= case[4] * (1 + 1e-14)).all()
    present = np.isin(np.arange(case[2]), case[1])
    assert not found[~present].any()
    free = present & (norms < case[4] * (1 - 1e-12))
    np.testing.assert_allclose(found[free].sum(axis=1), 1.0, rtol=1e-13)


def test_a_user_whose_records_carry_two_labels_is_clipped_once():
    # Label 0 votes within entries 0 … 4, label 1 within 5 … 9: one user, one budget.
    index = np.array([[0, 1], [0, 1], [5, 6], [5, 6]], np.int32)
    clip = 0.1
    row = contributions(index, np.zeros(4, np.int64), 1, 10, clip).toarray()[0]
    np.testing.assert_allclose(np.linalg.norm(row), clip, rtol=1e-14)
    # Each of the four entries has a quarter of the votes: h̄ = ¼, ‖h̄‖ = ½, v = C/2.
    np.testing.assert_allclose(row[[0, 1, 5, 6]], clip / 2, rtol=1e-14)
    # Clipping each label on its own would spend √2·C.
    apart = contributions(index, np.array([0, 0, 1, 1]), 2, 10, clip).toarray().sum(axis=0)
    np.testing.assert_allclose(np.linalg.norm(apart), np.sqrt(2) * clip, rtol=1e-14)


def test_the_order_of_records_changes_nothing():
    rng = np.random.default_rng(1)
    index = np.array([rng.permutation(30)[:5] for _ in range(200)], np.int32)
    user = rng.integers(0, 9, 200)
    order = rng.permutation(200)
    first = contributions(index, user, 9, 30, 0.1)
    second = contributions(np.ascontiguousarray(index[order]), user[order], 9, 30, 0.1)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(first, part), getattr(second, part))


def test_layouts_and_integer_types_change_nothing():
    rng = np.random.default_rng(2)
    index = np.array([rng.permutation(30)[:5] for _ in range(50)], np.int32)
    user = rng.integers(0, 9, 50)
    first = contributions(index, user, 9, 30, 0.1).toarray()
    second = contributions(np.asfortranarray(index), user.astype(np.uint8), 9, 30, 0.1).toarray()
    np.testing.assert_array_equal(first, second)


def test_one_record_of_one_user():
    row = contributions(np.array([[2, 0, 1]], np.int32), np.array([0]), 1, 4, 0.1).toarray()
    np.testing.assert_allclose(row, [[0.1 / np.sqrt(3)] * 3 + [0]], rtol=1e-15)


def test_no_array_has_users_times_bank_entries():
    users, candidates = 50_000, 1_000_000
    index = np.tile(np.arange(5, dtype=np.int32), (users, 1))
    contributions(index[:1], np.array([0]), 1, 5, 0.1)
    tracemalloc.start()
    found = contributions(index, np.arange(users), users, candidates, 0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape == (users, candidates)
    assert peak < 20 * index.nbytes


def test_inspected_coordinates_come_in_the_order_asked():
    index = np.array([[0, 3], [1, 3]], np.int32)
    rows = contributions(index, np.array([0, 1]), 3, 5, 1.0)
    np.testing.assert_array_equal(
        inspected(rows, np.array([3, 4, 0])), [[0.5, 0, 0.5], [0.5, 0, 0], [0, 0, 0]]
    )
    assert inspected(rows, np.array([], np.int64)).shape == (3, 0)


INDEX = np.array([[0, 1], [2, 1]], np.int32)
USER = np.array([0, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"index": INDEX.astype(np.int64)}, "index: an int32 array"),
        ({"index": INDEX[0]}, "index: an int32 array"),
        ({"index": INDEX.tolist()}, "index: an int32 array"),
        ({"index": INDEX[:, :0]}, "at least one vote"),
        ({"index": INDEX - 1}, "index: -1 … 1 found, allowed are 0 … 2"),
        ({"candidates": 2}, "index: 0 … 2 found, allowed are 0 … 1"),
        ({"candidates": 0}, "candidates = 0"),
        ({"candidates": 2**31}, "candidates = 2147483648"),
        ({"users": 1}, "user: 0 … 1 found, allowed are 0 … 0"),
        ({"users": 0}, "users = 0: allowed are 1 … 2147483647"),
        ({"users": 2**31}, "users = 2147483648"),
        ({"users": 2.0}, "users = 2.0: a whole number"),
        ({"user": USER - 1}, "user: -1 … 0 found"),
        ({"user": USER * 1.0}, "user: integers"),
        ({"user": USER[:1]}, r"user: integers of shape \(2,\) are needed"),
        ({"clip": 0.0}, "clip = 0.0"),
        ({"clip": -1.0}, "clip = -1.0"),
        ({"clip": np.nan}, "clip = nan"),
        ({"clip": np.inf}, "clip = inf"),
        ({"clip": "1"}, "clip = '1'"),
    ],
)
def test_bad_input_is_refused(change, message):
    given = {"index": INDEX, "user": USER, "users": 2, "candidates": 3, "clip": 0.1}
    with pytest.raises(InputError, match=message):
        contributions(**(given | change))


@pytest.mark.parametrize("positions", [[3], [-1], [0.5], [[0]]])
def test_positions_outside_the_bank_are_refused(positions):
    rows = contributions(INDEX, USER, 2, 3, 0.1)
    with pytest.raises(InputError, match="positions"):
        inspected(rows, np.array(positions))
