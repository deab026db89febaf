"""The canary pairs of the substitution game: scenarios S2 to S5.

All are chosen on a reference model that the auditor trained without privacy. An input pair is the
better the more the two gradients oppose each other (cosine near −1) at equal norm.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize

from pe_core.dpsgd.network import Weights, gradient_factors
from pe_core.dpsgd.reference import Reference
from pe_core.dpsgd.training import Examples
from pe_core.errors import InputError

# Relative step of the central difference: the cube root of float64's resolution.
DIFFERENCE = 6e-6
# Auxiliary inputs that the crafting starts from; the best result counts.
STARTS = 8


@dataclass(frozen=True)
class GradientPair:
    """S2: gradients of ±C at one coordinate, the auditor's to choose.

    Attributes:
        layer: number of the layer, from the input on.
        index: the coordinate in that layer, row by row.
        movement: what the coordinate moved in the reference training, the least of all.
    """

    layer: int
    index: int
    movement: float


@dataclass(frozen=True)
class InputPair:
    """S3 to S5: a record z of the data and what replaces it.

    Attributes:
        features: z's and z′'s, (2, d).
        labels: z's and z′'s, (2,).
        cosine: of their gradients on the reference model.
        norm_ratio: ‖g_z′‖ / ‖g_z‖ there.

    Raises:
        InputError: z equals z′.
    """

    features: npt.NDArray[np.floating]
    labels: npt.NDArray[np.int64]
    cosine: float
    norm_ratio: float

    def __post_init__(self) -> None:
        if self.labels[0] == self.labels[1] and np.array_equal(*self.features):
            raise InputError(
                f"z and z′ are the same record (label {self.labels[0]}): nothing tells them apart"
            )


def least_moved(reference: Reference) -> GradientPair:
    """Return S2's pair: the coordinate whose accumulated movement is least, the first of several.

    Example:
        >>> moved = [np.array([[3.0, 1.0], [2.0, 1.0]])]
        >>> least_moved(Reference(moved, moved, 0.0)).index
        1
    """
    least = [float(layer.min()) for layer in reference.movement]
    layer = int(np.argmin(least))
    return GradientPair(layer, int(np.argmin(reference.movement[layer])), least[layer])


def crafted(
    reference: Reference, examples: Examples, canary: int, auxiliary: Examples
) -> InputPair:
    """Return S3's pair: z and an optimised input x′ under z's own label.

    L-BFGS lowers (1 + cosine) + (‖g_z′‖ / ‖g_z‖ − 1)² from each of the eight auxiliary inputs whose
    gradients under that label oppose z's most; z itself would be a stationary point.

    Args:
        reference: the auditor's model.
        examples: the data that z belongs to.
        canary: z's position in them.
        auxiliary: records that the auditor has besides.

    Raises:
        InputError: a position outside the data, auxiliary data of another shape, z's gradient
            vanishing on the reference model.

    Example:
        >>> data = Examples(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1]), 2)
        >>> start = [np.zeros((2, 3))]
        >>> crafted(Reference(start, start, 0.0), data, 0, data).cosine < 0
        True
    """
    features, labels = _canary(examples, canary)
    _fits(examples, auxiliary)
    weights = reference.weights
    same = np.repeat(labels, auxiliary.count)
    cosines, _ = similarity(weights, features, labels, auxiliary.features, same)
    starts = auxiliary.features[np.argsort(cosines, kind="stable")[:STARTS]].astype(np.float64)
    (target,) = _gradients(weights, features, labels)
    length = _length(target)

    def loss(point: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        (own,) = _gradients(weights, point[None], labels)
        norm = max(_length(own), np.finfo(np.float64).tiny)
        cosine = sum(float(np.sum(a * b)) for a, b in zip(own, target)) / (norm * length)
        excess = norm / length - 1.0
        # d loss / d own, whose product with own the input then moves along.
        along = (2.0 * excess / length - cosine / norm) / norm
        slope = [b / (norm * length) + along * a for a, b in zip(own, target)]
        return 1.0 + cosine + excess**2, _input_slope(weights, point, labels, slope)

    found = [optimize.minimize(loss, first, jac=True, method="L-BFGS-B") for first in starts]
    best = min(found, key=lambda result: result.fun)
    return _pair(reference, examples, canary, best.x, labels[0])


def mislabelled(reference: Reference, examples: Examples, canary: int) -> InputPair:
    """Return S4's pair: z and the same input under the label whose gradient opposes z's most.

    Raises:
        InputError: a position outside the data, z's gradient vanishing on the reference model.

    Example:
        >>> data = Examples(np.array([[1.0, 0.0]]), np.array([0]), 3)
        >>> weights = [np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])]
        >>> mislabelled(Reference(weights, weights, 0.0), data, 0).labels.tolist()
        [0, 1]
    """
    features, labels = _canary(examples, canary)
    others = np.setdiff1d(np.arange(examples.classes), labels)
    inputs = np.repeat(features, len(others), axis=0)
    cosines, _ = similarity(reference.weights, features, labels, inputs, others)
    return _pair(reference, examples, canary, features[0], others[int(np.argmin(cosines))])


def adversarial(
    reference: Reference, examples: Examples, canary: int, auxiliary: Examples
) -> InputPair:
    """Return S5's pair: z and the auxiliary record whose gradient opposes z's most.

    Raises:
        InputError: as `crafted`.

    Example:
        >>> data = Examples(np.array([[1.0, 0.0], [1.0, 0.1]]), np.array([0, 1]), 2)
        >>> start = [np.zeros((2, 3))]
        >>> adversarial(Reference(start, start, 0.0), data, 0, data).labels.tolist()
        [0, 1]
    """
    features, labels = _canary(examples, canary)
    _fits(examples, auxiliary)
    cosines, _ = similarity(
        reference.weights, features, labels, auxiliary.features, auxiliary.labels
    )
    best = int(np.argmin(cosines))
    return _pair(reference, examples, canary, auxiliary.features[best], int(auxiliary.labels[best]))


def similarity(
    weights: Weights,
    target: npt.NDArray[np.floating],
    target_label: npt.NDArray[np.int64],
    features: npt.NDArray[np.floating],
    labels: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the cosine and the norm ratio of each record's gradient with the target's.

    Args:
        weights: (units, inputs + 1) a layer.
        target: one record, (1, d), and its label, (1,).
        features: (n, d); `labels` (n,).

    Returns:
        (cosines, norm ratios), each (n,) float64; a vanishing gradient has cosine 0.

    Raises:
        InputError: the target's gradient vanishes.

    Example:
        >>> data = np.array([[1.0], [-1.0]])
        >>> cosines, ratios = similarity(
        ...     [np.zeros((2, 2))], data[:1], np.array([0]), data[:1], np.array([1])
        ... )
        >>> cosines.round(9).tolist(), ratios.round(9).tolist()
        ([-1.0], [1.0])
    """
    here = gradient_factors(weights, target, target_label)
    there = gradient_factors(weights, features, labels)
    dots = sum((d @ c.T) * (b @ a.T) for (c, a), (d, b) in zip(here, there))
    own = sum(float(np.sum(c**2) * np.sum(a**2)) for c, a in here)
    squares = sum(np.sum(d**2, axis=1) * np.sum(b**2, axis=1) for d, b in there)
    if own <= np.finfo(np.float64).tiny:
        raise InputError(
            f"the gradient of the canary (label {target_label[0]}) vanishes on the reference "
            "model: choose another canary or fewer reference steps"
        )
    norms = np.sqrt(np.asarray(squares))
    scale = np.where(norms > 0.0, norms, 1.0) * np.sqrt(own)
    return np.asarray(dots)[:, 0] / scale, norms / np.sqrt(own)


def _pair(
    reference: Reference,
    examples: Examples,
    canary: int,
    replacement: npt.NDArray[np.floating],
    label: int,
) -> InputPair:
    """Return the pair in the type that training runs in, with its figures for that type."""
    own, own_label = _canary(examples, canary)
    other, other_label = replacement[None].astype(own.dtype), np.array([label], np.int64)
    cosines, ratios = similarity(reference.weights, own, own_label, other, other_label)
    return InputPair(
        np.concatenate([own, other]),
        np.concatenate([own_label, other_label]),
        float(cosines[0]),
        float(ratios[0]),
    )


def _canary(
    examples: Examples, canary: int
) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.int64]]:
    check_canary(examples, canary)
    return examples.features[canary : canary + 1], examples.labels[canary : canary + 1]


def check_canary(examples: Examples, canary: int) -> None:
    """Refuse a position outside the data."""
    if not 0 <= canary < examples.count:
        raise InputError(
            f"canary = {canary}: the data have {examples.count} records, "
            f"allowed are 0 to {examples.count - 1}"
        )


def _fits(examples: Examples, auxiliary: Examples) -> None:
    widths = (examples.features.shape[1], examples.classes)
    found = (auxiliary.features.shape[1], auxiliary.classes)
    if auxiliary.count == 0 or widths != found:
        raise InputError(
            f"auxiliary data of {auxiliary.count} records, {found[0]} features and {found[1]} "
            f"classes: at least one of {widths[0]} features and {widths[1]} classes is needed"
        )


def _gradients(
    weights: Weights, features: npt.NDArray[np.floating], labels: npt.NDArray[np.int64]
) -> list[Weights]:
    """Return each record's gradient, a list of layers shaped as the weights."""
    factors = gradient_factors(weights, features, labels)
    return [
        [np.outer(residual[i], source[i]) for residual, source in factors]
        for i in range(len(labels))
    ]


def _length(layers: Weights) -> float:
    return float(np.sqrt(sum(float(np.sum(layer**2)) for layer in layers)))


def _input_slope(
    weights: Weights,
    point: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int64],
    direction: Weights,
) -> npt.NDArray[np.float64]:
    """Return d (g(x)·direction) / dx for the weight gradient g at x.

    Mixed derivatives commute, so it is the change of the loss's slope in x as the weights move
    along the direction: two small passes, where a difference in x would need two a feature.
    """
    scale = DIFFERENCE / max(_length(direction), np.finfo(np.float64).tiny)

    def slope(sign: float) -> npt.NDArray[np.float64]:
        moved = [layer + sign * scale * step for layer, step in zip(weights, direction)]
        residual, _ = gradient_factors(moved, point[None], labels)[0]
        return residual[0] @ moved[0][:, :-1]

    return (slope(1.0) - slope(-1.0)) / (2.0 * scale)
