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


@njit(cache=True, nogil=True)
def _sum(terms):
    """Add the second half to the first until one term is left; an odd one in the middle waits.

    The terms are overwritten. At 384 columns a distance takes 45 ns this way, where a sum from
    first to last takes 150 ns even with four in flight; and rounding grows with log d, not d.
    """
    left = terms.size
    while left > 1:
        half = left // 2
        first = terms[:half]
        second = terms[left - half : left]
        for j in range(half):
            first[j] += second[j]
        left -= half
    return terms[0]


@njit(cache=True, nogil=True)
def squared_distance(a, b, terms):
    """Σ(a−b)², summed as `_sum` does; `terms` is float64 scratch of the rows' length.

    The first addition of halves is made with the terms, which saves a quarter of the time.
    """
    half = a.size // 2
    kept = a.size - half
    a_first, b_first = a[:kept], b[:kept]
    for j in range(kept):
        difference = np.float64(a_first[j]) - np.float64(b_first[j])
        terms[j] = difference * difference
    a_second, b_second = a[kept:], b[kept:]
    for j in range(half):
        difference = np.float64(a_second[j]) - np.float64(b_second[j])
        terms[j] += difference * difference
    return _sum(terms[:kept])


@njit(cache=True, nogil=True)
def squared_norms(rows, out):
    """Σa² of each row; NaN or infinite where the row holds such a value."""
    terms = np.empty(rows.shape[1], np.float64)
    for i in range(rows.shape[0]):
        for j in range(terms.size):
            value = np.float64(rows[i, j])
            terms[j] = value * value
        out[i] = _sum(terms)


@njit(cache=True, nogil=True)
def squared_distances(records, probes, out):
    """All (records × probes) distances."""
    terms = np.empty(records.shape[1], np.float64)
    for i in range(records.shape[0]):
        for j in range(probes.shape[0]):
            out[i, j] = squared_distance(records[i], probes[j], terms)


@njit(cache=True, nogil=True)
def nearest(record, bank, found, terms, index, distance):
    """Fill the sorted list (index, distance) from the different positions in `found`."""
    held = 0
    for position in found:
        value = squared_distance(record, bank[position], terms)
        held = insert(index, distance, held, position, value)


@njit(cache=True, nogil=True)
def rerank(records, bank, found, count, index, distance):
    """`nearest` for every record; each has `count[i]` ≥ k different positions in `found[i]`."""
    terms = np.empty(records.shape[1], np.float64)
    for i in range(records.shape[0]):
        nearest(records[i], bank, found[i, : count[i]], terms, index[i], distance[i])


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
    terms = np.empty(records.shape[1], np.float64)
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
                        nearest(records[i], bank, found[i, :held], terms, index, distance)
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
