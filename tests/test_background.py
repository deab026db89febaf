import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from pe_core import InputError, Mechanism
from pe_core.background import estimate
from tests.naive import background as naive

votes = st.floats(0, 0.1).map(lambda x: round(x, 3))


@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7), elements=votes),
    st.integers(0, 2000),
    st.floats(0, 1),
    st.floats(0, 1),
)
@settings(deadline=None, max_examples=150, derandomize=True)
def test_equals_the_definition_dense_and_sparse(rows, population, q, shrinkage):
    mechanism = Mechanism(population, q, 0.7, 0.2, 1e-5)
    mean, covariance = naive.estimate(rows.tolist(), population, q, 0.7 * 0.2, shrinkage, 1e-9)
    for given_as in (rows, csr_array(rows)):
        found = estimate(given_as, mechanism, shrinkage)
        np.testing.assert_allclose(found.mean, mean, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-12, atol=1e-15)
        assert np.array_equal(found.covariance, found.covariance.T)


def test_dense_and_sparse_agree_to_the_last_bit():
    rows = np.random.default_rng(1).random((40, 9)) * (
        np.random.default_rng(2).random((40, 9)) < 0.4
    )
    mechanism = Mechanism(1000, 0.1, 1.0, 0.1, 1e-5)
    dense, sparse = estimate(rows, mechanism), estimate(csr_array(rows), mechanism)
    assert np.array_equal(dense.covariance, sparse.covariance)
    assert np.array_equal(dense.mean, sparse.mean)


def test_unsorted_and_repeated_entries_of_a_sparse_matrix_are_one_entry():
    repeated = csr_array(
        (np.array([0.25, 0.5, 0.25]), np.array([1, 0, 1]), np.array([0, 3])), (1, 2)
    )
    mechanism = Mechanism(4, 0.5, 0.0, 1.0, 1e-5)
    found = estimate(repeated, mechanism, shrinkage=0.0, ridge=0.0)
    assert found.covariance.tolist() == [[0.25, 0.25], [0.25, 0.25]]
    assert repeated.nnz == 3, "the caller's matrix is left as it was"


def test_simulated_releases_have_the_mean_and_variance():
    # A population that is the auxiliary sample itself: without shrinkage the variance is exact.
    rng = np.random.default_rng(3)
    rows, q = rng.random((50, 3)) * 0.05, 0.3
    mechanism = Mechanism(50, q, 1.0, 0.1, 1e-5)
    background = estimate(rows, mechanism, shrinkage=0.0, ridge=0.0)
    trials = 200_000
    releases = (rng.random((trials, 50)) < q) @ rows + 0.1 * rng.standard_normal((trials, 3))
    error = np.sqrt(np.diag(background.covariance) / trials)
    assert (np.abs(releases.mean(axis=0) - background.mean) < 5 * error).all()
    sample = np.cov(releases.T)
    spread = np.sqrt((np.outer(np.diag(sample), np.diag(sample)) + sample**2) / trials)
    assert (np.abs(sample - background.covariance) < 5 * spread).all()


@pytest.mark.parametrize("nothing", [{"population": 0}, {"participation": 0.0}])
def test_without_traffic_only_the_noise_is_left(nothing):
    values = {"population": 10, "participation": 0.2, "noise_multiplier": 2.0, "clip": 0.1}
    background = estimate(np.array([[0.1, 0.05]]), Mechanism(**{**values, **nothing}, delta=1e-5))
    assert background.mean.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(background.covariance, np.eye(2) * (0.04 + 1e-9), rtol=1e-15)


def test_full_shrinkage_leaves_a_diagonal():
    covariance = estimate(np.full((3, 4), 0.1), Mechanism(9, 0.5, 1.0, 0.1, 0.0), 1.0).covariance
    assert np.array_equal(covariance, np.diag(np.diag(covariance)))


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (np.zeros((0, 3)), {}, "found 0"),
        (np.zeros(3), {}, "1 axes"),
        (np.zeros((2, 3), np.float32), {}, "float32: float64 is needed"),
        (np.array([[0.0], [np.nan]]), {}, "user 1 are not finite"),
        (csr_array(np.array([[0.0, 0.0], [0.0, np.inf]])), {}, "user 1 are not finite"),
        (np.zeros((2, 3)), {"shrinkage": 1.5}, "shrinkage = 1.5"),
        (np.zeros((2, 3)), {"shrinkage": np.nan}, "shrinkage = nan"),
        (np.zeros((2, 3)), {"ridge": -1.0}, "ridge = -1.0"),
    ],
)
def test_bad_input(rows, options, message):
    with pytest.raises(InputError, match=message):
        estimate(rows, Mechanism(10, 0.1, 1.0, 0.1, 1e-5), **options)
