"""Greedy selection as Algorithm B.1 states it: everything is computed again for every candidate."""

import numpy as np


def counts(base, base_position, pool, chosen, positions):
    """Votes on each chosen candidate, every record routed from scratch by (distance, position)."""
    k = len(base[0])
    votes = [0] * len(chosen)
    for record in range(len(base)):
        entries = [(base[record][j], base_position[record][j], -1) for j in range(k)]
        entries += [(pool[record][c], positions[t], t) for t, c in enumerate(chosen)]
        for _, _, owner in sorted(entries)[:k]:
            if owner >= 0:
                votes[owner] += 1
    return votes


def objective(votes, chosen, covariance, scale):
    if covariance is None:
        return sum(n * n for n in votes)
    w = np.array(votes) / scale
    return float(w @ np.linalg.solve(covariance[np.ix_(chosen, chosen)], w))


def step_scores(base, base_position, pool, chosen, positions, covariance):
    """J of every remaining candidate, by candidate."""
    scale = base.shape[0] * base.shape[1]
    scores = {}
    for c in range(pool.shape[1]):
        if c not in chosen:
            tried = [*chosen, c]
            votes = counts(base, base_position, pool, tried, positions)
            scores[c] = objective(votes, tried, covariance, scale)
    return scores


def select(base, pool, budget, covariance=None, base_position=None, positions=None):
    """Pool indices and J after each step; ties within 1e-12 go to the lowest pool index."""
    if base_position is None:
        base_position, positions = np.full(base.shape, -1), range(budget)
    chosen, scores = [], []
    for _ in range(budget):
        tried = step_scores(base, base_position, pool, chosen, positions, covariance)
        largest = max(tried.values())
        best = min(c for c, score in tried.items() if score >= largest * (1 - 1e-12))
        chosen.append(best)
        scores.append(tried[best])
    return chosen, scores
