"""Kernels of batched DP-SGD. Arrays of a block of runs are (runs, units, records).

Records come last so that every inner loop runs over contiguous numbers.
"""

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def softmax_residual(logits, labels):
    """Turn logits (B, K, n) into softmax − one-hot, in place.

    `labels` in [0, K) are (B, n), or (1, n) where all runs share them.
    """
    runs, classes, records = logits.shape
    largest = np.empty(records, logits.dtype)
    total = np.empty(records, logits.dtype)
    for b in range(runs):
        largest[:] = logits[b, 0]
        for k in range(1, classes):
            for i in range(records):
                largest[i] = max(largest[i], logits[b, k, i])
        total[:] = 0
        for k in range(classes):
            for i in range(records):
                logits[b, k, i] = math.exp(logits[b, k, i] - largest[i])
                total[i] += logits[b, k, i]
        for k in range(classes):
            for i in range(records):
                logits[b, k, i] /= total[i]
        shared = min(b, labels.shape[0] - 1)
        for i in range(records):
            logits[b, labels[shared, i], i] -= 1


@njit(cache=True, nogil=True, error_model="numpy")
def add_squared_norms(squares, residual, inputs):
    """Add one layer's squared per-example gradient norms to `squares` (B, n).

    The gradient of a layer is the outer product of its residual (B, h, n) and its input, so its
    squared norm is the product of theirs. `inputs` holds the inputs' squared norms, (B, n), or
    (1, n) where all runs share them.
    """
    runs, units, records = residual.shape
    total = np.empty(records, residual.dtype)
    for b in range(runs):
        total[:] = 0
        for h in range(units):
            for i in range(records):
                total[i] += residual[b, h, i] * residual[b, h, i]
        shared = min(b, inputs.shape[0] - 1)
        for i in range(records):
            squares[b, i] += total[i] * inputs[shared, i]


@njit(cache=True, nogil=True, error_model="numpy")
def clip_factors(squares, sampled, clip):
    """Turn squared norms (B, n) into min(1, clip / norm), and 0 where not sampled, in place."""
    bound = squares.dtype.type(clip)
    one = squares.dtype.type(1)
    for b in range(squares.shape[0]):
        for i in range(squares.shape[1]):
            factor = min(one, bound / math.sqrt(squares[b, i]))
            squares[b, i] = factor if sampled[b, i] else 0


@njit(cache=True, nogil=True, error_model="numpy")
def scale(residual, factors):
    """Multiply residual (B, h, n) by factors (B, n), in place."""
    for b in range(residual.shape[0]):
        for h in range(residual.shape[1]):
            for i in range(residual.shape[2]):
                residual[b, h, i] *= factors[b, i]


@njit(cache=True, nogil=True, error_model="numpy")
def sgd(weights, gradient, rate):
    """Move flat `weights` by −rate · gradient, in place."""
    factor = weights.dtype.type(rate)
    for i in range(weights.size):
        weights[i] -= factor * gradient[i]


@njit(cache=True, nogil=True, error_model="numpy")
def adam(weights, gradient, first, second, rate, step, decay_first, decay_second, floor):
    """Move flat `weights` by Adam's update number `step` (from 1), moments in place."""
    kind = weights.dtype.type
    keep_first, keep_second = kind(decay_first), kind(decay_second)
    fresh_first, fresh_second = kind(1 - decay_first), kind(1 - decay_second)
    size = kind(rate / (1 - decay_first**step))
    unbias = kind(1 / math.sqrt(1 - decay_second**step))
    least = kind(floor)
    for i in range(weights.size):
        first[i] = keep_first * first[i] + fresh_first * gradient[i]
        second[i] = keep_second * second[i] + fresh_second * gradient[i] * gradient[i]
        weights[i] -= size * first[i] / (math.sqrt(second[i]) * unbias + least)


@njit(cache=True, nogil=True, error_model="numpy")
def mixture_log_ratio(sums, log_weights, variance):
    """Log-ratio of Σ_k w_k N(k, variance) and Σ_k w_k N(−k, variance) at each of `sums` (n,).

    `log_weights` (T + 1,) may hold −inf. The common factor exp(−s² / 2·variance) cancels.
    """
    ratio = np.empty(sums.size)
    for i in range(sums.size):
        value = 0.0
        for sign in (1.0, -1.0):
            largest = -np.inf
            for k in range(log_weights.size):
                term = log_weights[k] + k * (sign * sums[i] - 0.5 * k) / variance
                largest = max(largest, term)
            total = 0.0
            for k in range(log_weights.size):
                term = log_weights[k] + k * (sign * sums[i] - 0.5 * k) / variance
                total += math.exp(term - largest)
            value += sign * (largest + math.log(total))
        ratio[i] = value
    return ratio
