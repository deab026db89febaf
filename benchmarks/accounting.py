"""Seconds, memory and width of the account over its range, beside Opacus and dp-accounting.

    python benchmarks/accounting.py           a few minutes
    python benchmarks/accounting.py --full    every corner of the range; half an hour

A row is one mechanism in a process of its own: the account with its checks, the width of its
interval over ε, the peak resident memory, and what the two libraries answer when asked plainly with
their defaults for the same mechanism, in seconds as a ratio to ours. `fails` is an exception, and
`—` means not asked: the answer would need more than 10⁷ cells.
"""

import argparse
import itertools
import math
import multiprocessing
import resource
import time
import warnings

ROWS = [
    (0.1, 1.0, 1, 1e-5),
    (0.1, 1.1088, 6, 1e-5),
    (1.0, 1.0, 1, 1e-5),
    (0.1, 0.05, 1, 1e-5),
    (1e-4, 1.0, 1, 1e-5),
    (0.1, 1.0, 1000, 1e-5),
    (0.1, 1.0, 100_000, 1e-5),
    (1e-6, 0.02, 100_000, 1e-5),
    (1e-6, 1.0, 100_000, 1e-16),
    (0.1, 1.0, 6, 1e-16),
    (0.5, 100.0, 100_000, 1e-16),
    (0.9, 0.02, 100_000, 1e-16),
]
FULL = list(
    itertools.product(
        (1e-6, 1e-3, 0.1, 0.9, 1.0),
        (0.02, 0.3, 1.0, 10.0, 100.0),
        (1, 2, 100, 100_000),
        (1e-16, 1e-5, 0.5),
    )
)
ADJACENCIES = ("add_remove", "substitute", "substitute_votes")


def ours(q: float, sigma: float, releases: int, delta: float, adjacency: str) -> str:
    from pe_core import Mechanism
    from pe_core.accounting import account, opacus_prv

    mechanism = Mechanism(1000, q, sigma, 0.1, delta, releases=releases)
    # Compiling, and importing the libraries, are paid once.
    warm = Mechanism(1000, 0.1, 1.0, 0.1, 1e-5, releases=2)
    account(warm, adjacency)
    if adjacency == "add_remove":
        opacus_prv(warm)
    start = time.perf_counter()
    try:
        found = account(mechanism, adjacency)
    except ArithmeticError as error:
        return f"{time.perf_counter() - start:6.2f} s  fails: {error}"
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    e = found.epsilon
    width = (e.high - e.low) / e.high if 0 < e.high < math.inf else 0.0
    text = f"{e.estimate:14.7g} {width:8.1e} {seconds:6.2f} s {memory:5.2f} GB"
    if adjacency == "add_remove" and 0 < e.high < math.inf:
        for name, ask in (("Opacus", opacus), ("dp-accounting", library)):
            text += f"  {name} {ask(q, sigma, releases, delta, e.high, seconds)}"
    return text


def opacus(q: float, sigma: float, releases: int, delta: float, high: float, base: float) -> str:
    from pe_core import AccuracyError, Mechanism
    from pe_core.accounting import opacus_prv

    start = time.perf_counter()
    try:
        value = opacus_prv(Mechanism(1000, q, sigma, 0.1, delta, releases=releases))
    except AccuracyError:
        return "fails"
    return f"{value:.6g} ({(time.perf_counter() - start) / base:.2f}×)"


def library(q: float, sigma: float, releases: int, delta: float, high: float, base: float) -> str:
    from dp_accounting.pld import privacy_loss_distribution as pld

    if max(4 * high, 40 / sigma**2) / 1e-4 > 1e7:
        return "—"
    start = time.perf_counter()
    try:
        one = pld.from_gaussian_mechanism(sigma, sampling_prob=q)
        value = one.self_compose(releases).get_epsilon_for_delta(delta)
    except (ValueError, ArithmeticError, MemoryError):
        return "fails"
    return f"{value:.6g} ({(time.perf_counter() - start) / base:.2f}×)"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true")
    rows = FULL if parser.parse_args().full else ROWS
    warnings.simplefilter("ignore")
    context = multiprocessing.get_context("spawn")
    print("adjacency               q     σ       T       δ              ε    width   time  memory")
    for row, adjacency in itertools.product(rows, ADJACENCIES):
        with context.Pool(1) as pool:
            text = pool.apply(ours, (*row, adjacency))
        q, sigma, releases, delta = row
        print(f"{adjacency:17} {q:7g} {sigma:5g} {releases:7d} {delta:7g} {text}", flush=True)


if __name__ == "__main__":
    main()
