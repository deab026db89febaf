"""DP-SGD and DP-Adam, many runs at a time (Abadi et al., 2016).

A step samples each record with probability q, clips each sampled record's gradient to C, adds
N(0, σ²C²) to every coordinate of the sum and divides by the expected batch size q·n, whatever
the realised one. Per-example gradients are never formed: that of a layer is an outer product, so
the norm follows from two vectors, and the clipped sum from one matrix product.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pe_core.dpsgd.network import Weights, forward, residuals, with_ones
from pe_core.errors import InputError
from pe_core.kernels import dpsgd as kernels
from pe_core.mechanism import Mechanism

OPTIMIZERS = ("sgd", "adam")
# Adam's constants as published and as every library has them.
DECAY_FIRST, DECAY_SECOND, FLOOR = 0.9, 0.999, 1e-8
# Where no run of a block samples more than this share of the records, each run's own records are
# copied together; above it all records at once are faster. A head's one product shared by all runs
# is hard to beat; hidden layers have a product a run anyway.
PACKED_HEAD, PACKED_DEEP = 0.15, 0.6


@dataclass(frozen=True)
class Examples:
    """Labelled records.

    Attributes:
        features: (n, d) float32 or float64, finite; training runs in this type.
        labels: (n,) int64 in [0, classes).
        classes: K ≥ 2.

    Raises:
        InputError: shapes that do not fit, a value that is not finite, a label out of range.

    Example:
        >>> Examples(np.zeros((2, 3), np.float32), np.array([0, 1]), 2).count
        2
    """

    features: npt.NDArray[np.floating]
    labels: npt.NDArray[np.int64]
    classes: int

    def __post_init__(self) -> None:
        if self.features.ndim != 2 or self.features.dtype not in (np.float32, np.float64):
            raise InputError(
                f"features of shape {self.features.shape}, {self.features.dtype}: "
                "records × features of float32 or float64 are needed"
            )
        if self.labels.shape != self.features.shape[:1] or self.labels.dtype != np.int64:
            raise InputError(
                f"labels of shape {self.labels.shape}, {self.labels.dtype}: one int64 for each of "
                f"{len(self.features)} records is needed"
            )
        finite = np.isfinite(self.features).all(axis=1)
        if not finite.all():
            raise InputError(f"record {int(np.argmin(finite))}: a feature is not finite")
        known = (self.labels >= 0) & (self.labels < self.classes)
        if not known.all():
            at = int(np.argmin(known))
            raise InputError(
                f"record {at}: label {self.labels[at]} does not exist; "
                f"allowed are 0 to {self.classes - 1}"
            )

    @property
    def count(self) -> int:
        """n."""
        return len(self.labels)


@dataclass(frozen=True)
class Training:
    """How a model is trained.

    Attributes:
        mechanism: q, σ, C and T = `releases`; `population` counts the records besides the canary.
        learning_rate: η > 0.
        optimizer: "sgd" or "adam".

    Raises:
        InputError: a learning rate that is not a positive number, another optimizer.

    Example:
        >>> Training(Mechanism(499, 0.25, 1.0, 1.0, 1e-5, releases=100), 0.5).optimizer
        'sgd'
    """

    mechanism: Mechanism
    learning_rate: float
    optimizer: str = "sgd"

    def __post_init__(self) -> None:
        if not 0.0 < self.learning_rate < np.inf:
            raise InputError(f"learning_rate = {self.learning_rate!r}: a number above 0 is needed")
        if self.optimizer not in OPTIMIZERS:
            allowed = ", ".join(OPTIMIZERS)
            raise InputError(f"optimizer = {self.optimizer!r}: allowed are {allowed}")


@dataclass(frozen=True)
class Coordinate:
    """A gradient to stand for one record's.

    Attributes:
        layer: number of the layer, from the input on.
        index: the coordinate in that layer, row by row.
        value: the gradient there; it is 0 everywhere else.
    """

    layer: int
    index: int
    value: float


class Block:
    """Runs of one training, side by side.

    Args:
        start: weights of one run, (units, inputs + 1) a layer.
        examples: the records; their type is the type of the arithmetic.
        runs: B.
        clip: C, or infinity for none.
        batch: q·n, the expected batch size.
        learning_rate: η.
        optimizer: "sgd" or "adam".
        canary: the record whose gradient `gradient` replaces; both or neither.
    """

    def __init__(
        self,
        start: Weights,
        examples: Examples,
        runs: int,
        *,
        clip: float,
        batch: float,
        learning_rate: float,
        optimizer: str,
        canary: int | None = None,
        gradient: Coordinate | None = None,
    ) -> None:
        kind = examples.features.dtype
        self.weights: Weights = [
            np.repeat(layer[None].astype(kind), runs, axis=0) for layer in start
        ]
        self._inputs = with_ones(examples.features)
        self._input_squares = np.square(self._inputs).sum(axis=1)[None]
        self._labels = examples.labels
        self._few = examples.count * (PACKED_DEEP if len(start) > 1 else PACKED_HEAD)
        self._clip, self._batch, self._rate = clip, batch, learning_rate
        self._canary, self._gradient = canary, gradient
        self._moments = (
            [(np.zeros_like(layer), np.zeros_like(layer)) for layer in self.weights]
            if optimizer == "adam"
            else []
        )
        self._steps = 0

    def step(self, sampled: npt.NDArray[np.bool_], noise: Weights) -> None:
        """Train one step.

        Args:
            sampled: (B, n), which records each run sees.
            noise: what is added to the summed gradients, shaped as the weights. Overwritten.
        """
        self._steps += 1
        for number, gradient in enumerate(self.clipped_sums(sampled)):
            gradient += noise[number]
            gradient /= self._batch
            flat, change = self.weights[number].reshape(-1), gradient.reshape(-1)
            if self._moments:
                first, second = (moment.reshape(-1) for moment in self._moments[number])
                kernels.adam(
                    flat, change, first, second, self._rate, self._steps,
                    DECAY_FIRST, DECAY_SECOND, FLOOR,
                )  # fmt: skip
            else:
                kernels.sgd(flat, change, self._rate)

    def clipped_sums(self, sampled: npt.NDArray[np.bool_]) -> Weights:
        """Return the sum of the clipped gradients of the sampled records, shaped as the weights."""
        seen = None
        if self._canary is not None:
            seen = sampled[:, self._canary].copy()
            sampled = sampled.copy()
            sampled[:, self._canary] = False
        inputs, input_squares, labels = self._inputs, self._input_squares, self._labels
        most = int(sampled.sum(axis=1).max())
        if most <= self._few:
            rows, sampled = _packed(sampled, most)
            inputs, labels = inputs[rows], labels[rows]
            input_squares = input_squares[0, rows]
        activations = forward(self.weights, inputs)
        errors = residuals(self.weights, activations, labels)
        squares = np.zeros(sampled.shape, inputs.dtype)
        kernels.add_squared_norms(squares, errors[0], input_squares)
        for error, active in zip(errors[1:], activations):
            kernels.add_squared_norms(squares, error, np.square(active).sum(axis=1))
        kernels.clip_factors(squares, sampled, self._clip)
        for error in errors:
            kernels.scale(error, squares)
        if inputs.ndim == 2:
            runs, units, records = errors[0].shape
            first = errors[0].reshape(runs * units, records) @ inputs
            sums: Weights = [first.reshape(runs, units, -1)]
        else:
            sums = [errors[0] @ inputs]
        sums += [
            error @ np.swapaxes(active, 1, 2) for error, active in zip(errors[1:], activations)
        ]
        if seen is not None and self._gradient is not None:
            layer = sums[self._gradient.layer].reshape(len(seen), -1)
            layer[seen, self._gradient.index] += self._gradient.value
        return sums


def _packed(
    sampled: npt.NDArray[np.bool_], most: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return each run's sampled records moved to the front, and which entries are some.

    Args:
        sampled: (B, n).
        most: the largest number of a run.

    Returns:
        (B, most) positions, 0 where a run has fewer records, and (B, most) bool.
    """
    counts = sampled.sum(axis=1)
    filled = np.arange(most) < counts[:, None]
    rows = np.zeros(filled.shape, np.intp)
    # Both in the order of runs, then records.
    rows[filled] = np.nonzero(sampled)[1]
    return rows, filled


def trajectory(
    start: Weights,
    examples: Examples,
    training: Training,
    runs: int,
    checkpoints: tuple[int, ...],
    random: np.random.Generator,
    canary: int | None = None,
    gradient: Coordinate | None = None,
) -> Iterator[Weights]:
    """Train a block of runs; yield its weights after each of the checkpoints' steps.

    The weights are the block's own: they change when the iteration goes on.
    """
    mechanism = training.mechanism
    q, kind = mechanism.participation, examples.features.dtype
    block = Block(
        start,
        examples,
        runs,
        clip=mechanism.clip,
        batch=q * examples.count,
        learning_rate=training.learning_rate,
        optimizer=training.optimizer,
        canary=canary,
        gradient=gradient,
    )
    sampled = np.ones((runs, examples.count), np.bool_)
    for step in range(1, checkpoints[-1] + 1):
        if q < 1.0:
            np.less(random.random(sampled.shape), q, out=sampled)
        noise = []
        for layer in block.weights:
            noise.append(random.standard_normal(layer.shape, dtype=kind.type))
            noise[-1] *= kind.type(mechanism.noise_scale)
        block.step(sampled, noise)
        if step in checkpoints:
            yield block.weights
