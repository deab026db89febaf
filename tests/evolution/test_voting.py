import numpy as np
import pytest
from scipy import sparse, stats

from pe_core import InputError, Mechanism, seeds
from pe_core.evolution import Release, publish

CLIP, SIGMA, Q = 0.1, 1.1088, 0.1
ROUNDS = 6000


def votes(users, p):
    rows = np.abs(seeds.generator(3, "votes").standard_normal((users, p)))
    return sparse.csr_array(CLIP * rows / np.linalg.norm(rows, axis=1, keepdims=True))


def releases(contributions, mechanism):
    return np.array(
        [
            publish(
                contributions,
                mechanism,
                seeds.generator(5, "participation", t),
                seeds.generator(5, "noise", t),
            ).histogram
            for t in range(ROUNDS)
        ]
    )


def test_noise_is_gaussian_with_the_declared_scale_and_independent():
    p = 3
    mechanism = Mechanism(0, Q, SIGMA, CLIP, 1e-5)
    noise = releases(sparse.csr_array((0, p)), mechanism) / (SIGMA * CLIP)
    assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-3
    # Between coordinates of one release, and between a round and the next.
    correlations = [*np.corrcoef(noise.T)[np.triu_indices(p, 1)]]
    correlations += [np.corrcoef(noise[:-1, j], noise[1:, j])[0, 1] for j in range(p)]
    assert np.abs(correlations).max() < 4 / np.sqrt(ROUNDS)


def test_users_are_sampled_independently_with_probability_q():
    users = 5
    # A user a coordinate, without noise: the histogram is the sample itself.
    each = sparse.csr_array(np.eye(users))
    sampled = releases(each, Mechanism(users, Q, 0.0, 1.0, 1e-5))
    assert set(np.unique(sampled)) == {0.0, 1.0}
    for user in range(users):
        assert stats.binomtest(int(sampled[:, user].sum()), ROUNDS, Q).pvalue > 1e-3
    sizes = np.bincount(sampled.sum(axis=1).astype(int), minlength=users + 1)[:4]
    expected = stats.binom.pmf(np.arange(4), users, Q)
    sizes[3], expected[3] = ROUNDS - sizes[:3].sum(), stats.binom.sf(2, users, Q)
    assert stats.chisquare(sizes, ROUNDS * expected).pvalue > 1e-3
    both = (sampled[:-1] * sampled[1:]).sum()
    assert stats.binomtest(int(both), users * (ROUNDS - 1), Q * Q).pvalue > 1e-3


def test_a_release_has_the_mean_and_covariance_of_the_mechanism():
    users, p = 40, 4
    contributions = votes(users, p)
    sampled = releases(contributions, Mechanism(users, Q, SIGMA, CLIP, 1e-5))
    dense = contributions.toarray()
    mean = Q * dense.sum(axis=0)
    covariance = Q * (1 - Q) * dense.T @ dense + (SIGMA * CLIP) ** 2 * np.eye(p)
    spread = np.sqrt(np.diag(covariance) / ROUNDS)
    assert (np.abs(sampled.mean(axis=0) - mean) < 4 * spread).all()
    found = np.cov(sampled.T)
    error = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / ROUNDS)
    assert (np.abs(found - covariance) < 4 * error).all()


def test_nobody_takes_part_and_everybody_does():
    contributions = votes(7, 5)
    draws = [
        publish(
            contributions,
            Mechanism(7, q, SIGMA, CLIP, 1e-5),
            seeds.generator(1, "participation"),
            seeds.generator(1, "noise"),
        ).histogram
        for q in (0.0, 1.0)
    ]
    noise = SIGMA * CLIP * seeds.generator(1, "noise").standard_normal(5)
    assert (draws[0] == noise).all()
    assert draws[1] == pytest.approx(noise + contributions.toarray().sum(axis=0), rel=1e-14)


def test_the_population_must_be_the_mechanisms():
    rng = np.random.default_rng(1)
    with pytest.raises(InputError, match="contributions have 3 users"):
        publish(votes(3, 2), Mechanism(4, Q, SIGMA, CLIP, 1e-5), rng, rng)


def test_a_release_cannot_be_changed_and_holds_finite_numbers():
    source = np.array([1.0, -2.0])
    release = Release(source)
    source[0] = 5.0
    assert release.histogram[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        release.histogram[0] = 3.0
    for wrong in (np.array([np.nan]), np.array([np.inf]), np.array([1]), np.ones((1, 1))):
        with pytest.raises(InputError, match="histogram: finite float64"):
            Release(wrong)
