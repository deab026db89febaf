"""The auditor's own model, trained without privacy on data like the target's."""

from typing import NamedTuple

import numpy as np

from pe_core.dpsgd.network import Weights
from pe_core.dpsgd.training import Block, Examples
from pe_core.errors import InputError

# A reference whose mean gradient is below this share of its first one has converged.
CONVERGED = 0.1


class Reference(NamedTuple):
    """A model trained without privacy, which the auditor crafts canaries on.

    Attributes:
        weights: float64, (units, inputs + 1) a layer.
        movement: Σ_t |θ_t − θ_{t−1}| of every weight, shaped as the weights.
        gradient_norm: norm of the mean gradient at the end, as a share of that at the start.
    """

    weights: Weights
    movement: Weights
    gradient_norm: float

    @property
    def converged(self) -> bool:
        """Whether the mean gradient fell below a tenth of where it started."""
        return self.gradient_norm <= CONVERGED


def train_reference(
    start: Weights,
    examples: Examples,
    learning_rate: float,
    optimizer: str,
    steps: int,
) -> Reference:
    """Train on all records at once, without clipping or noise, until converged.

    It stops at once when the mean gradient has fallen to a tenth: a model that fits every record
    perfectly has no gradients left to oppose each other, and the private one never gets there.

    Args:
        start: weights of one run.
        examples: the records that the auditor knows.
        learning_rate: η.
        optimizer: "sgd" or "adam".
        steps: at most this many, ≥ 1.

    Raises:
        InputError: the weights grow beyond all numbers, or there is no step.

    Example:
        >>> data = Examples(np.array([[1.0], [-1.0]]), np.array([0, 1]), 2)
        >>> reference = train_reference([np.zeros((2, 2))], data, 1.0, "sgd", 50)
        >>> reference.converged
        True
    """
    if steps < 1:
        raise InputError(f"steps = {steps}: a reference model needs at least 1")
    exact = Examples(examples.features.astype(np.float64), examples.labels, examples.classes)
    block = Block(
        start, exact, 1, clip=np.inf, batch=exact.count, learning_rate=learning_rate,
        optimizer=optimizer,
    )  # fmt: skip
    everyone = np.ones((1, exact.count), np.bool_)
    quiet: Weights = [np.zeros_like(layer) for layer in block.weights]
    movement: Weights = [np.zeros_like(layer) for layer in block.weights]
    first = _norm(block.clipped_sums(everyone))
    share = 1.0
    for _ in range(steps):
        before = [layer.copy() for layer in block.weights]
        block.step(everyone, quiet)
        for moved, old, new in zip(movement, before, block.weights):
            moved += np.abs(new - old)
        share = _norm(block.clipped_sums(everyone)) / first if first > 0.0 else 0.0
        if not share > CONVERGED:
            break
    if not (np.isfinite(share) and all(np.isfinite(layer).all() for layer in block.weights)):
        raise InputError(
            f"learning_rate = {learning_rate!r}: the reference model diverges; use a smaller one"
        )
    return Reference(
        [layer[0] for layer in block.weights], [layer[0] for layer in movement], float(share)
    )


def _norm(layers: Weights) -> float:
    return float(np.sqrt(sum(float(np.sum(np.square(layer))) for layer in layers)))
