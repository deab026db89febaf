"""Trials: time a trial beside NumPy and beside the random bits alone; what each step costs."""

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
from measure import seconds, table
from numba import njit

from pe_core import Mechanism, inclusion, threads, trials
from pe_core.kernels import random, sampling
from pe_core.score import LinearScore

KEY = np.uint64(1)
REPEATS = 5


def core_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
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


@njit(nogil=True)
def draw_bits(words, groups, block):
    for lane in range(groups):
        random.fill(words, KEY, lane, block)


def bits_alone(users: int, q: float, blocks: int) -> float:
    """Seconds of the inclusion words of some blocks by all threads, as the trials divide them."""
    size, patterns = inclusion.plan(users, min(q, 1 - q))
    groups = -(-users // size) if patterns.bits else 0

    def start(_: int) -> Callable[[slice], None]:
        words = np.empty(sampling.BLOCK // sampling.FIELDS, np.uint64)

        def work(own: slice) -> None:
            for block in range(own.start, own.stop):
                draw_bits(words, groups, block)

        return work

    return seconds(lambda: threads.in_blocks(blocks, start), REPEATS) if groups else 0.0


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
    blocks = 4 if size == "quick" else 16
    n, plain_trials = blocks * sampling.BLOCK, 500 if size == "quick" else 2000
    rows = []
    for q in (0.1, 1e-3, 0.9) if size == "quick" else (0.5, 0.1, 0.01, 1e-3, 1e-5, 0.9, 0.999):
        users, seed = 1000, np.random.SeedSequence(1)
        call = audit(users, q)
        ours = seconds(lambda: trials.error_counts(*call, 1.0, n, seed), REPEATS) / n * 1e9  # noqa: B023
        bits = bits_alone(users, q, blocks) / n * 1e9
        single = one_core(call, n // 4) / (n // 4) * 1e9
        plain = numpy_trials(users, q, plain_trials) / plain_trials * 1e9
        batch = numpy_batches(users, q, plain_trials) / plain_trials * 1e9
        entropy = users * -(q * math.log2(q) + (1 - q) * math.log2(1 - q))
        rows.append(
            [users, q, ours, bits, ours / bits if bits else "-", single, plain / single,
             batch / single, entropy]
        )  # fmt: skip
    yield table(
        f"Trials: nanoseconds a trial by {threads.cores()} threads, then by one core",
        ["N", "q", "ours", "bits alone", "ours/bits", "one core", "NumPy/ours",
         "NumPy batch/ours", "entropy (bits)"],
        rows,
        "Target: 100 ns at q = 0.1. Bits alone: the inclusion words, without a lookup, by as many\n"
        "threads. One core and its ratios are CPU time. NumPy: (rng.random(N) < q) @ s a trial;\n"
        f"batch: {plain_trials:,} trials at once in float32. Entropy: least random bits that a "
        "trial needs.",
    )  # fmt: skip
    if size != "quick":
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
