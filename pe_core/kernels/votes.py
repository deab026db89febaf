"""Votes of each user, counted and clipped, straight into compressed rows."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def clipped_votes(index, user, users, clip, indptr, indices, data):
    """Fill one compressed row a user; return the number of entries.

    index (n, k), user (n,) in any order. indptr (users + 1,); indices and data have room for n·k
    entries. A user's scratch is its own votes, so that no array has the bank's length.
    """
    n, k = index.shape
    start = np.zeros(users + 1, np.int64)
    for i in range(n):
        start[user[i] + 1] += 1
    for u in range(users):
        start[u + 1] += start[u]
    position = start[:users].copy()
    votes = np.empty(n * k, index.dtype)
    for i in range(n):
        place = position[user[i]]
        position[user[i]] += 1
        for j in range(k):
            votes[place * k + j] = index[i, j]
    filled = 0
    indptr[0] = 0
    for u in range(users):
        row = filled
        mine = votes[start[u] * k : start[u + 1] * k]
        mine.sort()
        for vote in mine:
            if filled > row and indices[filled - 1] == vote:
                data[filled - 1] += 1.0
            else:
                indices[filled] = vote
                data[filled] = 1.0
                filled += 1
        squares = 0.0
        for j in range(row, filled):
            squares += data[j] * data[j]
        if filled > row:
            # h̄ = counts / votes and ‖h̄‖ = √squares / votes, so the clip divides by √squares alone.
            scale = min(1.0 / mine.size, clip / np.sqrt(squares))
            for j in range(row, filled):
                data[j] *= scale
        indptr[u + 1] = filled
    return filled
