import math

import numpy as np
import pytest

from pe_core import InputError
from pe_core.dpsgd import (
    Examples,
    InputPair,
    Network,
    Reference,
    adversarial,
    crafted,
    least_moved,
    mislabelled,
)
from pe_core.dpsgd.canaries import _input_slope, similarity
from tests.naive import dpsgd as naive


def problem(seed, hidden=(), records=12, features=4, classes=3, dtype=np.float64):
    random = np.random.default_rng(seed)
    data = [
        Examples(
            random.normal(size=(records, features)).astype(dtype),
            random.integers(0, classes, records),
            classes,
        )
        for _ in range(2)
    ]
    weights = [
        0.5 * random.normal(size=shape) for shape in Network(features, classes, hidden).shapes
    ]
    return Reference(weights, weights, 0.0), *data


def flat(weights, features, label):
    return np.concatenate([layer.ravel() for layer in naive.gradient(weights, features, label)])


def cosine(a, b):
    return float(a @ b / math.sqrt((a @ a) * (b @ b)))


@pytest.mark.parametrize("hidden", [(), (5,), (6, 4)])
def test_similarity_is_that_of_the_plain_gradients(hidden):
    reference, data, other = problem(0, hidden)
    target = flat(reference.weights, data.features[3], data.labels[3])
    found = similarity(
        reference.weights, data.features[3:4], data.labels[3:4], other.features, other.labels
    )
    for i in range(other.count):
        plain = flat(reference.weights, other.features[i], other.labels[i])
        assert found[0][i] == pytest.approx(cosine(plain, target), abs=1e-12)
        ratio = np.linalg.norm(plain) / np.linalg.norm(target)
        assert found[1][i] == pytest.approx(ratio, rel=1e-12)


@pytest.mark.parametrize("hidden", [(), (5,), (6, 4)])
def test_natural_pairs_are_the_most_opposed_of_all(hidden):
    reference, data, auxiliary = problem(1, hidden)
    for canary in (0, 5):
        own = flat(reference.weights, data.features[canary], data.labels[canary])
        pair = adversarial(reference, data, canary, auxiliary)
        cosines = [
            cosine(own, flat(reference.weights, x, label))
            for x, label in zip(auxiliary.features, auxiliary.labels)
        ]
        best = int(np.argmin(cosines))
        np.testing.assert_array_equal(
            pair.features, [data.features[canary], auxiliary.features[best]]
        )
        assert pair.labels.tolist() == [data.labels[canary], auxiliary.labels[best]]
        assert pair.cosine == pytest.approx(cosines[best], abs=1e-12)
        pair = mislabelled(reference, data, canary)
        cosines = {
            label: cosine(own, flat(reference.weights, data.features[canary], label))
            for label in range(3)
            if label != data.labels[canary]
        }
        assert pair.labels[1] == min(cosines, key=cosines.get)
        np.testing.assert_array_equal(pair.features[0], pair.features[1])


@pytest.mark.parametrize("hidden", [(), (6, 4)])
def test_the_slope_of_the_crafting_is_that_of_its_loss(hidden):
    reference, data, _ = problem(2, hidden)
    random = np.random.default_rng(0)
    direction = [random.normal(size=layer.shape) for layer in reference.weights]
    label = data.labels[:1]

    def along(point):
        own = naive.gradient(reference.weights, point, label[0])
        return sum(float(np.sum(a * b)) for a, b in zip(own, direction))

    found = _input_slope(reference.weights, data.features[0], label, direction)
    for feature in range(4):
        step = np.zeros(4)
        step[feature] = 1e-5
        expected = (along(data.features[0] + step) - along(data.features[0] - step)) / 2e-5
        assert found[feature] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("hidden", [(), (6, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_crafted_input_opposes_z_better_than_any_natural_one(hidden, dtype):
    reference, data, auxiliary = problem(3, hidden, dtype=dtype)
    for canary in (0, 7):
        pair = crafted(reference, data, canary, auxiliary)
        assert pair.labels[0] == pair.labels[1]
        assert pair.features.dtype == dtype
        np.testing.assert_array_equal(pair.features[0], data.features[canary])
        own, other = (
            flat(reference.weights, x.astype(np.float64), label)
            for x, label in zip(pair.features, pair.labels)
        )
        assert pair.cosine == pytest.approx(cosine(own, other), abs=1e-6)
        assert pair.norm_ratio == pytest.approx(
            np.linalg.norm(other) / np.linalg.norm(own), rel=1e-5
        )
        natural = min(
            cosine(own, flat(reference.weights, x.astype(np.float64), data.labels[canary]))
            for x in auxiliary.features
        )
        assert pair.cosine < natural
        assert abs(pair.norm_ratio - 1.0) < 0.35


def test_with_enough_features_a_crafted_input_is_nearly_opposite():
    # A linear head at zero: g = (p − y) ⊗ (x, 1), so the cosine of (x, 1) and (x′, 1) is all there
    # is, and −x at the same length reaches (1 − |x|²) / (1 + |x|²).
    data = Examples(np.full((2, 16), 3.0), np.array([0, 1]), 2)
    start = [np.zeros((2, 17))]
    others = np.random.default_rng(0).normal(size=(5, 16))
    auxiliary = Examples(others, np.zeros(5, np.int64), 2)
    pair = crafted(Reference(start, start, 0.0), data, 0, auxiliary)
    assert pair.cosine <= (1 - 144) / (1 + 144) + 1e-3
    assert pair.norm_ratio == pytest.approx(1.0, abs=0.01)


def test_the_least_moved_coordinate_is_the_first_of_several():
    moved = [np.array([[3.0, 1.0], [2.0, 4.0]]), np.array([[5.0, 1.0, 0.5], [0.5, 2.0, 2.0]])]
    pair = least_moved(Reference(moved, moved, 0.0))
    assert (pair.layer, pair.index, pair.movement) == (1, 2, 0.5)


def test_bad_input_is_refused():
    reference, data, auxiliary = problem(4)
    for canary in (-1, 12):
        for choose in (
            lambda at: crafted(reference, data, at, auxiliary),
            lambda at: mislabelled(reference, data, at),
            lambda at: adversarial(reference, data, at, auxiliary),
        ):
            with pytest.raises(InputError, match=f"canary = {canary}: the data have 12 records"):
                choose(canary)
    itself = Examples(data.features[2:3], data.labels[2:3], 3)
    with pytest.raises(InputError, match="same record"):
        adversarial(reference, data, 2, itself)
    with pytest.raises(InputError, match="same record"):
        InputPair(np.zeros((2, 3)), np.array([1, 1]), -1.0, 1.0)
    narrow = Examples(np.zeros((1, 2)), np.array([0]), 3)
    none = Examples(np.zeros((0, 4)), np.zeros(0, np.int64), 3)
    for wrong in (narrow, none):
        with pytest.raises(InputError, match="auxiliary data"):
            adversarial(reference, data, 0, wrong)
    sure = [np.zeros((3, 5))]
    sure[0][data.labels[0], -1] = 1e4
    with pytest.raises(InputError, match="vanishes"):
        mislabelled(Reference(sure, sure, 0.0), data, 0)
