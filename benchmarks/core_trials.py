"""Trials: time a trial beside NumPy and beside the random bits alone; what each step costs."""

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
from measure import seconds, table

from pe_core import Mechanism, inclusion, threads, trials
from pe_core.kernels import random, sampling
from pe_core.score import LinearScore

KEY = np.uint64(1)


def core_seconds(work: Callable[[], object], repeats: int = 10) -> float:
    return seconds(work, repeats, clock=time.thread_time)


def audit(users: int, q: float) -> tuple:
    """A score whose N users all have a weight, as natural text on many probes has."""
    weights = 0.05 * np.random.default_rng(0).random(users) + 1e-3
    score = LinearScore(np.array([1.0]), float(q * weights.sum()), 1.0)
    return score, weights[:, None], np.array([0.1]), Mechanism(users, q, 1.0, 0.1, 1e-5)


def one_core(call: tuple, n: int) -> float:
    """Seconds of n trials in blocks, one after another on one core."""
    prepared = trials._prepare(*call, n, np.random.SeedSequence(1))
    blocks = -(-n // sampling.BLOCK)
    counts = np.empty((2, blocks, 1), np.int64)
    limit = np.array([1.0])
    return core_seconds(
        lambda: sampling.count_blocks(0, blocks, counts[0], counts[1], n, limit, *prepared)
    )


def bits_alone(users: int, q: float) -> float:
    """Seconds of the inclusion words of one block on one core."""
    size, patterns = inclusion.plan(users, min(q, 1 - q))
    groups = -(-users // size) if patterns.bits else 0
    words = np.empty(sampling.BLOCK // sampling.FIELDS, np.uint64)

    def draw() -> None:
        for lane in range(groups):
            random.fill(words, KEY, lane, 0)

    return core_seconds(draw) if groups else 0.0


def numpy_trials(users: int, q: float, n: int) -> float:
    rng = np.random.default_rng(0)
    weights = rng.random(users)

    def draw() -> None:
        for _ in range(n):
            (rng.random(users) < q) @ weights + rng.standard_normal()

    return core_seconds(draw, repeats=3)


def numpy_batches(users: int, q: float, n: int) -> float:
    rng = np.random.default_rng(0)
    weights = rng.random(users)
    return core_seconds(
        lambda: (rng.random((n, users), dtype=np.float32) < q) @ weights + rng.standard_normal(n),
        repeats=3,
    )


def tables(size: str) -> Iterator[str]:
    n = 4 * sampling.BLOCK if size == "quick" else 16 * sampling.BLOCK
    rows = []
    for users, q in [
        (1000, 0.5),
        (1000, 0.1),
        (1000, 0.01),
        (1000, 1e-3),
        (1000, 1e-5),
        (1000, 0.9),
        (1000, 0.999),
    ]:
        call = audit(users, q)
        seed = np.random.SeedSequence(1)
        ours = seconds(lambda: trials.error_counts(*call, 1.0, n, seed)) / n * 1e9  # noqa: B023
        single = one_core(call, n // 4) / (n // 4) * 1e9
        plain = numpy_trials(users, q, 2000) / 2000 * 1e9
        batch = numpy_batches(users, q, 2000) / 2000 * 1e9
        bits = bits_alone(users, q) / sampling.BLOCK * 1e9
        entropy = users * -(q * math.log2(q) + (1 - q) * math.log2(1 - q)) if 0 < q < 1 else 0.0
        rows.append(
            [users, q, ours, single, plain / single, batch / single, bits,
             single / bits if bits else "-", entropy]
        )  # fmt: skip
    yield table(
        f"Trials: nanoseconds a trial ({threads.cores()} threads, then one core and its ratios)",
        ["N", "q", "all cores", "one core", "NumPy/ours", "NumPy batch/ours", "bits alone",
         "ours/bits", "entropy (bits)"],
        rows,
        "One core and its ratios are CPU time. NumPy: (rng.random(N) < q) @ s a trial; batch:\n"
        "2,000 trials at once in float32. Bits alone: the inclusion words on one core, without\n"
        "a lookup. Entropy: least random bits that a trial needs.",
    )  # fmt: skip
    yield step_costs()


def step_costs() -> str:
    """The constants that the choice of tables weighs."""
    users, q, block = 1000, 0.1, sampling.BLOCK
    size, patterns = inclusion.plan(users, q)
    weights = np.random.default_rng(0).random((-(-users // size), size))
    sums, cells = np.empty(patterns.parent.size), np.empty(1 << patterns.bits)
    words, total = np.empty(block // sampling.FIELDS, np.uint64), np.zeros(block)
    escaped, trial = np.empty(words.size + 1, np.int64), np.empty(block + 1, np.int64)
    used = patterns.first_cell[-1]
    fill = core_seconds(lambda: random.fill(words, KEY, 0, 0), 50) / block
    draw = (
        core_seconds(lambda: sampling.add_table_draws(total, words, cells, used, escaped), 50)
        / block
    )
    n = sampling.add_table_draws(total, words, cells, used, escaped)
    escapes = sampling.escaped_trials(words, escaped[:n], cells.size, used, trial)
    pattern = core_seconds(
        lambda: sampling.pattern_sums(weights[0], patterns.parent, patterns.member, 0.1, sums), 50
    )
    cell = core_seconds(lambda: sampling.fill_table(sums, patterns.first_cell, cells), 50)
    whole = core_seconds(lambda: sampling.add_tables(total, weights, q, patterns, KEY, 0))
    rest = whole / weights.shape[0] - (fill + draw) * block - pattern - cell
    rare = np.random.default_rng(0).random(users)
    skip = core_seconds(lambda: sampling.add_skips(total, rare, 1e-4, KEY, 0)) / (
        users * 1e-4 * block
    )
    rows = [
        ["random bits of a table draw", fill * 1e9],
        ["table draw", draw * 1e9],
        ["escape", rest / escapes * 1e9],
        ["table cell filled", cell / cells.size * 1e9],
        ["pattern summed", pattern / sums.size * 1e9],
        ["skip", skip * 1e9],
    ]
    title = f"Trials: nanoseconds a step on one core (groups of {size} users, {cells.size:,} cells)"
    return table(title, ["step", "ns"], rows)
