"""Trials of a linear score: Poisson-sampled sums of user weights, plus noise, against thresholds.

A trial's sum Σ I_u s_u is drawn in one of two ways, both exact in distribution to float64.

Tables. Users stand in groups of b. One group's inclusion pattern is drawn by a table of 2^w cells
in which a pattern of probability p holds ⌊p·2^w⌋ cells (Marsaglia's condensed table); the table
stores the patterns' sums of weights, so a draw is w random bits and one lookup. The cells left
over are escapes, drawn from what the rounding down left: first the number of users that take part,
then a pattern of that size, uniformly. All groups share the patterns, since all share q.

Skips. For small q, the runs of users who stay out are drawn, one geometric number a participant.

Trials come in blocks of `BLOCK`, each with streams of its own; the answer depends on nothing else.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pe_core.kernels.random import fill, normal, philox, uniform, word

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

BLOCK = 65536
FIELDS = 4  # table draws a word, 16 bits each

# Lanes of a block's streams: four for the trials, then three a group of users.
_NOISE, _NOISE_MORE, _CANARY, _SKIPS, _GROUPS = 0, 1, 2, 3, 4


class Patterns(NamedTuple):
    """How a group of b users is drawn; without table bits, users are drawn by skips.

    Attributes:
        bits: w, table draws read w bits, at most 15; or 0.
        parent, member: (P,), the listed patterns in order of size, each as an earlier one and one
            more member; pattern 0 is empty.
        first_cell: (T + 1,), where the cells of the first T ≤ P patterns start, and the escapes.
        first_pattern: (L + 1,), where the patterns of each listed size 0..L−1 start.
        escape_below: (b + 1,), probability that an escape has at most this many participants.
    """

    bits: int
    parent: Ints
    member: Ints
    first_cell: Ints
    first_pattern: Ints
    escape_below: Floats


@njit(cache=True)
def pattern_sums(weights: Floats, parent: Ints, member: Ints, mean: float, sums: Floats) -> None:
    """Sums of weights of the listed patterns, each its parent's and one member's, less the mean.

    Centred, a trial's running total stays small, and so does its rounding error.
    """
    sums[0] = -mean
    for p in range(1, parent.shape[0]):
        sums[p] = sums[parent[p]] + weights[member[p]]


@njit(cache=True)
def fill_table(sums: Floats, first_cell: Ints, table: Floats) -> None:
    """Give pattern p the cells from `first_cell[p]` up to the next; the rest are escapes, zero."""
    for p in range(first_cell.shape[0] - 1):
        for x in range(first_cell[p], first_cell[p + 1]):
            table[x] = sums[p]
    table[first_cell[-1] :] = 0.0


@njit(cache=True)
def add_table_draws(total: Floats, words: Words, table: Floats, used: int, escaped: Ints) -> int:
    """Add a table draw to every trial; list the words that hold an escape, return how many.

    Trial 4i + f reads the low w bits of the f-th 16 bits of word i.
    """
    size = np.uint64(table.shape[0])
    mask, lanes = size - np.uint64(1), np.uint64(0x0001000100010001)
    # x ≥ used in a field iff x + (size − used) carries into bit w, which the mask left free.
    masks, gaps, carries = mask * lanes, (size - np.uint64(used)) * lanes, size * lanes
    n = np.int64(0)
    for i in range(words.shape[0]):
        x = words[i] & masks
        escaped[n] = i
        n += np.int64(((x + gaps) & carries) != np.uint64(0))
        total[4 * i] += table[np.int64(x & mask)]
        total[4 * i + 1] += table[np.int64((x >> np.uint64(16)) & mask)]
        total[4 * i + 2] += table[np.int64((x >> np.uint64(32)) & mask)]
        total[4 * i + 3] += table[np.int64(x >> np.uint64(48))]
    return int(n)


@njit(cache=True)
def escaped_trials(words: Words, escaped: Ints, size: int, used: int, trial: Ints) -> int:
    """List the trials whose own field is an escape, and return how many."""
    mask = np.uint64(size - 1)
    n = np.int64(0)
    for e in range(escaped.shape[0]):
        x = words[escaped[e]]
        for f in range(FIELDS):
            trial[n] = FIELDS * escaped[e] + f
            n += np.int64(np.int64((x >> np.uint64(16 * f)) & mask) >= used)
    return int(n)


@njit(cache=True)
def uniform_subset_sum(
    weights: Floats, taking_part: int, key: np.uint64, lane: int, block: int, index: int
) -> float:
    """Sum over a uniform subset of the given size (Floyd's method), counters from 64·index on."""
    n, chosen, total = weights.shape[0], np.uint64(0), 0.0
    for j in range(n - taking_part, n):
        pick = np.int64(uniform(word(key, lane, block, 64 * index + j)) * (j + 1))
        if chosen >> np.uint64(pick) & np.uint64(1):
            pick = np.int64(j)
        chosen |= np.uint64(1) << np.uint64(pick)
        total += weights[pick]
    return total


@njit(cache=True)
def add_tables(
    total: Floats,
    weights: Floats,
    participation: float,
    patterns: Patterns,
    key: np.uint64,
    block: int,
) -> None:
    """Add Σ (I_u − q)·weights_u to every trial of a block.

    Args:
        total: (trials,), a multiple of 8 of them.
        weights: (groups, b), the last group filled up with zeros.
    """
    groups, b = weights.shape
    trials = total.shape[0]
    first_pattern, escape_below = patterns.first_pattern, patterns.escape_below
    listed_sizes, used = first_pattern.shape[0] - 1, patterns.first_cell[-1]
    words = np.empty(trials // FIELDS, np.uint64)
    more = np.empty(trials + 1, np.uint64)
    escaped = np.empty(trials // FIELDS + 1, np.int64)
    trial = np.empty(trials + 1, np.int64)
    sums = np.empty(patterns.parent.shape[0])
    table = np.empty(1 << patterns.bits)
    for g in range(groups):
        mean = 0.0
        for u in range(b):
            mean += participation * weights[g, u]
        pattern_sums(weights[g], patterns.parent, patterns.member, mean, sums)
        fill_table(sums, patterns.first_cell, table)
        lane = _GROUPS + 3 * g
        fill(words, key, lane, block)
        n = add_table_draws(total, words, table, used, escaped)
        escapes = escaped_trials(words, escaped[:n], table.shape[0], used, trial)
        fill(more[: escapes + escapes % 2], key, lane + 1, block)
        for e in range(escapes):
            draw = uniform(more[e])
            size = 0
            while draw >= escape_below[size]:
                size += 1
            if size < listed_sizes:
                low = escape_below[size - 1] if size > 0 else 0.0
                alike = first_pattern[size + 1] - first_pattern[size]
                place = np.int64((draw - low) / (escape_below[size] - low) * alike)
                total[trial[e]] += sums[first_pattern[size] + min(place, alike - 1)]
            else:
                total[trial[e]] += (
                    uniform_subset_sum(weights[g], size, key, lane + 2, block, trial[e]) - mean
                )


@njit(cache=True)
def add_skips(
    total: Floats, weights: Floats, participation: float, key: np.uint64, block: int
) -> None:
    """Add Σ I_u·weights_u to every trial: user after user, the gaps between trials are geometric.

    One counter serves two gaps, so up to 2³³ participants a block stay within the stream.
    """
    trials = total.shape[0]
    remaining = float(trials) * weights.shape[0]
    scale = 1.0 / math.log1p(-participation)
    x1, x2, x3 = np.uint64(_SKIPS), np.uint64(block) & np.uint64(0xFFFFFFFF), np.uint64(block >> 32)
    cell, index = np.int64(-1), np.uint64(0)
    while True:
        for half in philox(index, x1, x2, x3, key):
            # A float: for tiny q a gap does not fit an integer, or is not a number.
            gap = np.floor(math.log(1.0 - uniform(half)) * scale)
            if not gap < remaining:
                return
            cell += np.int64(gap) + 1
            remaining -= gap + 1.0
            total[cell % trials] += weights[cell // trials]
        index += np.uint64(1)


class Trial(NamedTuple):
    """Constants of every trial: ℓ = base + Σ (…) + noise·Z, and + canary where it takes part."""

    base: float
    noise: float
    canary: float
    participation: float


@njit(cache=True)
def block_scores(
    absent: Floats,
    present: Floats,
    weights: Floats,
    excluded: bool,
    trial: Trial,
    patterns: Patterns,
    key: np.uint64,
    block: int,
) -> None:
    """Draw ℓ of a block's trials without and with the canary, from the same background.

    Args:
        absent, present: (trials,), a multiple of 8 of them, written.
        weights: (groups, b) for tables, (users, 1) for skips.
        excluded: the draw is of who stays out, with probability 1 − q, and weights are negated.
    """
    trials = absent.shape[0]
    q = trial.participation
    chosen = 1.0 - q if excluded else q
    absent[:] = 0.0
    if patterns.bits > 0:
        add_tables(absent, weights, chosen, patterns, key, block)
    elif weights.shape[0] > 0:
        add_skips(absent, weights.reshape(-1), chosen, key, block)
    words = np.empty(trials, np.uint64)
    fill(words, key, _NOISE, block)
    for i in range(trials):
        absent[i] += trial.base + trial.noise * normal(words[i], key, _NOISE_MORE, block, i)
    fill(words, key, _CANARY, block)
    for i in range(trials):
        present[i] = absent[i] + (trial.canary if uniform(words[i]) < q else 0.0)


@njit(cache=True)
def count_above(scores: Floats, thresholds: Floats, counts: Ints) -> None:
    """Set counts (t,) to the number of scores above each of the ascending thresholds."""
    counts[:] = 0
    for i in range(scores.shape[0]):
        low, high = 0, thresholds.shape[0]
        while low < high:
            middle = (low + high) // 2
            if scores[i] > thresholds[middle]:
                low = middle + 1
            else:
                high = middle
        if low > 0:
            counts[low - 1] += 1
    for j in range(thresholds.shape[0] - 1, 0, -1):
        counts[j - 1] += counts[j]


@njit(cache=True, nogil=True)
def count_blocks(
    first: int,
    last: int,
    absent_counts: Ints,
    present_counts: Ints,
    trials: int,
    thresholds: Floats,
    weights: Floats,
    excluded: bool,
    trial: Trial,
    patterns: Patterns,
    key: np.uint64,
) -> None:
    """Count the scores above ascending thresholds in some blocks: counts are (blocks, t)."""
    for block in range(first, last):
        n = min(BLOCK, trials - block * BLOCK)
        absent, present = np.empty((n + 7) // 8 * 8), np.empty((n + 7) // 8 * 8)
        block_scores(absent, present, weights, excluded, trial, patterns, key, block)
        count_above(absent[:n], thresholds, absent_counts[block])
        count_above(present[:n], thresholds, present_counts[block])


@njit(cache=True, nogil=True)
def score_blocks(
    first: int,
    last: int,
    absent: Floats,
    present: Floats,
    weights: Floats,
    excluded: bool,
    trial: Trial,
    patterns: Patterns,
    key: np.uint64,
) -> None:
    """Write ℓ of the trials of some blocks: absent and present hold a multiple of 8 trials."""
    for block in range(first, last):
        own = slice(block * BLOCK, min((block + 1) * BLOCK, absent.shape[0]))
        block_scores(absent[own], present[own], weights, excluded, trial, patterns, key, block)
