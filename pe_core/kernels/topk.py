"""The k nearest bank entries: float32 scores propose, float64 distances decide.

Every squared distance in the project is Σ(a−b)² of the float32 entries, each difference taken in
float64, summed from the first coordinate to the last. So an exact copy is at distance zero,
duplicates tie exactly, and a distance depends on its two rows and nothing else.
"""

import numpy as np
from numba import njit

from pe_core.kernels.merge import insert

CHUNK = 64
"""Scores that are dismissed together when their largest is too small."""


@njit(cache=True, nogil=True)
def squared_norms(rows, out):
    """Σa² of each row; NaN or infinite where the row holds such a value."""
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            value = np.float64(rows[i, j])
            total += value * value
        out[i] = total


@njit(cache=True, nogil=True)
def squared_distances(records, probes, out):
    """All (records × probes) distances; the probes come transposed in float64, (d, r).

    The inner loop runs over probes, so that it fills vector registers without touching the order
    of any sum.
    """
    for i in range(records.shape[0]):
        row = out[i]
        row[:] = 0.0
        for j in range(records.shape[1]):
            value = np.float64(records[i, j])
            for probe in range(row.size):
                difference = value - probes[j, probe]
                row[probe] += difference * difference


@njit(cache=True, nogil=True)
def nearest(record, bank, found, count, index, distance):
    """Fill the sorted list (index, distance) from the first `count` positions in `found`.

    Four sums advance together, since one alone would wait for each of its additions.
    """
    held = 0
    for start in range(0, count, 4):
        p0 = found[start]
        p1 = found[min(start + 1, count - 1)]
        p2 = found[min(start + 2, count - 1)]
        p3 = found[min(start + 3, count - 1)]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(record.size):
            value = np.float64(record[j])
            d0 = value - np.float64(bank[p0, j])
            d1 = value - np.float64(bank[p1, j])
            d2 = value - np.float64(bank[p2, j])
            d3 = value - np.float64(bank[p3, j])
            s0 += d0 * d0
            s1 += d1 * d1
            s2 += d2 * d2
            s3 += d3 * d3
        held = insert(index, distance, held, p0, s0)
        if start + 1 < count:
            held = insert(index, distance, held, p1, s1)
        if start + 2 < count:
            held = insert(index, distance, held, p2, s2)
        if start + 3 < count:
            held = insert(index, distance, held, p3, s3)


@njit(cache=True, nogil=True)
def rerank(records, bank, found, count, index, distance):
    """`nearest` for every record; each has `count[i]` ≥ k different positions in `found[i]`."""
    for i in range(records.shape[0]):
        nearest(records[i], bank, found[i], count[i], index[i], distance[i])


# Without the licence to ignore NaN and signed zeros, a maximum is not vectorised.
@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _largest(scores, start):
    largest = scores[start]
    for j in range(start, start + CHUNK):
        if scores[j] > largest:
            largest = scores[j]
    return largest


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
    for i in range(scores.shape[0]):
        row = scores[i]
        best = top[i]
        bar = best[k - 1] - margin
        held = count[i]
        for start in range(0, tile, CHUNK):
            end = min(start + CHUNK, tile)
            if end - start == CHUNK and _largest(row, start) < bar:
                continue
            for j in range(start, end):
                value = row[j]
                if value < bar:
                    continue
                if held == room:
                    held = _keep(found[i], score[i], held, bar)
                    if held > room // 2:
                        nearest(records[i], bank, found[i], held, index, distance)
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
