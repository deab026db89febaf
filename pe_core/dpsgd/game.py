"""The substitution game: training on D, or on D with record z replaced by z′.

The adversary sees the final model only, and knows the start, the data and the two records. Half of
the runs are trained with each record. The learning rate is the same at every step, whether or not
the canary was sampled. A run's scores at all checkpoints come from one training.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pe_core.dpsgd.canaries import GradientPair, InputPair, check_canary
from pe_core.dpsgd.mixture import log_ratio
from pe_core.dpsgd.network import Weights, accuracy, confidence
from pe_core.dpsgd.training import Coordinate, Examples, Training, trajectory
from pe_core.errors import InputError
from pe_core.mechanism import Mechanism
from pe_core.seeds import generator

# Runs that train side by side on one random stream: enough for large matrix products, few enough
# for a block to stay in the cache.
BLOCK = 32
HYPOTHESES = ("present", "replaced")


class Scores(NamedTuple):
    """What the adversary computed, larger for z.

    Attributes:
        present: scores of the runs with z, (R/2, checkpoints) float64.
        replaced: scores of the runs with z′, (R/2, checkpoints) float64.
        accuracy: mean over all runs of the share of test records classified right,
            (checkpoints,) float64; empty for S1, which has no model.
    """

    present: npt.NDArray[np.float64]
    replaced: npt.NDArray[np.float64]
    accuracy: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Game:
    """Who plays what.

    Attributes:
        start: θ₀, (units, inputs + 1) a layer; all runs start there.
        examples: D, z included.
        canary: z's position.
        training: q, σ > 0, C, T, learning rate and optimizer.
        runs: R, even; half with z, half with z′.
        checkpoints: increasing numbers of steps, the last being T.
        test: records to measure accuracy on.
        seed: the config's seed.
        names: what tells this game's random streams from others'.

    Raises:
        InputError: a canary outside the data, q·n below 1, σ = 0, another population than n − 1,
            unusable runs or checkpoints, a network or test data of another shape.
    """

    start: Weights
    examples: Examples
    canary: int
    training: Training
    runs: int
    checkpoints: tuple[int, ...]
    test: Examples
    seed: int
    names: tuple[str | int, ...] = ()

    def __post_init__(self) -> None:
        mechanism, records = self.training.mechanism, self.examples.count
        check_canary(self.examples, self.canary)
        _check_rounds(self.runs, self.checkpoints, mechanism)
        batch = mechanism.participation * records
        if batch < 1.0:
            raise InputError(
                f"participation = {mechanism.participation} of {records} records: the expected "
                f"batch of {batch:.3g} records is under one; at least {1 / records:.3g} is needed"
            )
        if mechanism.population != records - 1:
            raise InputError(
                f"population = {mechanism.population}: the data have {records - 1} records "
                "besides the canary"
            )
        width = self.examples.features.shape[1]
        if (self.start[0].shape[1], len(self.start[-1])) != (width + 1, self.examples.classes):
            raise InputError(
                f"a network of {self.start[0].shape[1] - 1} features and {len(self.start[-1])} "
                f"classes for data of {width} and {self.examples.classes}"
            )
        if self.test.count == 0 or self.test.features.shape[1] != width:
            raise InputError(
                f"test data of shape {self.test.features.shape}: at least one record of {width} "
                "features is needed"
            )


def play(game: Game, pair: GradientPair | InputPair) -> Scores:
    """Play the game of S2 to S5.

    The score of a gradient pair is −(g_z/C)·(θ_T − θ₀), since descent moves against the gradient;
    of an input pair logit(z) − logit(z′), the logit being log(p / (1 − p)) of a record's label.

    Args:
        game: the players.
        pair: what z's gradient is, or what z and z′ are.

    Raises:
        InputError: a z that is not the record at the canary's position, a coordinate or a label
            that does not exist.

    Example:
        >>> data = Examples(np.array([[1.0], [-1.0]] * 4), np.array([0, 1] * 4), 2)
        >>> training = Training(Mechanism(7, 1.0, 0.5, 1.0, 1e-5, releases=20), 0.5)
        >>> game = Game([np.zeros((2, 2))], data, 0, training, 40, (5, 20), data, seed=1)
        >>> scores = play(game, GradientPair(layer=0, index=1, movement=0.0))
        >>> scores.present.shape, bool(scores.present[:, 1].min() > scores.replaced[:, 1].max())
        ((20, 2), True)
    """
    if isinstance(pair, InputPair):
        _check_record(game, pair)
    else:
        _check_coordinate(game, pair)
    sides = []
    for number, hypothesis in enumerate(HYPOTHESES):
        if isinstance(pair, InputPair):
            data, gradient = _with(game, pair, number), None
        else:
            value = game.training.mechanism.clip * (1.0, -1.0)[number]
            data, gradient = game.examples, Coordinate(pair.layer, pair.index, value)
        sides.append(_train(game, hypothesis, data, gradient, pair, game.runs // 2))
    (present, right), (replaced, right_replaced) = sides
    return Scores(present, replaced, (right + right_replaced) / 2)


def accuracy_without(game: Game) -> npt.NDArray[np.float64]:
    """Return the mean test accuracy at each checkpoint of all R runs on D without record z.

    The expected batch size stays q·n.

    Example:
        >>> data = Examples(np.array([[1.0], [-1.0]] * 4), np.array([0, 1] * 4), 2)
        >>> training = Training(Mechanism(7, 1.0, 0.1, 1.0, 1e-5, releases=20), 0.5)
        >>> game = Game([np.zeros((2, 2))], data, 0, training, 20, (20,), data, seed=1)
        >>> accuracy_without(game).tolist()
        [1.0]
    """
    # A gradient of 0 in the record's place is the record's absence.
    absent = Coordinate(0, 0, 0.0)
    return _train(game, "without", game.examples, absent, None, game.runs)[1]


def play_worst_case(
    mechanism: Mechanism,
    runs: int,
    checkpoints: tuple[int, ...],
    seed: int,
    names: tuple[str | int, ...] = (),
) -> Scores:
    """Play the game of S1: gradients of ±C for the canary, of zero for all others.

    Only the canary's coordinate says anything, and the final model shows the sum of its steps:
    the score is the exact log-ratio of the two mixtures of that sum.

    Args:
        mechanism: q, σ > 0 and T = `releases` are used.
        runs: R, even; half with z, half with z′.
        checkpoints: increasing numbers of steps, the last being T.
        seed: the config's seed.
        names: what tells this game's random streams from others'.

    Raises:
        InputError: unusable runs or checkpoints, σ = 0.

    Example:
        >>> mechanism = Mechanism(0, 1.0, 1.0, 1.0, 1e-5, releases=9)
        >>> scores = play_worst_case(mechanism, 2000, (9,), 1)
        >>> round(float(scores.present.mean()))  # μ²/2 for μ = 2√9
        18
    """
    _check_rounds(runs, checkpoints, mechanism)
    lengths = np.diff((0, *checkpoints))
    found = []
    for sign, hypothesis in zip((1, -1), HYPOTHESES):
        random = generator(seed, *names, hypothesis)
        size = (runs // 2, len(checkpoints))
        seen = random.binomial(lengths, mechanism.participation, size)
        noise = random.standard_normal(size) * np.sqrt(lengths) * mechanism.noise_multiplier
        sums = np.cumsum(sign * seen + noise, axis=1)
        prefixes = [
            log_ratio(column, replace(mechanism, releases=steps))
            for column, steps in zip(sums.T, checkpoints)
        ]
        found.append(np.stack(prefixes, axis=1))
    return Scores(found[0], found[1], np.empty(0))


def _train(
    game: Game,
    hypothesis: str,
    data: Examples,
    gradient: Coordinate | None,
    pair: GradientPair | InputPair | None,
    runs: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Train all runs of one hypothesis in blocks; return their scores and the mean accuracy."""
    scores = np.zeros((runs, len(game.checkpoints)))
    right = np.zeros(len(game.checkpoints))
    for first in range(0, runs, BLOCK):
        block = slice(first, min(first + BLOCK, runs))
        passage = trajectory(
            game.start,
            data,
            game.training,
            block.stop - first,
            game.checkpoints,
            generator(game.seed, *game.names, hypothesis, first),
            None if gradient is None else game.canary,
            gradient,
        )
        for column, weights in enumerate(passage):
            if pair is not None:
                scores[block, column] = _score(pair, game.start, weights)
            right[column] += accuracy(weights, game.test.features, game.test.labels).sum()
    return scores, right / runs


def _score(
    pair: GradientPair | InputPair, start: Weights, weights: Weights
) -> npt.NDArray[np.float64]:
    if isinstance(pair, InputPair):
        logits = confidence(weights, pair.features, pair.labels)
        return logits[:, 0] - logits[:, 1]
    layer = weights[pair.layer].reshape(len(weights[pair.layer]), -1)
    return start[pair.layer].flat[pair.index] - layer[:, pair.index].astype(np.float64)


def _with(game: Game, pair: InputPair, which: int) -> Examples:
    """Return the data with one of the pair in the canary's place."""
    features, labels = game.examples.features.copy(), game.examples.labels.copy()
    features[game.canary], labels[game.canary] = pair.features[which], pair.labels[which]
    return Examples(features, labels, game.examples.classes)


def _check_rounds(runs: int, checkpoints: tuple[int, ...], mechanism: Mechanism) -> None:
    if runs < 2 or runs % 2:
        raise InputError(f"runs = {runs}: an even number of at least 2 is needed")
    increasing = all(a < b for a, b in zip((0, *checkpoints), checkpoints))
    if not checkpoints or not increasing or checkpoints[-1] != mechanism.releases:
        raise InputError(
            f"checkpoints = {checkpoints}: increasing numbers of steps from 1 that end at "
            f"releases = {mechanism.releases} are needed"
        )
    if mechanism.noise_multiplier == 0.0:
        raise InputError("noise_multiplier = 0: without noise every game is won")


def _check_record(game: Game, pair: InputPair) -> None:
    Examples(pair.features, pair.labels, game.examples.classes)
    same_label = pair.labels[0] == game.examples.labels[game.canary]
    if not same_label or not np.array_equal(pair.features[0], game.examples.features[game.canary]):
        raise InputError(f"canary = {game.canary}: z is not the record at that position")


def _check_coordinate(game: Game, pair: GradientPair) -> None:
    sizes = [layer.size for layer in game.start]
    if not (0 <= pair.layer < len(sizes) and 0 <= pair.index < sizes[pair.layer]):
        raise InputError(
            f"coordinate {pair.index} of layer {pair.layer}: the network's layers have {sizes} "
            "coordinates"
        )
