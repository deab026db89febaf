"""Plain DP-SGD: one run, one record and one number at a time, in float64."""

import math

import numpy as np


def softmax_residual(logits, label):
    """p − y of one record's logits (K,)."""
    powers = [math.exp(value - max(logits)) for value in logits]
    found = [power / sum(powers) for power in powers]
    found[label] -= 1.0
    return np.array(found)


def loss(weights, features, label):
    """Cross-entropy of one record; tanh between the layers, the last column is the bias."""
    signal = features
    for number, layer in enumerate(weights):
        signal = layer[:, :-1] @ signal + layer[:, -1]
        if number < len(weights) - 1:
            signal = np.tanh(signal)
    return math.log(sum(math.exp(value - max(signal)) for value in signal)) - (
        signal[label] - max(signal)
    )


def gradient(weights, features, label):
    """Gradient of one record's loss, by the chain rule, shaped as the weights."""
    inputs = [np.append(features, 1.0)]
    for layer in weights[:-1]:
        inputs.append(np.append(np.tanh(layer @ inputs[-1]), 1.0))
    error = softmax_residual(weights[-1] @ inputs[-1], label)
    found = []
    for number in range(len(weights) - 1, -1, -1):
        found.insert(0, np.outer(error, inputs[number]))
        if number:
            error = (weights[number][:, :-1].T @ error) * (1 - inputs[number][:-1] ** 2)
    return found


def clipped(layers, clip):
    """The gradient times min(1, C / norm)."""
    norm = math.sqrt(sum(float(np.sum(layer**2)) for layer in layers))
    factor = 1.0 if norm <= clip else clip / norm
    return [layer * factor for layer in layers]


def clipped_sum(weights, features, labels, sampled, clip, canary=None, replacement=None):
    """Σ over sampled records of clipped gradients; `replacement` stands for the canary's."""
    total = [np.zeros_like(layer) for layer in weights]
    for i in range(len(labels)):
        if not sampled[i]:
            continue
        own = (
            replacement if i == canary else clipped(gradient(weights, features[i], labels[i]), clip)
        )
        total = [a + b for a, b in zip(total, own)]
    return total


def sgd(weights, gradients, rate):
    """θ − η g."""
    return [layer - rate * change for layer, change in zip(weights, gradients)]


def adam(weights, gradients, first, second, rate, step):
    """Algorithm 1 of Kingma and Ba (2015); returns weights and both moments."""
    first = [0.9 * m + 0.1 * g for m, g in zip(first, gradients)]
    second = [0.999 * v + 0.001 * g**2 for v, g in zip(second, gradients)]
    moved = []
    for layer, m, v in zip(weights, first, second):
        mean, square = m / (1 - 0.9**step), v / (1 - 0.999**step)
        moved.append(layer - rate * mean / (np.sqrt(square) + 1e-8))
    return moved, first, second


def mixture_density(value, participation, steps, deviation, sign, number=float):
    """Σ_k Bin(k; T, q) N(value; sign·k, deviation²), term by term.

    `number` is `float`, or mpmath's `mpf` for as many digits as wanted.
    """
    total = number(0)
    for k in range(steps + 1):
        weight = math.comb(steps, k) * number(participation) ** k
        weight *= (1 - number(participation)) ** (steps - k)
        distance = (number(value) - sign * k) / number(deviation)
        total += weight * number(math.e) ** (-(distance**2) / 2)
    return total
