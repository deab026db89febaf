"""Sampled error rates: how often the score of a simulated release exceeds a threshold.

ℓ is linear in the release, so one release is one number: ℓ = Σ I_u s_u + τZ − offset, with
s_u = w·c_u, τ = σC‖w‖ and independent I_u ~ Bernoulli(q), and + w·v where the canary takes part,
which under H1 it does with probability q.

Each trial's background, Σ I_u s_u + τZ, serves both hypotheses. The two counts are therefore
dependent; a bound on ε combines a bound on each rate by a union bound, which needs no independence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pe_core.errors import InputError
from pe_core.inclusion import plan
from pe_core.kernels import sampling
from pe_core.mechanism import Mechanism
from pe_core.score import LinearScore
from pe_core.threads import in_blocks

if TYPE_CHECKING:
    # Imported for the type only: it takes a third of the core's start-up.
    from scipy.sparse import csr_array


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
    """`Counts` at several thresholds: int64 arrays, one count a threshold."""

    true_positives: NDArray[np.int64]
    false_positives: NDArray[np.int64]
    trials: int


def error_counts(
    score: LinearScore,
    contributions: NDArray[np.float64] | csr_array,
    canary: NDArray[np.float64],
    mechanism: Mechanism,
    threshold: float,
    trials: int,
    seed: np.random.SeedSequence,
) -> Counts:
    """Sample releases with and without the canary, and count those with ℓ > threshold.

    The background draws of both hypotheses are shared (see the module). Equal arguments give equal
    counts for any number of threads: trials stand in fixed blocks with random streams of their own.

    Args:
        score: ℓ on the r inspected coordinates.
        contributions: (N, r) clipped contributions of the eligible users, dense or CSR float64.
        canary: v, float64 (r,).
        mechanism: gives q, σ, C and N, which is the number of contributions.
        threshold: on ℓ, not on ℓ_mix; may be infinite.
        trials: ≥ 1, under each hypothesis.
        seed: of these trials alone.

    Returns:
        The counts.

    Raises:
        InputError: shapes that disagree, wrong dtypes, entries not finite, or no trial.

    Example:
        >>> import numpy as np
        >>> mechanism = Mechanism(2, 0.5, 1.0, 0.1, 1e-5)
        >>> score = LinearScore(np.array([10.0]), 0.5, 1.0)
        >>> users, canary = np.array([[0.05], [0.1]]), np.array([0.1])
        >>> seed = np.random.SeedSequence(1)
        >>> counts = error_counts(score, users, canary, mechanism, 2.0, 10_000, seed)
        >>> 0 < counts.false_positives < counts.true_positives < counts.trials
        True
    """
    counts = error_counts_at(score, contributions, canary, mechanism, [threshold], trials, seed)
    return Counts(int(counts.true_positives[0]), int(counts.false_positives[0]), trials)


def error_counts_at(
    score: LinearScore,
    contributions: NDArray[np.float64] | csr_array,
    canary: NDArray[np.float64],
    mechanism: Mechanism,
    thresholds: ArrayLike,
    trials: int,
    seed: np.random.SeedSequence,
) -> ThresholdCounts:
    """`error_counts` at several thresholds, all from the same trials.

    Args:
        thresholds: numbers (t,), in any order, without NaN; the others as in `error_counts`.

    Returns:
        Counts (t,) in the order of the thresholds.

    Raises:
        InputError: as `error_counts`.

    Example:
        >>> import numpy as np
        >>> mechanism = Mechanism(0, 0.5, 1.0, 0.1, 1e-5)
        >>> score = LinearScore(np.array([10.0]), 0.5, 1.0)
        >>> seed = np.random.SeedSequence(1)
        >>> counts = error_counts_at(
        ...     score, np.zeros((0, 1)), np.array([0.1]), mechanism, [9.0, -9.0], 100, seed
        ... )
        >>> counts.false_positives, counts.true_positives
        (array([  0, 100]), array([  0, 100]))
    """
    limits = np.asarray(thresholds, dtype=np.float64)
    if limits.ndim != 1 or np.isnan(limits).any():
        raise InputError(f"thresholds of shape {limits.shape}: a vector without NaN is needed")
    prepared = _prepare(score, contributions, canary, mechanism, trials, seed)
    order = np.argsort(limits, kind="stable")
    blocks = -(-trials // sampling.BLOCK)
    absent, present = np.empty((2, blocks, limits.shape[0]), np.int64)
    ascending = limits[order]

    def count(own: slice) -> None:
        sampling.count_blocks(own.start, own.stop, absent, present, trials, ascending, *prepared)

    in_blocks(blocks, lambda _: count)
    true_positives, false_positives = np.empty((2, limits.shape[0]), np.int64)
    true_positives[order] = present.sum(axis=0)
    false_positives[order] = absent.sum(axis=0)
    return ThresholdCounts(true_positives, false_positives, trials)


def scores(
    score: LinearScore,
    contributions: NDArray[np.float64] | csr_array,
    canary: NDArray[np.float64],
    mechanism: Mechanism,
    trials: int,
    seed: np.random.SeedSequence,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sample ℓ itself: the very trials that `error_counts` counts for equal arguments.

    Returns:
        ℓ with the canary absent and with the canary eligible, float64 (trials,) each, 16 bytes a
        trial in all. Entry t of both shares one background.

    Raises:
        InputError: as `error_counts`.

    Example:
        >>> import numpy as np
        >>> mechanism = Mechanism(0, 1.0, 1.0, 0.1, 1e-5)
        >>> score = LinearScore(np.array([10.0]), 0.5, 1.0)
        >>> seed = np.random.SeedSequence(1)
        >>> absent, present = scores(score, np.zeros((0, 1)), np.array([0.1]), mechanism, 3, seed)
        >>> (present - absent).round(12)
        array([1., 1., 1.])
    """
    prepared = _prepare(score, contributions, canary, mechanism, trials, seed)
    absent, present = np.empty((2, -(-trials // 8) * 8))

    def draw(own: slice) -> None:
        sampling.score_blocks(own.start, own.stop, absent, present, *prepared)

    in_blocks(-(-trials // sampling.BLOCK), lambda _: draw)
    return absent[:trials], present[:trials]


def _prepare(
    score: LinearScore,
    contributions: NDArray[np.float64] | csr_array,
    canary: NDArray[np.float64],
    mechanism: Mechanism,
    trials: int,
    seed: np.random.SeedSequence,
) -> tuple[NDArray[np.float64], bool, sampling.Trial, sampling.Patterns, np.uint64]:
    """Check the input and reduce it to the kernels' arguments: one weight a user, and constants."""
    if isinstance(trials, bool) or not isinstance(trials, (int, np.integer)) or trials < 1:
        raise InputError(f"trials = {trials!r}: a whole number of at least 1 is needed")
    if not isinstance(seed, np.random.SeedSequence):
        raise InputError(f"seed is {type(seed).__name__}: a numpy SeedSequence is needed")
    r = score.weights.shape[0]
    sparse = hasattr(contributions, "tocsr")
    rows: Any = contributions if sparse else np.asarray(contributions)
    if rows.ndim != 2 or rows.shape[1] != r or rows.dtype != np.float64:
        raise InputError(
            f"contributions are {rows.dtype} of shape {rows.shape}: float64 of shape (users, {r}) "
            "is needed"
        )
    if rows.shape[0] != mechanism.population:
        raise InputError(
            f"contributions have {rows.shape[0]} users, the mechanism a population of "
            f"{mechanism.population}: they must agree"
        )
    v = np.asarray(canary)
    if v.shape != (r,) or v.dtype != np.float64:
        raise InputError(
            f"canary is {v.dtype} of shape {v.shape}: float64 of shape ({r},) is needed"
        )
    # Neither product is BLAS's, whose sums depend on its threads.
    shift = rows @ score.weights if sparse else np.einsum("ur,r->u", rows, score.weights)
    for name, array in (("contributions", shift), ("canary", v), ("the score", score.weights)):
        if not np.isfinite(array).all():
            raise InputError(f"{name}: not finite at {int(np.argmin(np.isfinite(array)))}")

    q = mechanism.participation
    excluded = q > 0.5
    chosen = 1.0 - q if excluded else q
    total = math.fsum(shift)
    # Users without weight change nothing, and with q of 0 or 1 nobody is drawn.
    drawn = shift[shift != 0.0] if chosen > 0.0 else np.zeros(0)
    size, patterns = plan(max(drawn.size, 1), chosen)
    weights = np.zeros((-(-drawn.size // size), size))
    weights.reshape(-1)[: drawn.size] = -drawn if excluded else drawn
    # Tables draw the sum less its mean, skips the sum of those in, or those out.
    centre = q if patterns.bits and drawn.size else float(excluded)
    return (
        weights,
        excluded,
        sampling.Trial(
            centre * total - score.offset,
            mechanism.noise_scale * float(np.linalg.norm(score.weights)),
            float(score.weights @ v),
            q,
        ),
        patterns,
        seed.generate_state(1, np.uint64)[0],
    )
