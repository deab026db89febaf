"""Votes of each user, counted and clipped, straight into compressed rows."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def clipped_votes(index, user, users, candidates, clip, indptr, indices, data):
    """Fill one compressed row a user; return the number of entries.

    index (n, k), user (n,) in any order. indptr (users + 1,); indices and data have room for n·k
    entries. One row of counts serves all users in turn. Counting first and sorting the different
    candidates is three times as fast as sorting all votes of a user.
    """
    n, k = index.shape
    start = np.zeros(users + 1, np.int64)
    for i in range(n):
        start[user[i] + 1] += 1
    for u in range(users):
        start[u + 1] += start[u]
    unplaced = start[:users].copy()
    records = np.empty(n, np.int64)
    for i in range(n):
        records[unplaced[user[i]]] = i
        unplaced[user[i]] += 1

    counts = np.zeros(candidates, np.int64)
    filled = 0
    indptr[0] = 0
    for u in range(users):
        row = filled
        for record in records[start[u] : start[u + 1]]:
            for j in range(k):
                candidate = index[record, j]
                if counts[candidate] == 0:
                    indices[filled] = candidate
                    filled += 1
                counts[candidate] += 1
        indices[row:filled].sort()
        squares = 0.0
        for j in range(row, filled):
            data[j] = counts[indices[j]]
            counts[indices[j]] = 0
            squares += data[j] * data[j]
        if filled > row:
            # h̄ = counts / votes and ‖h̄‖ = √squares / votes, so the clip divides by √squares alone.
            scale = min(1.0 / ((start[u + 1] - start[u]) * k), clip / np.sqrt(squares))
            for j in range(row, filled):
                data[j] *= scale
        indptr[u + 1] = filled
    return filled
