"""The gap account: every step against the one number that it stands for."""

import numpy as np
import pytest

from pe_core import Mechanism
from pe_core.background import Background, estimate
from pe_core.best import best_epsilon, ideal_test
from pe_core.errors import InputError
from pe_core.exact import linear_test
from pe_core.ladder import STEPS, best_weights, ladder
from pe_core.score import LinearScore
from pe_core.threshold import best_expected, calibrate

MECHANISM = Mechanism(200, 0.1, 1.0, 0.1, 1e-5)
TAIL = 0.0025


def users(seed: int, n: int, r: int = 5) -> np.ndarray:
    raw = np.random.default_rng(seed).exponential(size=(n, r)) * 0.02
    return raw * np.minimum(1.0, 0.1 / np.linalg.norm(raw, axis=1, keepdims=True))


def account(canary: np.ndarray, contributions: np.ndarray, auxiliary: np.ndarray):
    score = LinearScore.fit(canary, estimate(auxiliary, MECHANISM), MECHANISM)
    threshold = calibrate(score, users(3, 50), canary, MECHANISM, 10**6, TAIL)
    return ladder(score, contributions, canary, MECHANISM, threshold, 10**6, TAIL, 0.123)


def test_every_step_removes_what_its_name_says() -> None:
    canary = np.array([0.06, 0.0, 0.05, 0.0, 0.01])
    steps = account(canary, users(1, 200), users(2, 60))
    assert [step.name for step in steps] == list(STEPS)
    values = {step.name: step.epsilon for step in steps}
    assert values["mechanism"] == pytest.approx(1.6845438, abs=1e-7)
    shrunk = 0.1 / float(np.linalg.norm(canary))
    alone = best_epsilon(ideal_test(Mechanism(0, 0.1, shrunk, 0.1, 1e-5)), 1e-5)
    assert values["canary"] == pytest.approx(alone.epsilon, abs=1e-6)
    # The account is complete: the changes add up to the whole gap.
    total = steps[0].epsilon + sum(step.change for step in steps)
    assert total == pytest.approx(values["realised"], abs=1e-12)
    assert values["realised"] == 0.123
    assert values["canary"] > values["traffic"]
    assert values["estimated weights"] >= values["calibrated threshold"] > values["expected"]


def test_without_idealisations_only_sampling_is_left() -> None:
    canary = np.array([0.1, 0.0, 0.0, 0.0, 0.0])
    nobody = np.zeros((200, 5))
    score = LinearScore.fit(canary, Background(np.zeros(5), np.eye(5) * 0.01), MECHANISM)
    ideal = ideal_test(MECHANISM)
    threshold, expected = best_expected(ideal, 10**6, 1e-5, TAIL)
    steps = ladder(score, nobody, canary, MECHANISM, threshold, 10**6, TAIL, 1.0, 1.6845438)
    values = {step.name: step.epsilon for step in steps}
    for name in ("mechanism", "canary", "traffic", "estimated weights"):
        assert values[name] == pytest.approx(1.6845438, abs=1e-6)
    assert values["expected"] == pytest.approx(expected, abs=1e-6)


def test_the_best_weights_have_the_largest_separation() -> None:
    contributions, canary = users(4, 200), np.array([0.05, 0.05, 0.0, 0.03, 0.0])
    best = best_weights(contributions, canary, MECHANISM)
    covariance = 0.09 * contributions.T @ contributions + 0.01 * np.eye(5)

    def separation(weights: np.ndarray) -> float:
        return float(weights @ canary / np.sqrt(weights @ covariance @ weights))

    assert best.separation == pytest.approx(separation(best.weights), rel=1e-12)
    rng = np.random.default_rng(5)
    others = [separation(best.weights + rng.normal(size=5)) for _ in range(50)]
    assert max(others) <= best.separation * (1.0 + 1e-12)
    # The separation is that of the exact sum: shift over standard deviation.
    test = linear_test(best, contributions, canary, MECHANISM)
    assert test.canary_shift / (test.noise * test.sum.upper.deviation) == pytest.approx(
        best.separation, rel=1e-9
    )


def test_bad_input_says_what_is_allowed() -> None:
    with pytest.raises(InputError, match="noise_multiplier = 0"):
        best_weights(np.zeros((1, 2)), np.zeros(2), Mechanism(1, 0.1, 0.0, 0.1, 1e-5))
    with pytest.raises(InputError, match=r"\(N, r\)"):
        best_weights(np.zeros((1, 3)), np.zeros(2), MECHANISM)
