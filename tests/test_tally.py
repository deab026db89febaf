import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from pe_core import InputError, Mechanism, background, best, exact
from pe_core.score import LinearScore
from pe_core.tally import merge, tally
from tests.naive import tally as plain


@st.composite
def votes(draw):
    """Few distinct values, so that rows repeat; rows and columns may be missing."""
    users, r = draw(st.integers(0, 12)), draw(st.integers(0, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return rng.choice([0.0, 0.0, 0.05, 0.1 / np.sqrt(3.0)], (users, r))


def same(one, other):
    return one.rows.tobytes() == other.rows.tobytes() and one.counts.tolist() == list(other.counts)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(votes())
def test_it_counts_what_one_by_one_counts(rows):
    counted = tally(csr_array(rows))
    found = list(zip(map(tuple, counted.rows.tolist()), counted.counts.tolist(), strict=True))
    assert found == plain.tally(rows)
    total, second = counted.moments()
    expected_total, expected_second = plain.moments(rows)
    np.testing.assert_allclose(total, expected_total, rtol=1e-13, atol=0)
    np.testing.assert_allclose(second, expected_second, rtol=1e-13, atol=0)
    assert np.array_equal(second, second.T)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(votes(), st.data())
def test_any_cut_and_any_order_add_up_to_the_same_bytes(rows, data):
    whole = tally(csr_array(rows))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    parts = [tally(csr_array(part)) for part in np.split(rows, cuts)]
    order = data.draw(st.permutations(range(len(parts))))
    assert same(merge(parts[i] for i in order), whole)
    shuffled = rows[data.draw(st.permutations(range(len(rows))))]
    assert same(tally(csr_array(shuffled)), whole)


def test_the_streamed_test_is_the_test_of_all_users():
    rng = np.random.default_rng(3)
    rows = rng.choice([0.0, 0.0, 0.0, 0.02, 0.05], (400, 4))
    mechanism = Mechanism(400, 0.1, 1.0, 0.1, 1e-5)
    v = np.array([0.08, 0.05, 0.02, 0.0])
    counted = merge(tally(csr_array(part)) for part in np.array_split(rows, 7))
    streamed = background.from_moments(*counted.moments(), counted.users, mechanism)
    model = background.estimate(rows, mechanism)
    np.testing.assert_allclose(streamed.mean, model.mean, rtol=1e-12)
    np.testing.assert_allclose(streamed.covariance, model.covariance, rtol=1e-12)
    score = LinearScore.fit(v, model, mechanism)
    whole = exact.linear_test(score, rows, v, mechanism)
    few = exact.linear_test(score, counted.rows, v, mechanism, counted.counts)
    assert best.best_epsilon(few, 1e-5).epsilon == pytest.approx(
        best.best_epsilon(whole, 1e-5).epsilon, rel=1e-8
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tally(np.zeros((2, 2))), "a csr_array"),
        (lambda: tally(csr_array(np.zeros((2, 2), np.float32))), "finite float64"),
        (lambda: tally(csr_array(np.array([[np.nan]]))), "finite float64"),
        (lambda: merge([]), "at least one"),
        (
            lambda: merge([tally(csr_array(np.eye(2))), tally(csr_array(np.eye(3)))]),
            "2 and 3 coordinates",
        ),
        (
            lambda: background.from_moments(
                np.zeros(2), np.zeros((2, 3)), 1, Mechanism(1, 0.1, 1.0, 0.1, 1e-5)
            ),
            "shapes",
        ),
        (
            lambda: exact.linear_test(
                LinearScore(np.zeros(1), 0.0, 0.0),
                np.zeros((2, 1)),
                np.zeros(1),
                Mechanism(3, 0.1, 1.0, 0.1, 1e-5),
                np.array([1, 1]),
            ),
            "of 2 users",
        ),
        (
            lambda: exact.linear_test(
                LinearScore(np.zeros(1), 0.0, 0.0),
                np.zeros((2, 1)),
                np.zeros(1),
                Mechanism(3, 0.1, 1.0, 0.1, 1e-5),
                np.array([3]),
            ),
            "counts are",
        ),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises(InputError, match=words):
        call()
