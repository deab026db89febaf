"""Tail sums of a composed privacy loss distribution."""

import numpy as np
from numba import njit


@njit(cache=True)
def tail_sums(mass, gap):
    """Return P_k = Σ_{j ≥ k} m_j and D_k = Σ_{j ≥ k} m_j·(1 − e^{−h(j−k)}) for every k.

    D_k is δ at loss k, and below it, for −h ≤ x ≤ 0, δ(loss_k + x) = e^x·D_k − (e^x − 1)·P_k. The
    difference of the sums of P and of Q would cancel where losses are small; here every term of
    D_k = e^{−h}·D_{k+1} + (1 − e^{−h})·P_{k+1} is positive.

    Args:
        mass: float64 (n,), masses ≥ 0 in ascending order of loss.
        gap: float64, h > 0.

    Returns:
        two float64 (n,).
    """
    n = mass.shape[0]
    above = np.empty(n)
    delta = np.empty(n)
    step = -np.expm1(-gap)
    p = 0.0
    d = 0.0
    for k in range(n - 1, -1, -1):
        d = (1.0 - step) * d + step * p
        p += mass[k]
        above[k] = p
        delta[k] = d
    return above, delta
