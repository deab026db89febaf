"""The background estimator, entry by entry from equations 31–35."""

import math

import numpy as np


def estimate(rows, population, q, noise_scale, shrinkage, ridge):
    """Mean (r,) and covariance (r, r) of a release, from a list of auxiliary contributions."""
    n, r = len(rows), len(rows[0])
    mean = [q * population * math.fsum(row[j] for row in rows) / n for j in range(r)]
    covariance = np.empty((r, r))
    for i in range(r):
        for j in range(r):
            moment = math.fsum(row[i] * row[j] for row in rows) / n
            covariance[i, j] = q * (1 - q) * population * moment
            if i == j:
                covariance[i, j] += noise_scale**2 + ridge
            else:
                covariance[i, j] *= 1 - shrinkage
    return np.array(mean), covariance
