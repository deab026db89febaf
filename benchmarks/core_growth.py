"""Growth of time and memory with the population, the trials, the pool and the users' canaries."""

import time
from collections.abc import Callable, Iterator

import numpy as np
from core_probes import pool_covariance, problem
from core_trials import audit
from measure import growth, in_child, seconds

from pe_core import background, probes, trials
from pe_core.kernels import sampling
from pe_core.mechanism import Mechanism
from pe_core.score import LinearScore

SIZES = {
    "population": {
        "quick": [1_000, 10_000],
        "default": [1_000, 10_000, 100_000],
        "full": [1_000, 10_000, 100_000, 1_000_000],
    },
    "trials": {
        "quick": [100_000, 1_000_000],
        "default": [100_000, 1_000_000, 10_000_000],
        "full": [100_000, 1_000_000, 10_000_000, 100_000_000],
    },
    "pool": {
        "quick": [100, 1_000],
        "default": [100, 1_000, 10_000],
        "full": [100, 1_000, 10_000],
    },
    "canaries": {"quick": [1, 10], "default": [1, 10, 100], "full": [1, 10, 100, 1_000]},
}
# Why a column may grow faster than its size; printed where it does.
REASONS = {
    "population": {
        "CPU s": "the weights of a block's groups no longer stay in the second cache",
        "peak MB": "the contributions given",
    },
    "trials": {
        "CPU s": "linear; what is above is the clock's noise",
        "peak MB": "two counts a block of trials",
    },
    "pool": {
        "norm CPU s": "the distances, M × m, no longer stay in the second cache",
        "norm peak MB": "the distances, M × m, in the order given and by candidate",
        "mu_eff CPU s": "the covariance, M × M, is read once to check it, 9/10 of the time at 10⁴",
        "mu_eff peak MB": "the covariance given, M × M",
    },
    "canaries": {
        "CPU s": "linear; what is above is the clock's noise",
        "peak MB": "one canary is held at a time",
    },
}


def count_trials(users: int, n: int) -> Callable[[], object]:
    call = audit(users, 0.1)
    return lambda: trials.error_counts(*call, 1.0, n, np.random.SeedSequence(1))


def select(candidates: int, objective: probes.Objective) -> Callable[[], object]:
    base, pool = problem(candidates)
    sigma = pool_covariance(candidates) if objective == "mu_eff" else None
    return lambda: probes.select(base, pool, 16, objective, sigma)


def audits(canaries: int) -> Callable[[], object]:
    """Score and sampled counts of many canaries on one population, as an audit of all users has."""
    rng = np.random.default_rng(0)
    users = rng.random((1000, 64)) * (rng.random((1000, 64)) < 0.02) * 0.05
    mechanism = Mechanism(1000, 0.1, 1.0, 0.1, 1e-5)
    model = background.estimate(users[:500], mechanism)
    votes = 0.1 * rng.dirichlet(np.ones(64), canaries)

    def run() -> None:
        for v, seed in zip(votes, np.random.SeedSequence(1).spawn(canaries)):
            score = LinearScore.fit(v, model, mechanism)
            trials.error_counts(score, users, v, mechanism, 2.0, 100_000, seed)

    return run


COSTS: dict[str, dict[str, Callable[[int], Callable[[], object]]]] = {
    "population": {"": lambda users: count_trials(users, 2 * sampling.BLOCK)},
    "trials": {"": lambda n: count_trials(1000, n)},
    "pool": {
        "norm": lambda candidates: select(candidates, "norm"),
        "mu_eff": lambda candidates: select(candidates, "mu_eff"),
    },
    "canaries": {"": audits},
}


def run(name: str, label: str, size: int) -> None:
    COSTS[name][label](size)()


def tables(size: str) -> Iterator[str]:
    """Yield the tables of one size (quick, default or full) as they get ready.

    CPU time of all threads, so that a column shows the work and not what else the machine does.
    Memory is the peak of a fresh process, its input included.
    """
    repeats, at_most = (1, 1.0) if size == "quick" else (3, 5.0)
    for name, each in SIZES.items():
        sizes, columns = each[size], {}
        for label, prepare in COSTS[name].items():
            columns[f"{label} CPU s".strip()] = [
                seconds(prepare(n), repeats, at_most, clock=time.process_time) for n in sizes
            ]
            columns[f"{label} peak MB".strip()] = [
                in_child("core_growth", "run", name, label, n)[1] for n in sizes
            ]
        yield growth(name, sizes, columns, REASONS[name], f"Growth with the {name}")
