"""Routing as it is defined, one pair at a time in float64."""

import numpy as np


def squared_distance(a, b):
    """Σ(a−b)² in 64 sums, term j into sum j mod 64; then the second half is added to the first."""
    sums = [0.0] * 64
    for j, (x, y) in enumerate(zip(a, b)):
        difference = float(x) - float(y)
        sums[j % 64] += difference * difference
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [sums[j] + sums[half + j] for j in range(half)]
    return sums[0]


def squared_distances(records, probes):
    return np.array([[squared_distance(a, b) for b in probes] for a in records])


def order(distances, positions, k):
    """The k first by (distance, position): positions and distances."""
    first = sorted(zip(distances, positions))[:k]
    return [position for _, position in first], [distance for distance, _ in first]


def top_k(records, bank, k):
    """The k nearest of each record: index (n, k), squared distance (n, k)."""
    rows = [order(row, range(len(bank)), k) for row in squared_distances(records, bank)]
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


def merge_top_k(index, distances, positions, probe_distances, k):
    """The k first of base entries and probes together."""
    rows = [
        order([*d, *new], [*i, *positions], k)
        for i, d, new in zip(index, distances, probe_distances)
    ]
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
