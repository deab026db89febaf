"""The k nearest bank entries: float32 scores propose, float64 distances decide.

Every squared distance in the project is that of `squared_distance`: Σ(a−b)² of the float32 entries,
each difference taken in float64, in one order of summation. So an exact copy is at distance zero,
duplicates tie exactly, and a distance depends on its two rows and nothing else.
"""

import numpy as np
from numba import njit

from pe_core.kernels.merge import insert

CHUNK = 64
"""Scores that are dismissed together when none reaches the bar."""


LANES = 64
"""Partial sums of one distance: term j goes into sum j mod LANES, then `_sum` adds them up.

The order is one that fills vector registers for a single pair (85 ns of a core at 384 columns; a
sum from first to last takes 150 ns even with four in flight) and for many pairs at once (40 ns).
"""


@njit(cache=True, nogil=True)
def _sum(partial):
    """Add the second half to the first until one is left; overwrites."""
    left = partial.size // 2
    while left > 0:
        first = partial[:left]
        second = partial[left : 2 * left]
        for j in range(left):
            first[j] += second[j]
        left //= 2
    return partial[0]


@njit(cache=True, nogil=True)
def squared_distance(a, b, partial):
    """Σ(a−b)² of two rows; `partial` is scratch for LANES float64."""
    partial[:] = 0.0
    for start in range(0, a.size, LANES):
        a_part, b_part = a[start : start + LANES], b[start : start + LANES]
        for j in range(a_part.size):
            difference = np.float64(a_part[j]) - np.float64(b_part[j])
            partial[j] += difference * difference
    return _sum(partial)


@njit(cache=True, nogil=True)
def squared_distances(records, probes, out):
    """`squared_distance` of all (records × probes).

    Runs along LANES probes at once, with the additions of each in the order of a single pair.
    """
    for first in range(0, out.shape[1], LANES):
        some = probes[first : first + LANES]
        width = some.shape[0]
        columns = np.empty((some.shape[1], width), np.float64)
        columns[:] = some.T
        partial = np.empty((LANES, width), np.float64)
        for i in range(records.shape[0]):
            partial[:] = 0.0
            for j in range(records.shape[1]):
                value = np.float64(records[i, j])
                column, sums = columns[j], partial[j % LANES]
                for probe in range(width):
                    difference = value - column[probe]
                    sums[probe] += difference * difference
            left = LANES // 2
            while left > 0:
                for j in range(left):
                    upper, lower = partial[j], partial[left + j]
                    for probe in range(width):
                        upper[probe] += lower[probe]
                left //= 2
            out[i, first : first + LANES] = partial[0]


@njit(cache=True, nogil=True)
def squared_norms(rows, out):
    """Σa² of each row; NaN or infinite where the row holds such a value."""
    partial = np.empty(LANES, np.float64)
    origin = np.zeros(rows.shape[1], np.float32)
    for i in range(rows.shape[0]):
        out[i] = squared_distance(rows[i], origin, partial)


@njit(cache=True, nogil=True)
def nearest(record, bank, found, partial, index, distance):
    """Fill the sorted list (index, distance) from the different positions in `found`."""
    held = 0
    for position in found:
        value = squared_distance(record, bank[position], partial)
        held = insert(index, distance, held, position, value)


@njit(cache=True, nogil=True)
def rerank(records, bank, found, count, index, distance):
    """`nearest` for every record; each has `count[i]` ≥ k different positions in `found[i]`."""
    partial = np.empty(LANES, np.float64)
    for i in range(records.shape[0]):
        nearest(records[i], bank, found[i, : count[i]], partial, index[i], distance[i])


# A count of comparisons fills vector registers; a float maximum would need fastmath and was still
# eight times slower.
@njit(cache=True, nogil=True)
def _none_reaches(scores, bar):
    reached = np.int32(0)
    for j in range(CHUNK):
        reached += np.int32(scores[j] >= bar)
    return reached == 0


@njit(cache=True, nogil=True)
def scan(scores, first, margin, records, bank, top, found, score, count):
    """Add to each record's candidates those of one tile of scores that may be among its k nearest.

    scores (b, t) float32: inner products with the bank entries first … first + t − 1.
    margin: a candidate whose score is more than this under the k-th largest score is farther than
        k others in float64 as well, whatever the rounding (see `routing._margin`).
    top (b, k) float32: the k largest scores so far, largest first; −inf where there are none.
    found (b, c) int32, score (b, c) float32, count (b,): the candidates so far, c ≥ 2k + CHUNK.

    A full list is first cleared of what has fallen under the bar; where that frees less than half,
    as when very many entries are at the same distance, its k nearest in float64 replace it: k
    others then precede each entry dropped.
    """
    k = top.shape[1]
    room = found.shape[1]
    tile = scores.shape[1]
    index = np.empty(k, np.int32)
    distance = np.empty(k, np.float64)
    partial = np.empty(LANES, np.float64)
    for i in range(scores.shape[0]):
        row = scores[i]
        best = top[i]
        bar = best[k - 1] - margin
        held = count[i]
        for start in range(0, tile, CHUNK):
            end = min(start + CHUNK, tile)
            if end - start == CHUNK and _none_reaches(row[start:end], bar):
                continue
            for j in range(start, end):
                value = row[j]
                if value < bar:
                    continue
                if held == room:
                    held = _keep(found[i], score[i], held, bar)
                    if held > room // 2:
                        nearest(records[i], bank, found[i, :held], partial, index, distance)
                        found[i, :k] = index
                        score[i, :k] = np.inf
                        held = k
                found[i, held] = first + j
                score[i, held] = value
                held += 1
                if value > best[k - 1]:
                    slot = k - 1
                    while slot > 0 and best[slot - 1] < value:
                        best[slot] = best[slot - 1]
                        slot -= 1
                    best[slot] = value
                    bar = best[k - 1] - margin
        count[i] = _keep(found[i], score[i], held, bar)


@njit(cache=True, nogil=True)
def _keep(found, score, held, bar):
    kept = 0
    for j in range(held):
        if score[j] >= bar:
            found[kept] = found[j]
            score[kept] = score[j]
            kept += 1
    return kept
