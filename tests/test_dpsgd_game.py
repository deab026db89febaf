from dataclasses import replace

import numpy as np
import pytest

from pe_core import InputError, Mechanism
from pe_core.dpsgd import (
    Examples,
    Game,
    GradientPair,
    InputPair,
    Network,
    Training,
    accuracy_without,
    log_ratio,
    play,
    play_worst_case,
)


def game(
    runs=64, hidden=(), participation=0.5, sigma=1.0, optimizer="sgd", dtype=np.float64, **other
):
    random = np.random.default_rng(0)
    labels = np.arange(24) % 3
    features = random.normal(size=(24, 4)) + 2.0 * np.eye(3, 4)[labels]
    features[:, 3] = 0.0  # a feature that never says anything
    data = Examples(features.astype(dtype), labels, 3)
    checkpoints = other.pop("checkpoints", (2, 6))
    mechanism = Mechanism(23, participation, sigma, 1.0, 1e-5, releases=checkpoints[-1])
    settings = {
        "start": Network(4, 3, hidden).start(random),
        "examples": data,
        "canary": 5,
        "training": Training(mechanism, 0.3, optimizer),
        "runs": runs,
        "checkpoints": checkpoints,
        "test": data,
        "seed": 3,
    }
    return Game(**(settings | other))


def input_pair(own, label=None):
    """The canary against itself under another label."""
    features, labels = own.examples.features[5], own.examples.labels
    label = (labels[5] + 1) % 3 if label is None else label
    return InputPair(np.stack([features, features]), np.array([labels[5], label]), -1.0, 1.0)


def test_a_gradient_canary_is_the_worst_case_sum_where_nothing_else_moves():
    """The coordinate sees ±C and noise alone, so S2's score is S1's sum, scaled by η/(qn)."""
    own = game(runs=8000, participation=0.25, checkpoints=(4, 16))
    scores = play(own, GradientPair(layer=0, index=3, movement=0.0))
    unit = 0.3 / (0.25 * 24)
    for column, steps in enumerate((4, 16)):
        mean, variance = steps * 0.25, steps * (1.0 + 0.25 * 0.75)
        for sign, found in ((1, scores.present), (-1, scores.replaced)):
            sums = found[:, column] / unit
            assert abs(sums.mean() - sign * mean) < 4 * np.sqrt(variance / 4000)
            assert abs(sums.var() - variance) < 4 * variance * np.sqrt(2 / 4000)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("hidden", "optimizer"), [((), "sgd"), ((5, 4), "adam")])
def test_scores_are_larger_for_z(hidden, optimizer, dtype):
    own = game(
        runs=200, hidden=hidden, participation=1.0, sigma=0.5, optimizer=optimizer, dtype=dtype,
        checkpoints=(20,),
    )  # fmt: skip
    swapped_data = replace(own.examples, labels=own.examples.labels.copy())
    pair = input_pair(own)
    swapped_data.labels[5] = pair.labels[1]
    swapped = InputPair(pair.features[::-1], pair.labels[::-1], -1.0, 1.0)
    for found in (play(own, pair), play(replace(own, examples=swapped_data), swapped)):
        assert np.median(found.present) > np.median(found.replaced)
    gradient = play(own, GradientPair(len(own.start) - 1, 0, 0.0))
    assert np.median(gradient.present) > np.median(gradient.replaced)
    assert gradient.accuracy.shape == (1,)
    assert 0.5 < float(gradient.accuracy[0]) <= 1.0


def test_a_run_does_not_depend_on_how_many_others_are_played():
    pair = GradientPair(0, 3, 0.0)
    few, many = play(game(runs=64), pair), play(game(runs=140), pair)
    np.testing.assert_array_equal(few.present, many.present[:32])
    np.testing.assert_array_equal(few.replaced, many.replaced[:32])
    assert not np.array_equal(few.present, -few.replaced)
    again, renamed = play(game(runs=64), pair), play(game(runs=64, names=("other",)), pair)
    np.testing.assert_array_equal(few.present, again.present)
    assert not np.array_equal(few.present, renamed.present)


def test_all_prefixes_come_from_one_training():
    pair = input_pair(game())
    long = play(game(checkpoints=(1, 4, 9)), pair)
    short = play(game(checkpoints=(4,)), pair)
    np.testing.assert_array_equal(long.present[:, 1], short.present[:, 0])
    np.testing.assert_array_equal(long.accuracy[1], short.accuracy[0])


def test_accuracy_without_the_canary_ignores_what_it_is():
    own = game(participation=1.0)
    labels = own.examples.labels.copy()
    labels[5] = (labels[5] + 1) % 3
    other = replace(own, examples=Examples(own.examples.features, labels, 3))
    np.testing.assert_array_equal(accuracy_without(own), accuracy_without(other))
    one = play(own, GradientPair(0, 0, 0.0))
    assert one.accuracy.shape == accuracy_without(own).shape


def test_worst_case_scores_are_log_ratios_of_sums():
    mechanism = Mechanism(0, 0.3, 1.2, 1.0, 1e-5, releases=8)
    scores = play_worst_case(mechanism, 20_000, (1, 8), 5)
    for column, steps in enumerate((1, 8)):
        # Scores grow with the sum: each quantile of one is that of the other.
        random = np.random.default_rng(9)
        sums = random.binomial(steps, 0.3, 200_000) + 1.2 * np.sqrt(steps) * random.normal(
            size=200_000
        )
        for share in (0.1, 0.5, 0.9):
            at = log_ratio(np.quantile(sums, share), replace(mechanism, releases=steps))
            error = np.sqrt(share * (1 - share) / 10_000)
            assert abs(np.mean(scores.present[:, column] <= at) - share) < 4.5 * error
            assert abs(np.mean(scores.replaced[:, column] >= -at) - share) < 4.5 * error


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"canary": 24}, "canary = 24: the data have 24 records, allowed are 0 to 23"),
        ({"canary": -1}, "canary = -1"),
        ({"runs": 7}, "runs = 7: an even number"),
        ({"runs": 0}, "runs = 0"),
        ({"participation": 0.04}, "expected batch of 0.96 records is under one"),
        ({"sigma": 0.0}, "noise_multiplier = 0"),
        ({"start": [np.zeros((3, 9))]}, "a network of 8 features"),
        ({"test": Examples(np.zeros((0, 4)), np.zeros(0, np.int64), 3)}, "test data"),
    ],
)
def test_unusable_games_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        game(**changes)


def test_other_unusable_input_is_refused():
    own = game()
    mechanism = own.training.mechanism
    for checkpoints in ((), (3, 3, 6), (0, 6), (2, 5), (2, 8)):
        with pytest.raises(InputError, match="checkpoints"):
            replace(own, checkpoints=checkpoints)
        with pytest.raises(InputError, match="checkpoints"):
            play_worst_case(mechanism, 20, checkpoints, 1)
    with pytest.raises(InputError, match="population = 9: the data have 23"):
        replace(own, training=Training(replace(mechanism, population=9), 0.3))
    with pytest.raises(InputError, match="z is not the record"):
        play(replace(own, canary=4), input_pair(own))
    with pytest.raises(InputError, match="label 7 does not exist"):
        play(own, input_pair(own, 7))
    for layer, index in ((1, 0), (0, 15), (-1, 0)):
        with pytest.raises(InputError, match="coordinate"):
            play(own, GradientPair(layer, index, 0.0))
