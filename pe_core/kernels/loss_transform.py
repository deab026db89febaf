"""Characteristic function of a discretised privacy loss."""

import numpy as np
from numba import njit


@njit(cache=True)
def transform(losses, weights, split, first, spacing, count):
    """Return Σ_j w_j e^{iω_k l_j} at ω_k = first + k·spacing, over j < split and over all j.

    Args:
        losses, weights: float64 (n,).
        split: how many nodes the first sum takes.
        first, spacing: float64, the frequencies.
        count: how many of them.

    Returns:
        two complex128 (count,).
    """
    below = np.zeros(count, dtype=np.complex128)
    above = np.zeros(count, dtype=np.complex128)
    for j in range(losses.shape[0]):
        out = below if j < split else above
        # A rotation a step costs a tenth of a sine and a cosine; its error is 1e-16 a step.
        angle = spacing * losses[j]
        turn = complex(np.cos(angle), np.sin(angle))
        angle = first * losses[j]
        value = weights[j] * complex(np.cos(angle), np.sin(angle))
        for k in range(count):
            out[k] += value
            value *= turn
    return below, below + above
