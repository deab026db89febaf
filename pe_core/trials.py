"""Sampled error rates: how often the score of a simulated release exceeds a threshold."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from pe_core.errors import InputError
from pe_core.mechanism import Mechanism
from pe_core.score import LinearScore

Contributions = NDArray[np.float64] | csr_array

# Trials of one random stream. The counts depend on this number, and on no other setting.
BLOCK = 32768


@dataclass(frozen=True)
class Counts:
    """Trials whose score exceeded the threshold.

    Attributes:
        true_positives: of the trials with the canary eligible (H1).
        false_positives: of the trials with the canary absent (H0).
        trials: number of trials under each hypothesis.
    """

    true_positives: int
    false_positives: int
    trials: int


@dataclass(frozen=True, eq=False)
class ThresholdCounts:
    """`Counts` at several thresholds: int64 arrays of the thresholds' shape."""

    true_positives: NDArray[np.int64]
    false_positives: NDArray[np.int64]
    trials: int


def error_counts(
    score: LinearScore,
    contributions: Contributions,
    canary: NDArray[np.float64],
    mechanism: Mechanism,
    threshold: float,
    trials: int,
    seed: np.random.SeedSequence,
) -> Counts:
    """Count the trials with ℓ > threshold under both hypotheses."""
    counts = error_counts_at(score, contributions, canary, mechanism, [threshold], trials, seed)
    return Counts(int(counts.true_positives[0]), int(counts.false_positives[0]), trials)


def error_counts_at(
    score: LinearScore,
    contributions: Contributions,
    canary: NDArray[np.float64],
    mechanism: Mechanism,
    thresholds: ArrayLike,
    trials: int,
    seed: np.random.SeedSequence,
) -> ThresholdCounts:
    """`error_counts` at several thresholds from the same trials."""
    absent, present = scores(score, contributions, canary, mechanism, trials, seed)
    t = np.asarray(thresholds, dtype=np.float64)
    return ThresholdCounts(
        trials - np.searchsorted(np.sort(present), t, side="right"),
        trials - np.searchsorted(np.sort(absent), t, side="right"),
        trials,
    )


def scores(
    score: LinearScore,
    contributions: Contributions,
    canary: NDArray[np.float64],
    mechanism: Mechanism,
    trials: int,
    seed: np.random.SeedSequence,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sample ℓ: (absent (trials,), present (trials,)), float64."""
    shift = np.asarray(contributions @ score.weights)
    if shift.shape[0] != mechanism.population:
        raise InputError(
            f"contributions have {shift.shape[0]} users: the mechanism's population is "
            f"{mechanism.population}"
        )
    q = mechanism.participation
    tau = mechanism.noise_scale * float(np.linalg.norm(score.weights))
    absent = np.empty(trials)
    taking_part = np.empty(trials, np.bool_)
    for block, child in enumerate(seed.spawn(-(-trials // BLOCK))):
        rng = np.random.default_rng(child)
        for start in range(block * BLOCK, min(trials, (block + 1) * BLOCK), 4096):
            n = min(4096, trials - start)
            absent[start : start + n] = (rng.random((n, shift.shape[0])) < q) @ shift
            absent[start : start + n] += tau * rng.standard_normal(n) - score.offset
            taking_part[start : start + n] = rng.random(n) < q
    return absent, absent + taking_part * float(score.weights @ canary)
