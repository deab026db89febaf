"""Kernels of the swap audit: trials in two statistics, and the plane's characteristic function."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pe_core.kernels.random import fill, normal, uniform
from pe_core.kernels.sampling import BLOCK, Patterns, add_skips, add_tables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NOISE, _NOISE_MORE, _CANARY, _GROUPS = 0, 1, 2, 4


class Swap(NamedTuple):
    """Constants of every trial, each row for one statistic.

    Attributes:
        base: (2,), what is added to the drawn sums.
        noise: (2, 2), lower triangular: statistics = … + noise·(Z₁, Z₂).
        canaries: (2, 2), column 0 what z adds where it takes part, column 1 what z′ adds.
        participation: q.
    """

    base: Floats
    noise: Floats
    canaries: Floats
    participation: float


@njit(cache=True, inline="always")
def log_mixture(ell: float, q: float) -> float:
    """log(1 − q + q·e^ℓ)."""
    if q == 0.0:
        return 0.0
    if q == 1.0:
        return ell
    if ell > 30.0:
        return ell + np.log(q + (1.0 - q) * np.exp(-ell))
    return np.log1p(q * np.expm1(ell))


@njit(cache=True, nogil=True)
def count_blocks(
    first: int,
    last: int,
    counts: Ints,
    trials: int,
    threshold: float,
    weights: Floats,
    excluded: bool,
    swap: Swap,
    patterns: Patterns,
    key: np.uint64,
) -> None:
    """Count the trials of some blocks with s > threshold: z eligible, then z′ eligible.

    Both statistics read the same words for the same users, so they see one draw of who takes part.

    Args:
        counts: (blocks, 2), written.
        weights: (2, groups, b) for tables, (2, users, 1) for skips.
        excluded: the draw is of who stays out, with probability 1 − q, and weights are negated.
    """
    q = swap.participation
    chosen = 1.0 - q if excluded else q
    groups = weights.shape[1]
    lane = _GROUPS + 3 * groups
    for block in range(first, last):
        n = min(BLOCK, trials - block * BLOCK)
        padded = (n + 7) // 8 * 8
        totals = np.zeros((2, padded))
        for k in range(2):
            if patterns.bits > 0:
                add_tables(totals[k], weights[k], chosen, patterns, key, block)
            elif groups > 0:
                add_skips(totals[k], weights[k].reshape(-1), chosen, key, block)
        one, two, taking = np.empty((3, padded), np.uint64)
        fill(one, key, _NOISE, block)
        fill(two, key, lane, block)
        fill(taking, key, _CANARY, block)
        counts[block] = 0
        for i in range(n):
            z1 = normal(one[i], key, _NOISE_MORE, block, i)
            z2 = normal(two[i], key, lane + 1, block, i)
            a = swap.base[0] + totals[0, i] + swap.noise[0, 0] * z1
            b = swap.base[1] + totals[1, i] + swap.noise[1, 0] * z1 + swap.noise[1, 1] * z2
            taken = 1.0 if uniform(taking[i]) < q else 0.0
            for h in range(2):
                score = log_mixture(a + taken * swap.canaries[0, h], q) - log_mixture(
                    b + taken * swap.canaries[1, h], q
                )
                counts[block, h] += score > threshold


@njit(cache=True)
def plane_transform(
    shifts: Floats, counts: Ints, q: float, first: Floats, second: Floats, reach: float
) -> NDArray[np.complex128]:
    """Characteristic function of Σ I_u s_u + Z in the plane, on a grid of frequencies.

    Args:
        shifts: (n, 2), distinct s_u.
        counts: (n,), users of each.
        q: participation.
        first: (m₁,) frequencies; second: (m₂,) likewise.
        reach: frequencies of a greater norm give 0: e^{−reach²/2} is nothing.

    Returns:
        complex128 (m₁, m₂).
    """
    out = np.zeros((first.shape[0], second.shape[0]), dtype=np.complex128)
    phases = np.empty(shifts.shape[0], dtype=np.complex128)
    for i in range(first.shape[0]):
        for u in range(shifts.shape[0]):
            angle = first[i] * shifts[u, 0]
            phases[u] = complex(np.cos(angle), np.sin(angle))
        for j in range(second.shape[0]):
            square = first[i] ** 2 + second[j] ** 2
            if square > reach * reach:
                continue
            value = complex(np.exp(-0.5 * square), 0.0)
            for u in range(shifts.shape[0]):
                angle = second[j] * shifts[u, 1]
                turn = phases[u] * complex(np.cos(angle), np.sin(angle))
                value *= (1.0 - q + q * turn) ** counts[u]
            out[i, j] = value
    return out
