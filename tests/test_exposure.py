"""Everyone as the canary: against the same evaluation written out for one user."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from pe_core import Mechanism
from pe_core.background import estimate
from pe_core.best import best_epsilon
from pe_core.errors import InputError
from pe_core.exact import linear_test
from pe_core.exposure import everyone, exposure, share_above
from pe_core.score import LinearScore

MECHANISM = Mechanism(30, 0.1, 1.0, 0.1, 1e-5)


def cohort(seed: int, n: int) -> csr_array:
    rng = np.random.default_rng(seed)
    votes = rng.poisson(0.4, size=(n, 25)) / 40.0
    norms = np.maximum(np.linalg.norm(votes, axis=1, keepdims=True), 1e-9)
    return csr_array(votes * np.minimum(1.0, 0.1 / norms))


def test_every_user_is_left_out_of_their_own_population() -> None:
    auxiliary, users = cohort(1, 40), cohort(2, 12)
    found = list(everyone(auxiliary, users, MECHANISM))
    dense = users.toarray()
    others = Mechanism(11, 0.1, 1.0, 0.1, 1e-5)
    for user in (0, 5, 11):
        at = np.flatnonzero(dense[user])
        canary = dense[user, at]
        background = estimate(auxiliary.toarray()[:, at], others)
        score = LinearScore.fit(canary, background, others)
        rest = np.delete(dense, user, axis=0)[:, at]
        expected = best_epsilon(linear_test(score, rest, canary, others), 1e-5).epsilon
        assert found[user].epsilon == pytest.approx(expected, abs=1e-9)
        assert found[user].inspected == at.size
        assert found[user].norm == pytest.approx(float(np.linalg.norm(canary)))


def test_the_order_of_users_does_not_matter() -> None:
    auxiliary, users = cohort(3, 40), cohort(4, 9)
    found = [user.epsilon for user in everyone(auxiliary, users, MECHANISM)]
    turned = [user.epsilon for user in everyone(auxiliary, users[::-1], MECHANISM)]
    np.testing.assert_allclose(found, turned[::-1], atol=1e-9)


def test_nobody_exceeds_the_mechanism() -> None:
    for user in everyone(cohort(5, 40), cohort(6, 9), MECHANISM):
        assert 0.0 < user.epsilon < 1.6845439


def test_a_user_without_votes_is_not_exposed() -> None:
    users = csr_array(np.array([[0.0, 0.0], [0.1, 0.0]]))
    silent, alone = everyone(users, users, MECHANISM)
    assert silent.epsilon == 0.0
    assert silent.inspected == 0
    assert alone.epsilon > 0.0
    assert exposure(np.zeros(2), np.zeros((2, 2)), np.zeros((3, 2)), MECHANISM).epsilon == 0.0


def test_shares() -> None:
    assert share_above([1.0, 2.0, 3.0, 4.0], [0.0, 2.0, 4.0]).tolist() == [1.0, 0.5, 0.0]
    with pytest.raises(InputError, match="at least one user"):
        share_above([], [1.0])


def test_banks_that_differ() -> None:
    with pytest.raises(InputError, match="must agree"):
        next(iter(everyone(csr_array((2, 3)), csr_array((2, 4)), MECHANISM)))
