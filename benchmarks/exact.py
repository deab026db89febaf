"""What exact evaluation costs, beside sampling and a plain inversion in the same run.

    python benchmarks/exact.py

Times are processor times, so that other work on the machine does not enter.

For each population: the time of one search for the best threshold (test prepared anew, kernels
warm), the time of NumPy drawing a thousand trials a hypothesis of the same test, and the trials
that sampling would need for its FPR at the best threshold to have a relative error of 1%. Then the
plain inversion (NumPy, no tilt, no pruning) at the same nodes as one window, as a ratio, and the
exposure of users at the paper's scale.
"""

import os

# Small matrices: threads of the linear algebra only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from pe_core import Mechanism
from pe_core.background import estimate
from pe_core.best import best_epsilon
from pe_core.exact import linear_test
from pe_core.exposure import everyone
from pe_core.kernels import characteristic
from pe_core.linear_test import LinearTest
from pe_core.score import LinearScore
from pe_core.seeds import generator

Floats = NDArray[np.float64]


def users(rng: np.random.Generator, count: int, coordinates: int) -> Floats:
    """Clipped contributions on some coordinates: few and uneven votes, most of them elsewhere."""
    rate = 0.3 * rng.gamma(0.3, 1 / 0.3, (count, 1)) * rng.gamma(0.5, 2.0, (1, coordinates))
    votes = rng.poisson(rate).astype(np.float64) / 320.0
    norms = np.sqrt((votes**2).sum(axis=1) + rng.uniform(0.05, 0.15, count) ** 2)
    return votes * np.minimum(1.0, 0.1 / norms)[:, None]


def fastest(call: Callable[[], object], repeats: int) -> float:
    """Least processor seconds of some repeats: all of it runs on one thread."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def sample(test: LinearTest, shifts: Floats, trials: int) -> Floats:
    """Draw the score without the canary, as NumPy does it."""
    rng = np.random.default_rng(0)
    joined = rng.random((trials, shifts.size)) < test.participation
    return joined @ shifts + test.noise * rng.standard_normal(trials)


def cell(population: int, sigma: float) -> None:
    """Print one row."""
    rng = generator(1, "exact", population, str(sigma))
    mechanism = Mechanism(population, 0.1, sigma, 0.1, 1e-5)
    canary = rng.poisson(3.0, 64) / 320.0
    canary *= min(1.0, 0.1 / float(np.linalg.norm(canary)))
    score = LinearScore.fit(canary, estimate(users(rng, 500, 64), mechanism), mechanism)
    others = users(rng, population, 64)

    def search() -> float:
        return best_epsilon(linear_test(score, others, canary, mechanism), 1e-5).epsilon

    search()
    seconds = fastest(search, 1 if population > 10**5 else 15)
    test = linear_test(score, others, canary, mechanism)
    best = best_epsilon(test, 1e-5)
    rate = float(test.rates(best.threshold).fpr)
    trials = 1000 if population <= 10**4 else 20
    drawn = fastest(lambda: sample(test, others @ score.weights, trials), 3) / trials
    needed = 1e4 * (1.0 - rate) / rate
    print(
        f"{population:9d} {sigma:6.2f} {best.epsilon:8.4f} {rate:9.2e} {1e3 * seconds:10.2f} ms"
        f" {1e6 * drawn:12.1f} µs {needed:10.1e} {needed * drawn / seconds:12.1e}"
    )


def inversion() -> None:
    """Print the kernel's time beside a NumPy product over the same users and nodes."""
    rng = generator(1, "inversion")
    weights = np.sort(rng.normal(size=1000) * 0.3)
    counts, nodes = np.ones(1000, dtype=np.int64), 0.13 * np.arange(64)
    present, absent = characteristic.tilted_probabilities(0.5, weights, 0.1)

    def fast() -> None:
        real, imag = np.exp(-0.5 * nodes**2), np.zeros(64)
        characteristic.characteristic(
            weights, counts, present, absent, 0.13, real, imag, np.ones(64), 1e-24
        )

    def plain() -> Floats:
        turn = np.exp(1j * np.multiply.outer(nodes, weights))
        return (np.exp(-0.5 * nodes**2) * (absent + present * turn).prod(axis=1)).real

    fast()
    kernel, numpy = fastest(fast, 30), fastest(plain, 30)
    print(
        f"characteristic function, 1000 users, 64 nodes: {1e3 * kernel:.3f} ms, "
        f"NumPy {1e3 * numpy:.3f} ms, ratio {numpy / kernel:.1f}"
    )


def exposures(count: int = 100) -> None:
    """Print the time of some of 1,000 users as canaries, with 8,192 bank positions."""
    rng = generator(1, "exposures")
    popular = rng.gamma(0.3, size=8192)

    def cohort(size: int) -> csr_array:
        rows = []
        for _ in range(size):
            liked = popular * rng.gamma(0.1, size=8192)
            votes = np.bincount(rng.choice(8192, 320, p=liked / liked.sum()), minlength=8192)
            votes = votes / 320.0
            rows.append(csr_array((votes * min(1.0, 0.1 / np.linalg.norm(votes)))[None]))
        return csr_array(vstack(rows))

    tests, auxiliary = cohort(1000), cohort(500)
    mechanism = Mechanism(1000, 0.1, 1.0, 0.1, 1e-5)
    list(islice(everyone(auxiliary, tests, mechanism), 2))
    start = time.process_time()
    found = list(islice(everyone(auxiliary, tests, mechanism), count))
    seconds = time.process_time() - start
    inspected = np.mean([user.inspected for user in found])
    print(
        f"everyone as the canary: {count} of 1000 users, {inspected:.0f} coordinates on average, "
        f"{seconds:.1f} CPU s; all of them about {10 * seconds * 100 / count:.0f} s on one core"
    )


def main() -> None:
    """Print the tables."""
    print(
        f"{'users':>9} {'σ':>6} {'ε best':>8} {'FPR':>9} {'search':>13} {'one trial':>15}"
        f" {'trials':>10} {'time ratio':>12}"
    )
    for population, sigma in (
        (0, 1.0),
        (1000, 1.0),
        (1000, 0.2),
        (1000, 0.05),
        (10**4, 1.0),
        (10**6, 1.0),
        (10**6, 0.05),
    ):
        cell(population, sigma)
    inversion()
    exposures()


if __name__ == "__main__":
    main()
