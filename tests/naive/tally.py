"""Users who contribute alike, one after the other."""

from collections import Counter

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def tally(contributions: Floats) -> list[tuple[tuple[float, ...], int]]:
    """Distinct rows in ascending order, and how often each occurs."""
    return sorted(Counter(tuple(row) for row in contributions.tolist()).items())


def moments(contributions: Floats) -> tuple[Floats, Floats]:
    """Σ c and Σ c cᵀ, user by user."""
    r = contributions.shape[1]
    total, second = np.zeros(r), np.zeros((r, r))
    for row in contributions:
        total += row
        second += np.outer(row, row)
    return total, second
