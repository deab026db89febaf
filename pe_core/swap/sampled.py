"""Sampled error rates of the swap score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pe_core.errors import InputError
from pe_core.inclusion import plan
from pe_core.kernels import sampling
from pe_core.kernels import swap as kernels
from pe_core.mechanism import Mechanism
from pe_core.swap.score import Floats, SwapScore, checked_canary, checked_users, projections
from pe_core.threads import in_blocks
from pe_core.trials import Counts

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def error_counts(
    score: SwapScore,
    contributions: Floats | csr_array,
    first: Floats,
    second: Floats,
    mechanism: Mechanism,
    threshold: float,
    trials: int,
    seed: np.random.SeedSequence,
) -> Counts:
    """Sample releases with z eligible and with z′ eligible, and count those with s > threshold.

    A trial's background, noise and draw of participation serve both hypotheses. Equal arguments
    give equal counts for any number of threads.

    Args:
        score: s on the r inspected coordinates.
        contributions: (N, r) clipped contributions of the other users, dense or CSR float64.
        first: v of z, float64 (r,).
        second: v′ of z′, float64 (r,).
        mechanism: gives q, σ, C and N, which is the number of contributions.
        threshold: on s; may be infinite, not NaN.
        trials: ≥ 1, under each hypothesis.
        seed: of these trials alone.

    Returns:
        Counts: true positives with z eligible, false positives with z′ eligible.

    Raises:
        InputError: shapes that disagree, wrong dtypes, entries not finite, or no trial.

    Example:
        >>> from pe_core.background import Background
        >>> mechanism = Mechanism(0, 0.5, 1.0, 0.1, 1e-5)
        >>> z, other = np.array([0.1, 0.0]), np.array([0.0, 0.1])
        >>> score = SwapScore.fit(z, other, Background(np.zeros(2), 0.01 * np.eye(2)), mechanism)
        >>> seed = np.random.SeedSequence(1)
        >>> found = error_counts(score, np.zeros((0, 2)), z, other, mechanism, 0.0, 10_000, seed)
        >>> found.true_positives > 5_000 > found.false_positives
        True
    """
    if isinstance(trials, bool) or not isinstance(trials, (int, np.integer)) or trials < 1:
        raise InputError(f"trials = {trials!r}: a whole number of at least 1 is needed")
    if not isinstance(seed, np.random.SeedSequence):
        raise InputError(f"seed is {type(seed).__name__}: a numpy SeedSequence is needed")
    if np.isnan(threshold):
        raise InputError("threshold is NaN: a number is needed")
    rows = checked_users(contributions, score, mechanism)
    canaries = np.stack(
        [checked_canary("first", first, score), checked_canary("second", second, score)], axis=1
    )
    w = np.stack([score.first.weights, score.second.weights], axis=1)
    shifts = projections(rows, w)
    drawn = shifts[shifts.any(axis=1)]

    q = float(mechanism.participation)
    excluded = q > 0.5
    chosen = 1.0 - q if excluded else q
    if chosen == 0.0:
        drawn = drawn[:0]
    size, patterns = plan(max(len(drawn), 1), chosen)
    weights = np.zeros((2, -(-len(drawn) // size), size))
    weights.reshape(2, -1)[:, : len(drawn)] = -drawn.T if excluded else drawn.T
    # Tables draw the sum less its mean, skips the sum of those in, or those out.
    centre = q if patterns.bits and len(drawn) else float(excluded)
    offsets = np.array([score.first.offset, score.second.offset])
    swap = kernels.Swap(
        centre * shifts.sum(axis=0) - offsets,
        mechanism.noise_scale * _triangle(w),
        np.einsum("rk,rh->kh", w, canaries),
        q,
    )
    blocks = -(-trials // sampling.BLOCK)
    counts = np.zeros((blocks, 2), np.int64)
    key = seed.generate_state(1, np.uint64)[0]

    def count(own: slice) -> None:
        kernels.count_blocks(
            own.start, own.stop, counts, trials, threshold, weights, excluded, swap, patterns, key
        )

    in_blocks(blocks, lambda _: count)
    true_positives, false_positives = counts.sum(axis=0)
    return Counts(int(true_positives), int(false_positives), int(trials))


def _triangle(w: Floats) -> Floats:
    """The lower triangular square root of wᵀw, also where the two columns are parallel or zero."""
    one, other = w[:, 0], w[:, 1]
    length = float(np.linalg.norm(one))
    along = float(one @ other) / length if length > 0.0 else 0.0
    rest = other - one * (along / length) if length > 0.0 else other
    return np.array([[length, 0.0], [along, float(np.linalg.norm(rest))]])
