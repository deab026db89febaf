"""Fully connected classifiers, trained by the block: many runs of one network side by side.

A network is a linear head (no hidden layer) or has tanh hidden layers; the loss is cross-entropy.
A layer's weights are (units, inputs + 1), the last column being the bias, and a block of runs
holds (runs, units, inputs + 1) a layer.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import special

from pe_core.errors import InputError
from pe_core.kernels import dpsgd as kernels

Weights = list[npt.NDArray[np.floating]]


@dataclass(frozen=True)
class Network:
    """The shape of a classifier.

    Attributes:
        features: d ≥ 1, inputs of a record.
        classes: K ≥ 2.
        hidden: units of each tanh layer; empty for a linear head.

    Raises:
        InputError: a size below its least value.

    Example:
        >>> Network(384, 3).size
        1155
        >>> Network(64, 10, (32, 32)).shapes
        ((32, 65), (32, 33), (10, 33))
    """

    features: int
    classes: int
    hidden: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.features < 1 or self.classes < 2 or any(units < 1 for units in self.hidden):
            raise InputError(
                f"features = {self.features}, classes = {self.classes}, hidden = {self.hidden}: "
                "at least 1 feature, 2 classes and 1 unit a layer are needed"
            )

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """(units, inputs + 1) of each layer, from the input on."""
        widths = (self.features, *self.hidden, self.classes)
        return tuple((units, inputs + 1) for inputs, units in pairwise(widths))

    @property
    def size(self) -> int:
        """Number of weights, biases included."""
        return sum(units * inputs for units, inputs in self.shapes)

    def start(self, random: np.random.Generator) -> Weights:
        """Return the weights that training starts from, float64, one run.

        Zero for a linear head, whose loss is convex. Uniform within √(6 / (inputs + units)) for
        hidden layers and what follows them, with zero biases (Glorot and Bengio, 2010).

        Example:
            >>> [layer.shape for layer in Network(2, 3).start(np.random.default_rng(0))]
            [(3, 3)]
        """
        weights: Weights = [np.zeros(shape) for shape in self.shapes]
        if self.hidden:
            for layer in weights:
                bound = np.sqrt(6.0 / (layer.shape[0] + layer.shape[1] - 1))
                layer[:, :-1] = random.uniform(-bound, bound, layer[:, :-1].shape)
        return weights


def forward(weights: Weights, inputs: npt.NDArray[np.floating]) -> list[npt.NDArray[np.floating]]:
    """Return the activations after each layer, the logits last.

    Args:
        weights: a block's weights, (B, units, inputs + 1) a layer.
        inputs: records with a last column of ones, (n, d + 1) where all runs share them, or
            (B, n, d + 1).

    Returns:
        (B, units + 1, n) a hidden layer, its last row being ones, then the logits (B, K, n).
    """
    first = weights[0]
    runs, units, width = first.shape
    if inputs.ndim == 2:
        # One product for all runs.
        signal = (first.reshape(runs * units, width) @ inputs.T).reshape(runs, units, -1)
    else:
        signal = first @ np.swapaxes(inputs, 1, 2)
    activations = []
    for layer in weights[1:]:
        active = np.ones((runs, signal.shape[1] + 1, signal.shape[2]), signal.dtype)
        np.tanh(signal, out=active[:, :-1])
        activations.append(active)
        signal = layer @ active
    return [*activations, signal]


def residuals(
    weights: Weights,
    activations: list[npt.NDArray[np.floating]],
    labels: npt.NDArray[np.int64],
) -> Weights:
    """Return d loss / d signal of every layer, (B, units, n) each, the logits' in their place.

    `labels` are (n,) where all runs share their records, or (B, n).
    """
    last = activations[-1]
    kernels.softmax_residual(last, np.atleast_2d(labels))
    found = [last]
    for layer, active in zip(weights[:0:-1], activations[-2::-1]):
        back = np.swapaxes(layer[:, :, :-1], 1, 2) @ found[0]
        back *= 1 - active[:, :-1] ** 2
        found.insert(0, back)
    return found


def gradient_factors(
    weights: Weights, features: npt.NDArray[np.floating], labels: npt.NDArray[np.int64]
) -> list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
    """Return every record's own gradient of the cross-entropy at one run's weights, in factors.

    Args:
        weights: (units, inputs + 1) a layer.
        features: (n, d).
        labels: (n,) in [0, K).

    Returns:
        A layer's pair (residual (n, units), source (n, inputs + 1)), float64: record i's gradient
        of that layer is the outer product of its two rows.

    Example:
        >>> weights = [np.zeros((2, 2))]
        >>> residual, source = gradient_factors(weights, np.array([[3.0]]), np.array([0]))[0]
        >>> np.outer(residual[0], source[0]).tolist()
        [[-1.5, -0.5], [1.5, 0.5]]
    """
    block: Weights = [np.asarray(layer, np.float64)[None] for layer in weights]
    inputs = with_ones(np.asarray(features, np.float64))
    activations = forward(block, inputs)
    errors = residuals(block, activations, labels)
    sources = [inputs, *(active[0].T for active in activations[:-1])]
    return [(error[0].T, source) for error, source in zip(errors, sources)]


def confidence(
    weights: Weights, features: npt.NDArray[np.floating], labels: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return log(p / (1 − p)) of each record's label under each run, (B, n) float64.

    Example:
        >>> weights = [np.zeros((1, 4, 2))]
        >>> confidence(weights, np.array([[3.0]]), np.array([0])).round(6).tolist()  # log(1/3)
        [[-1.098612]]
    """
    logits = forward(weights, with_ones(features.astype(weights[0].dtype)))[-1].astype(np.float64)
    records = np.arange(len(labels))
    own = logits[:, labels, records]
    logits[:, labels, records] = -np.inf
    return own - special.logsumexp(logits, axis=1)


def accuracy(
    weights: Weights, features: npt.NDArray[np.floating], labels: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the share of records whose label has the largest logit, under each run, (B,).

    Example:
        >>> accuracy([np.array([[[1.0, 0.0], [0.0, 0.0]]])], np.array([[2.0]]), np.array([1]))
        array([0.])
    """
    logits = forward(weights, with_ones(features.astype(weights[0].dtype)))[-1]
    return np.mean(np.argmax(logits, axis=1) == labels, axis=1)


def with_ones(features: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Return the records with a last column of ones for the bias, (n, d + 1)."""
    ones = np.ones((features.shape[0], 1), features.dtype)
    return np.ascontiguousarray(np.concatenate([features, ones], axis=1))
