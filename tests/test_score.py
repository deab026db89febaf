import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_core import InputError, Mechanism
from pe_core.background import Background
from pe_core.score import LinearScore, mixture

MECHANISM = Mechanism(100, 0.1, 1.0, 0.1, 1e-5)


def log_density(y, mean, covariance):
    gap = mpmath.matrix((y - mean).tolist())
    return -(gap.T * mpmath.lu_solve(mpmath.matrix(covariance.tolist()), gap))[0] / 2


@given(st.integers(1, 6), st.integers(0, 2**32))
@settings(deadline=None, max_examples=60, derandomize=True)
def test_is_the_log_likelihood_ratio_of_the_two_gaussians(r, seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((r, r))
    background = Background(rng.random(r), root @ root.T + 0.1 * np.eye(r))
    v = rng.random(r)
    v *= 0.1 / np.linalg.norm(v)
    score = LinearScore.fit(v, background, MECHANISM)
    for _ in range(3):
        y = rng.standard_normal(r)
        ratio = log_density(y, background.mean + v, background.covariance) - log_density(
            y, background.mean, background.covariance
        )
        assert score.weights @ y - score.offset == pytest.approx(float(ratio), rel=1e-9, abs=1e-12)
    # The two Gaussians lie μ_eff standard deviations of ℓ apart.
    assert score.weights @ v == pytest.approx(score.separation**2, rel=1e-9)
    spread = score.weights @ background.covariance @ score.weights
    assert spread == pytest.approx(score.separation**2, rel=1e-9)


def test_white_background_gives_norm_over_noise():
    v = np.array([0.06, 0.08])
    score = LinearScore.fit(v, Background(np.zeros(2), 0.01 * np.eye(2)), MECHANISM)
    assert score.separation == pytest.approx(1.0, rel=1e-14)


def test_a_canary_without_votes_scores_zero():
    for v in (np.zeros(3), np.zeros(0)):
        r = v.size
        score = LinearScore.fit(v, Background(np.ones(r), np.eye(r)), MECHANISM)
        assert (score.weights.tolist(), score.offset, score.separation) == ([0.0] * r, 0.0, 0.0)


@pytest.mark.parametrize(
    ("v", "mean", "covariance", "message"),
    [
        (np.zeros((2, 2)), np.zeros(2), np.eye(2), "one axis"),
        (np.zeros(2, np.float32), np.zeros(2), np.eye(2), "float32"),
        (np.zeros(2), np.zeros(3), np.eye(3), "must agree"),
        (np.zeros(2), np.zeros(2), np.eye(3), "must agree"),
        (np.array([np.nan, 0.0]), np.zeros(2), np.eye(2), "not finite"),
        (np.array([0.1, 0.1]), np.zeros(2), np.eye(2), "at most clip"),
        (np.zeros(2), np.array([0.0, np.inf]), np.eye(2), "background is not finite"),
        (np.zeros(2), np.zeros(2), np.array([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
    ],
)
def test_bad_input(v, mean, covariance, message):
    with pytest.raises(InputError, match=message):
        LinearScore.fit(v, Background(mean, covariance), MECHANISM)


@given(
    st.one_of(st.floats(-2000, 2000), st.floats(-1e-6, 1e-6)),
    st.one_of(st.floats(0, 1), st.floats(1e-12, 1e-5), st.floats(0, 1e-9).map(lambda x: 1 - x)),
)
@settings(deadline=None, max_examples=400, derandomize=True)
def test_mixture_is_accurate(ell, q):
    with mpmath.workdps(950):
        exact = mpmath.log((1 - mpmath.mpf(q)) + mpmath.mpf(q) * mpmath.exp(mpmath.mpf(ell)))
    # A last-place change of q or ℓ moves the answer by these amounts, which no formula can undo.
    with mpmath.workdps(950):
        density = (1 - mpmath.mpf(q)) + mpmath.mpf(q) * mpmath.exp(mpmath.mpf(ell))
        slope = abs(mpmath.mpf(q) * mpmath.exp(mpmath.mpf(ell)) / density * ell)
    allowed = 8 * 2.0**-52 * float(max(abs(exact), slope)) + 1e-300
    assert abs(float(mixture(ell, q)) - float(exact)) <= allowed


def test_mixture_at_the_ends():
    ell = np.array([-1e300, -1.0, 0.0, 1.0, 1e300])
    assert mixture(ell, 1.0).tolist() == ell.tolist()
    assert mixture(ell, 0.0).tolist() == [0.0] * 5
    assert (np.diff(mixture(np.linspace(-50, 50, 1001), 0.1)) >= 0.0).all()
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(InputError, match="participation"):
            mixture(ell, bad)
    with pytest.raises(InputError, match="not finite"):
        mixture(np.array([np.nan]), 0.5)
