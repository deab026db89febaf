"""Dot products as if in twice the working precision, rounded once (Ogita, Rump and Oishi 2005)."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]


@njit(cache=True)
def _add_product(total: float, lost: float, a: float, b: float) -> tuple[float, float]:
    product = a * b
    split = 134217729.0 * a
    high = split - (split - a)
    low = a - high
    split = 134217729.0 * b
    high_b = split - (split - b)
    low_b = b - high_b
    rounded = low * low_b - (((product - high * high_b) - low * high_b) - high * low_b)
    new = total + product
    part = new - total
    return new, lost + ((total - (new - part)) + (product - part) + rounded)


@njit(cache=True)
def dense_dots(rows: Floats, weights: Floats) -> Floats:
    """Return rows @ weights for rows (n, r)."""
    out = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        total = lost = 0.0
        for j in range(rows.shape[1]):
            total, lost = _add_product(total, lost, rows[i, j], weights[j])
        out[i] = total + lost
    return out


@njit(cache=True)
def sparse_dots(starts: Integers, columns: Integers, values: Floats, weights: Floats) -> Floats:
    """Return the same for rows in CSR form: starts (n + 1,), columns and values (nnz,)."""
    out = np.empty(starts.size - 1)
    for i in range(out.size):
        total = lost = 0.0
        for k in range(starts[i], starts[i + 1]):
            total, lost = _add_product(total, lost, values[k], weights[columns[k]])
        out[i] = total + lost
    return out
