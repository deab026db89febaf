"""Kernels of the exact evaluator: a weighted Poisson-binomial sum plus a standard Gaussian.

The sum is Σ_i t_i B_i + Z with B_i ~ Binomial(m_i, q) independent and Z standard normal. Weights
are distinct and not zero, q is in (0, 1/2], every tilt is at least 0.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LANES = 32
# Nodes are dropped between groups of users: small enough to drop them soon, large enough that the
# test costs nothing.
GROUP = 256
# From this count on a power goes through the logarithm, whose rounding grows with the distance of
# the factor from 1 and not with the count.
POWER = 16


@njit(cache=True)
def cumulants(tilts: Floats, weights: Floats, counts: Integers, q: float) -> Floats:
    """Return K, K' and K'' of the users' part at each tilt, and Σ m|log(…)| for its rounding.

    K(θ) = Σ m log(1 − q + q·exp(θt)); rows of the (tilts, 4) result follow `tilts`. K is summed
    with compensation, so that its error does not grow with the number of weights.
    """
    out = np.zeros((tilts.size, 4))
    for j in range(tilts.size):
        value = lost = first = second = size = 0.0
        for i in range(weights.size):
            t, m = weights[i], counts[i]
            x = tilts[j] * t
            if x > 500.0:
                rest = (1.0 - q) / q * math.exp(-x)
                term = m * (x + math.log(q) + math.log1p(rest))
                size += m * x
                p = 1.0 / (1.0 + rest)
                spread = p * rest / (1.0 + rest)
            else:
                grown = q * math.expm1(x)
                term = m * math.log1p(grown)
                p = q * math.exp(x) / (1.0 + grown)
                spread = p * (1.0 - q) / (1.0 + grown)
            total = value + term
            if abs(value) >= abs(term):
                lost += (value - total) + term
            else:
                lost += (term - total) + value
            value = total
            size += abs(term)
            first += m * t * p
            second += m * t * t * spread
        out[j, 0] = value + lost
        out[j, 1] = first
        out[j, 2] = second
        out[j, 3] = size
    return out


@njit(cache=True)
def tilted_probabilities(tilt: float, weights: Floats, q: float) -> tuple[Floats, Floats]:
    """Return p = q·exp(θt) / (1 − q + q·exp(θt)) and 1 − p, each to full relative accuracy."""
    present = np.empty(weights.size)
    absent = np.empty(weights.size)
    for i in range(weights.size):
        x = tilt * weights[i]
        if x > 0.0:
            odds = (1.0 - q) / q * math.exp(-x)
            present[i] = 1.0 / (1.0 + odds)
            absent[i] = odds / (1.0 + odds)
        else:
            odds = q / (1.0 - q) * math.exp(x)
            present[i] = odds / (1.0 + odds)
            absent[i] = 1.0 / (1.0 + odds)
    return present, absent


@njit(cache=True)
def _powers(angle: float, real: Floats, imag: Floats) -> None:
    """Fill lanes l = 0 … LANES − 1 with exp(i·l·angle), in five doublings."""
    real[0] = 1.0
    imag[0] = 0.0
    filled = 1
    while filled < LANES:
        c, s = math.cos(filled * angle), math.sin(filled * angle)
        for l in range(filled):
            real[filled + l] = c * real[l] - s * imag[l]
            imag[filled + l] = c * imag[l] + s * real[l]
        filled *= 2


@njit(cache=True)
def characteristic(
    weights: Floats,
    counts: Integers,
    present: Floats,
    absent: Floats,
    step: float,
    real: Floats,
    imag: Floats,
    smallest: Floats,
    floor: float,
) -> Integers:
    """Multiply the users' factors into (real + i·imag) at the nodes k·step; return live blocks.

    `real` and `imag` (a multiple of LANES long) come filled with the factor to start from and leave
    holding that factor times Π (1 − p + p·exp(i·k·step·t))^m. `smallest` takes the least squared
    modulus of any factor's base at each node. No factor exceeds 1 in modulus, so a node below
    `floor` stays below it: once all nodes of a block are, the block is left as it is and only its
    modulus, now an upper bound, means anything. Blocks that were never left are returned.
    """
    lane_real, lane_imag = np.empty(LANES), np.empty(LANES)
    base_real, base_imag = np.empty(LANES), np.empty(LANES)
    live = np.arange(real.size // LANES)
    alive = live.size
    for start in range(0, weights.size, GROUP):
        for i in range(start, min(start + GROUP, weights.size)):
            angle = step * weights[i]
            p, one_minus_p, m = present[i], absent[i], counts[i]
            if m >= POWER:
                for b in range(alive):
                    for k in range(LANES * live[b], LANES * (live[b] + 1)):
                        half = math.sin(0.5 * k * angle)
                        lost = -4.0 * p * one_minus_p * half * half
                        # Rounding may leave a factor of 0 just below it.
                        log_modulus = 0.5 * math.log1p(max(lost, -1.0 + 1e-16))
                        turn = math.atan2(p * math.sin(k * angle), 1.0 - 2.0 * p * half * half)
                        smallest[k] = min(smallest[k], max(1.0 + lost, 0.0))
                        scale = math.exp(m * log_modulus)
                        c, s = scale * math.cos(m * turn), scale * math.sin(m * turn)
                        pr, pi = real[k], imag[k]
                        real[k] = pr * c - pi * s
                        imag[k] = pr * s + pi * c
                continue
            _powers(angle, lane_real, lane_imag)
            for b in range(alive):
                first = LANES * live[b]
                c, s = math.cos(first * angle), math.sin(first * angle)
                for l in range(LANES):
                    fr = one_minus_p + p * (c * lane_real[l] - s * lane_imag[l])
                    fi = p * (c * lane_imag[l] + s * lane_real[l])
                    base_real[l] = fr
                    base_imag[l] = fi
                    smallest[first + l] = min(smallest[first + l], fr * fr + fi * fi)
                for _ in range(m):
                    for l in range(LANES):
                        k = first + l
                        pr, pi = real[k], imag[k]
                        real[k] = pr * base_real[l] - pi * base_imag[l]
                        imag[k] = pr * base_imag[l] + pi * base_real[l]
        kept = 0
        for b in range(alive):
            first = LANES * live[b]
            largest = 0.0
            for k in range(first, first + LANES):
                largest = max(largest, real[k] * real[k] + imag[k] * imag[k])
            if largest > floor * floor:
                live[kept] = live[b]
                kept += 1
        alive = kept
    return live[:alive].copy()


@njit(cache=True)
def invert(real: Floats, imag: Floats, live: Integers, step: float, points: Floats) -> Floats:
    """Return Σ_k Re[(real_k + i·imag_k)·exp(−i·k·step·x)] over the live blocks, for each x."""
    out = np.zeros(points.size)
    lane_real, lane_imag = np.empty(LANES), np.empty(LANES)
    for j in range(points.size):
        angle = step * points[j]
        _powers(angle, lane_real, lane_imag)
        total = 0.0
        for b in live:
            first = LANES * b
            c, s = math.cos(first * angle), math.sin(first * angle)
            part = 0.0
            for l in range(LANES):
                part += real[first + l] * (c * lane_real[l] - s * lane_imag[l])
                part += imag[first + l] * (c * lane_imag[l] + s * lane_real[l])
            total += part
        out[j] = total
    return out
