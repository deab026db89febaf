"""Tail sums of a composed privacy loss distribution."""

import numpy as np
from numba import njit


@njit(cache=True)
def tail_sums(mass, decay):
    """Return Σ_{j ≥ k} m_j and Σ_{j ≥ k} m_j·decay^{j−k} for every k.

    With decay = e^{−h} the second is the tail's mass under Q relative to e^{loss_k}, so that
    δ(ε) = first_k − e^{ε − loss_k}·second_k between loss_{k−1} and loss_k, and nothing overflows.

    Args:
        mass: float64 (n,), masses in ascending order of loss.
        decay: float64 in (0, 1].

    Returns:
        two float64 (n,).
    """
    n = mass.shape[0]
    plain = np.empty(n)
    discounted = np.empty(n)
    p = 0.0
    q = 0.0
    for k in range(n - 1, -1, -1):
        p += mass[k]
        q = mass[k] + decay * q
        plain[k] = p
        discounted[k] = q
    return plain, discounted
