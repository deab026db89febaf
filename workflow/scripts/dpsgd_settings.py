"""From the files and parameters of a rule to the library's objects."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from artifacts import load_arrays, load_json
from pe_core import Mechanism
from pe_core.dpsgd import Examples, Game, Training
from pe_core.dpsgd.network import Weights


def mechanism(
    settings: Mapping[str, Any], noise: str | Path, clip: float = 1.0, population: int = 0
) -> Mechanism:
    """Return DP-SGD of all steps.

    Args:
        settings: checkpoints and delta of the config.
        noise: the noise.json of one q.
        clip: C; no ε depends on it.
        population: records besides the canary; no ε depends on it.
    """
    found = load_json(noise)
    return Mechanism(
        population,
        found["participation"],
        found["noise_multiplier"],
        clip,
        settings["delta"],
        releases=settings["checkpoints"][-1],
    )


def examples(records: str | Path) -> dict[str, Examples]:
    """Return the training, auxiliary and test records of a records.npz."""
    stored = load_arrays(records)
    return {
        name: Examples(stored[f"{name}_features"], stored[f"{name}_labels"], int(stored["classes"]))
        for name in ("records", "auxiliary", "test")
    }


def start(canaries: Mapping[str, npt.NDArray[Any]]) -> Weights:
    """Return θ₀ as canaries.npz holds it."""
    layers = sum(name.startswith("start_") for name in canaries)
    return [canaries[f"start_{number}"] for number in range(layers)]


def game(files: Any, params: Any, names: Sequence[str]) -> Game:
    """Return the game of one model and q.

    Args:
        files: a rule's input: records, canaries, noise.
        params: its parameters: model, mechanism, canary, runs, seed.
        names: what tells its random streams from others'.
    """
    data = examples(files.records)
    model = params.model
    settings = mechanism(params.mechanism, files.noise, model["clip"], data["records"].count - 1)
    return Game(
        start(load_arrays(files.canaries)),
        data["records"],
        params.canary,
        Training(settings, model["learning_rate"], model["optimizer"]),
        params.runs,
        tuple(params.mechanism["checkpoints"]),
        data["test"],
        params.seed,
        ("dpsgd", *names),
    )
