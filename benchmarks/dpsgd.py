"""Time batched DP-SGD beside the same training in Opacus: `python benchmarks/dpsgd.py [--full]`.

Both train on the same records with the same q, clip, noise and steps, on one core each. Opacus
trains one run at a time; its batches are drawn beforehand and its loader is left out, in its
favour. `--full` trains all 2,500 runs × 500 steps of the linear head; otherwise that time is
projected from the runs measured.
"""

import argparse
import os
import statistics
import time
from itertools import pairwise

# Before NumPy is loaded: a product that waits for a second thread times the machine's other load.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from pe_core import Mechanism
from pe_core.dpsgd import Examples, Network, Training
from pe_core.dpsgd.training import trajectory

RUNS, STEPS, BLOCK, REPEATS = 2500, 500, 32, 3
CASES = [
    # name, records, features, classes, hidden, optimizer
    ("linear head", 500, 384, 3, (), "sgd"),
    ("three layers", 500, 64, 10, (32, 32), "adam"),
]


def problem(records: int, features: int, classes: int) -> Examples:
    """Random unit records with random labels."""
    random = np.random.default_rng(0)
    values = random.normal(size=(records, features)).astype(np.float32)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    return Examples(values, random.integers(0, classes, records), classes)


def ours(data: Examples, hidden: tuple[int, ...], training: Training, runs: int) -> float:
    """Seconds for `runs` runs in blocks."""
    start = Network(data.features.shape[1], data.classes, hidden).start(np.random.default_rng(0))
    steps = training.mechanism.releases
    began = time.perf_counter()
    for first in range(0, runs, BLOCK):
        block = min(BLOCK, runs - first)
        for _ in trajectory(start, data, training, block, (steps,), np.random.default_rng(first)):
            pass
    return time.perf_counter() - began


def opacus(data: Examples, hidden: tuple[int, ...], training: Training) -> float:
    """Seconds for one run in Opacus."""
    import torch
    from opacus.grad_sample import GradSampleModule
    from opacus.optimizers import DPOptimizer

    torch.set_num_threads(1)
    mechanism = training.mechanism
    widths = [data.features.shape[1], *hidden, data.classes]
    layers: list[torch.nn.Module] = []
    for inputs, units in pairwise(widths):
        layers += [torch.nn.Linear(inputs, units), torch.nn.Tanh()]
    model = GradSampleModule(torch.nn.Sequential(*layers[:-1]))
    kind = torch.optim.Adam if training.optimizer == "adam" else torch.optim.SGD
    optimizer = DPOptimizer(
        kind(model.parameters(), lr=training.learning_rate),
        noise_multiplier=mechanism.noise_multiplier,
        max_grad_norm=mechanism.clip,
        expected_batch_size=mechanism.participation * data.count,
    )
    features, labels = torch.from_numpy(data.features), torch.from_numpy(data.labels)
    sampled = torch.rand(mechanism.releases, data.count) < mechanism.participation
    began = time.perf_counter()
    for row in sampled:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(features[row]), labels[row]).backward()
        optimizer.step()
    return time.perf_counter() - began


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="train all runs of the linear head")
    full = parser.parse_args().full
    print(f"{'training':14} {'q':>7} {'ours µs':>9} {'Opacus µs':>10} {'ratio':>6} "
          f"{RUNS:,} × {STEPS} ours")  # fmt: skip
    for name, records, features, classes, hidden, optimizer in CASES:
        data = problem(records, features, classes)
        for share in (1.0, 0.25, 0.0625):
            steps = 40
            mechanism = Mechanism(records - 1, share, 1.0, 1.0, 1e-5, releases=steps)
            training = Training(mechanism, 0.1, optimizer)
            ours(data, hidden, training, BLOCK)
            opacus(data, hidden, training)
            pairs = [
                (ours(data, hidden, training, 2 * BLOCK) / (2 * BLOCK * steps),
                 opacus(data, hidden, training) / steps)
                for _ in range(REPEATS)
            ]  # fmt: skip
            own, other = (statistics.median(times) for times in zip(*pairs))
            ratio = statistics.median(b / a for a, b in pairs)
            print(f"{name:14} {share:7g} {own * 1e6:9.1f} {other * 1e6:10.1f} {ratio:6.1f} "
                  f"{own * RUNS * STEPS:7.0f} s projected", flush=True)  # fmt: skip
    if full:
        data = problem(500, 384, 3)
        mechanism = Mechanism(499, 0.25, 1.0, 1.0, 1e-5, releases=STEPS)
        seconds = ours(data, (), Training(mechanism, 0.1), RUNS)
        print(f"linear head, q = 0.25, all {RUNS:,} runs × {STEPS} steps: {seconds:.0f} s measured")


if __name__ == "__main__":
    main()
