"""Equation (1), one user at a time on a dense histogram."""

import numpy as np


def contributions(index, user, users, candidates, clip):
    rows = np.zeros((users, candidates))
    for u in range(users):
        mine = index[np.asarray(user) == u]
        for record in mine:
            for position in record:
                rows[u, position] += 1
        if len(mine):
            rows[u] /= mine.size
            rows[u] *= min(1.0, clip / np.sqrt(np.sum(rows[u] ** 2)))
    return rows
