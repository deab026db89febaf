"""One round of Private Evolution without generation and encoding, at the paper's scale.

Run: python benchmarks/evolution.py [--quick]

A second round, after 95% of the bank has been replaced: routing, contributions, the release, the
survivors and the feedback, for the voters alone and for auxiliary and calibration users too.
Beside it the round of a plain NumPy implementation: all distances of a block by one product,
argpartition, and a dense vote matrix by np.add.at.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy import sparse

from pe_core import Mechanism, contribution, evolution, routing

D = 384
RECORDS = 64
BLOCK = 2048


def embeddings(seed: int, n: int) -> np.ndarray:
    """Unit rows around a 32-dimensional subspace, as texts have them."""
    rng = np.random.default_rng(seed)
    directions = np.random.default_rng(0).standard_normal((32, D), dtype=np.float32)
    rows = rng.standard_normal((n, 32), dtype=np.float32) @ directions
    rows += rng.standard_normal((n, D), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def seconds(work: Callable[[], object]) -> tuple[float, float, object]:
    """Wall seconds, core-seconds and the result."""
    wall, cores = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - wall, time.process_time() - cores, result


def plain_votes(records: np.ndarray, bank: np.ndarray, user: np.ndarray, users: int) -> np.ndarray:
    """Dense clipped votes the plain way; float32 distances decide."""
    votes = np.zeros((users, len(bank)))
    for start in range(0, len(records), BLOCK):
        rows = slice(start, start + BLOCK)
        near = np.argpartition(-(records[rows] @ bank.T), 5, axis=1)[:, :5]
        np.add.at(votes, (np.repeat(user[rows], 5), near.ravel()), 1.0)
    votes /= 5 * RECORDS
    norms = np.linalg.norm(votes, axis=1, keepdims=True)
    return votes * np.minimum(1.0, 0.1 / np.maximum(norms, 1e-300))


def round_of(users: int, p: int, probes: int, title: str) -> None:
    records = embeddings(1, users * RECORDS)
    user = np.repeat(np.arange(users), RECORDS)
    mechanism = Mechanism(users, 0.1, 1.1088, 0.1, 1e-5)
    bank = evolution.Bank(
        tuple(map(str, range(p))), ("label",) * p, tuple(range(0, p, p // probes))[:probes]
    )
    vectors = embeddings(2, p)
    before = routing.top_k(records, vectors, 5)
    rng = np.random.default_rng(3)
    kept = np.union1d(rng.permutation(bank.free())[: -(-p // 20)], bank.reserved)
    changed = np.setdiff1d(np.arange(p), kept)
    vectors = vectors.copy()
    vectors[changed] = embeddings(4, len(changed))
    rules = evolution.Rules()

    def publish(votes: sparse.csr_array) -> evolution.Release:
        return evolution.publish(votes, mechanism, np.random.default_rng(5), rng)

    table = []

    def step(name: str, work: Callable[[], object]) -> object:
        wall, cores, result = seconds(work)
        table.append((name, wall, cores))
        return result

    routes = step("route", lambda: evolution.reroute(before, records, vectors, changed))
    votes = step(
        "contributions",
        lambda: contribution.contributions(routes.index, user, users, p, mechanism.clip),
    )
    release = step("sample, sum, noise", lambda: publish(votes))
    survivors = step("survivors", lambda: evolution.select(bank, release, rules, rng))
    step("feedback", lambda: evolution.requests(bank, release, survivors, rules, rng))
    wall, cores, dense = seconds(lambda: plain_votes(records, vectors, user, users))
    scratch, _, again = seconds(lambda: routing.top_k(records, vectors, 5))
    assert np.array_equal(routes.index, again.index)
    # Both clip the same votes but where float32 and float64 order differ.
    agree = float((np.abs(votes.toarray() - dense) < 1e-12).all(axis=1).mean())
    total, total_cores = (sum(row[column] for row in table) for column in (1, 2))
    print(f"\n{title}: N = {users:,}, {len(records):,} records, p = {p:,}, {len(changed):,} new")
    print(f"  {'step':<22}{'seconds':>9}{'core-s':>9}")
    for name, *times in table:
        print(f"  {name:<22}{times[0]:>9.3f}{times[1]:>9.3f}")
    print(f"  {'round':<22}{total:>9.3f}{total_cores:>9.3f}")
    print(f"  {'plain NumPy, its votes':<22}{wall:>9.3f}{cores:>9.3f}", end="")
    print(f"   {cores / total_cores:.2f} times the core-seconds; {agree:.1%} of users alike")
    print(f"  {'all routed again':<22}{scratch:>9.3f}   {scratch / table[0][1]:.2f} times the time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the users, a bank of 1,024"
    )
    if parser.parse_args().quick:
        round_of(20, 256, 8, "warm-up")
        round_of(200, 1024, 8, "voters")
        return
    round_of(20, 256, 8, "warm-up")
    round_of(2000, 8192, 64, "voters")
    round_of(3000, 8192, 64, "with auxiliary and calibration users")


if __name__ == "__main__":
    main()
