"""Growth of time and memory with the population, the trials, the pool and the users' canaries."""

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from core_probes import problem
from core_trials import audit
from measure import exponents, extra_memory, seconds, table

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
    "population CPU s": "each group's weights and table are read for fewer trials at a time",
    "population MB": "one weight a user, beside the contributions given",
    "trials CPU s": "the plan and the start of the threads weigh on short runs",
    "trials MB": "two counts a block of trials",
    "pool norm CPU s": "the pool's distances, M × m, leave the caches; r of M are soon taken",
    "pool norm MB": "the pool's distances by candidate, M × m",
    "pool mu_eff CPU s": "the covariance, M × M, is checked once",
    "pool mu_eff MB": "the pool's distances, M × m, and the solved rows, r × M",
    "canaries CPU s": "fixed costs are below the clock's noise",
    "canaries MB": "one canary is held at a time",
}


def growth(
    name: str, sizes: Sequence[int], costs: dict[str, Callable[[int], Callable[[], object]]]
) -> str:
    """CPU time and extra memory at each size, and the exponent between the two largest.

    CPU time of all threads, so that a column shows the work and not what else the machine does.
    """
    columns: dict[str, list[float]] = {}
    for label, prepare in costs.items():
        prepare(sizes[0])()
        for size in sizes:
            work = prepare(size)
            # Memory first: a second call would reuse what the first one left.
            memory, spent = extra_memory(work), seconds(work, 3, 5.0, clock=time.process_time)
            columns.setdefault(f"{label} CPU s".strip(), []).append(spent)
            columns.setdefault(f"{label} MB".strip(), []).append(memory)
    rows: list[list[object]] = [
        [size, *(values[i] for values in columns.values())] for i, size in enumerate(sizes)
    ]
    # Under a megabyte, pages and not the algorithm decide the peak.
    last = {
        label: exponents(sizes, values)[-1]
        for label, values in columns.items()
        if not (label.endswith("MB") and min(values[-2:]) < 1.0)
    }
    rows.append(["exponent", *(f"{last[c]:.2f}" if c in last else "-" for c in columns)])
    over = [f"{c} over 1: {REASONS[f'{name} {c}']}" for c, value in last.items() if value > 1.005]
    return table(f"Growth with the {name}", [name, *columns], rows, "\n".join(over))


def count_trials(users: int, n: int) -> Callable[[], object]:
    call = audit(users, 0.1)
    return lambda: trials.error_counts(*call, 1.0, n, np.random.SeedSequence(1))


def select(candidates: int, objective: probes.Objective) -> Callable[[], object]:
    base, pool, covariance = problem(candidates)
    sigma = covariance if objective == "mu_eff" else None
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


def tables(size: str) -> Iterator[str]:
    yield growth(
        "population",
        SIZES["population"][size],
        {"": lambda users: count_trials(users, 2 * sampling.BLOCK)},
    )
    yield growth("trials", SIZES["trials"][size], {"": lambda n: count_trials(1000, n)})
    yield growth(
        "pool",
        SIZES["pool"][size],
        {
            "norm": lambda candidates: select(candidates, "norm"),
            "mu_eff": lambda candidates: select(candidates, "mu_eff"),
        },
    )
    yield growth("canaries", SIZES["canaries"][size], {"": audits})
