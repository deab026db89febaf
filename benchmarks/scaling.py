"""What a million and a hundred million users cost, worked out from exponents measured here.

    python benchmarks/scaling.py [--users 10000000]

First table: seconds of CPU of each stage at growing sizes, and the exponent between them. Second: a
population of `--users` users counted in parts, as results/tables/streamed.csv does. Third: the two
scales, from the largest size measured and the exponents to a tenth, at least 1, with the prices
named below it. Votes are drawn as a bank of a million entries and 64 probes would get them.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator

import numpy as np
from measure import exponents, seconds, table
from scipy.sparse import csr_array

from pe_core import Mechanism, best, contribution, exact, routing, tally, trials
from pe_core.score import LinearScore
from pe_core.text import encoders

RECORDS, VOTES, DIMENSION, PROBES, CLIP = 64, 5, 384, 64, 0.1
BANK = 1_000_000
# Users counted at a time.
PART = 1_000_000
# Renting a core or a GPU for an hour, and keeping a GB for a month, in dollars.
CORE, GPU, STORAGE = 0.04, 2.0, 0.02
# A GPU's texts a second and generated tokens a second, of the order that vendors publish.
GPU_TEXTS, GPU_TOKENS, LINE_TOKENS = 5_000, 5_000, 40


def unit(rows: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((rows, DIMENSION), np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def votes(users: int, rng: np.random.Generator) -> csr_array:
    """Contributions on 64 probes of a bank of a million, for users of 64 records.

    A vote falls on the probes as often as on any 64 entries. Σ votes², which the clip divides by,
    is 320 where all votes differ; users repeat themselves by a share of their own.
    """
    cast = RECORDS * VOTES
    on_probes = rng.binomial(cast, PROBES / BANK, users)
    voting = np.repeat(np.arange(users), on_probes)
    at = rng.integers(0, PROBES, len(voting))
    squares = cast + 2 * rng.poisson(cast * rng.beta(1.0, 8.0, users))
    matrix = csr_array((np.ones(len(voting)), (voting, at)), shape=(users, PROBES))
    matrix.sum_duplicates()
    matrix.data *= np.repeat(CLIP / np.sqrt(squares), np.diff(matrix.indptr))
    return matrix


def audit(n: int) -> tuple:
    """The score of a canary with a vote on every probe."""
    v = np.full(PROBES, CLIP / math.sqrt(PROBES))
    mechanism = Mechanism(n, 0.1, 1.0, CLIP, 1e-5)
    weights = v / mechanism.noise_scale**2
    return LinearScore(weights, float(weights @ v) / 2, 1.0), v, mechanism


def cpu(work: Callable[[], object]) -> float:
    return seconds(work, 2, 8.0, clock=time.process_time)


def stages() -> Iterator[tuple[str, str, list[int], list[float]]]:
    """Yield every stage: name, what its size is, sizes, and CPU seconds."""
    encoder = encoders.load({"model": "all-MiniLM-L6-v2", "dtype": "bfloat16"})
    texts = [f"Record {n} says that the weather in town {n * 7} was fine." for n in range(512)]
    sizes = [128, 512]
    yield "embed", "texts", sizes, [cpu(lambda n=n: encoder.encode(texts[:n])) for n in sizes]
    records, bank = unit(2048, 1), unit(32_768, 2)
    sizes = [8_192, 32_768]
    costs = [cpu(lambda p=p: routing.top_k(records, bank[:p], VOTES)) for p in sizes]
    yield "route, exact, 2,048 records", "candidates", sizes, costs
    sizes = [512, 2_048]
    costs = [cpu(lambda n=n: routing.top_k(records[:n], bank, VOTES)) for n in sizes]
    yield "route, exact, 32,768 candidates", "records", sizes, costs
    rng = np.random.default_rng(3)
    index = rng.integers(0, BANK, (20_000 * RECORDS, VOTES), np.int32)
    owner = np.repeat(np.arange(20_000), RECORDS)
    sizes = [5_000, 20_000]
    yield (
        "contribute",
        "users",
        sizes,
        [
            cpu(
                lambda n=n: contribution.contributions(
                    index[: n * RECORDS], owner[: n * RECORDS], n, BANK, CLIP
                )
            )
            for n in sizes
        ],
    )
    sizes = [250_000, 1_000_000]
    populations = [votes(n, rng) for n in sizes]
    yield "count alike", "users", sizes, [cpu(lambda v=v: tally.tally(v)) for v in populations]
    seed = np.random.SeedSequence(1)
    sizes = [2_000, 8_000]
    costs = []
    for n in sizes:
        score, v, mechanism = audit(n)
        users = csr_array(np.full((n, 1), 0.001) * np.eye(1, PROBES))
        costs.append(
            cpu(
                lambda s=score, u=users, v=v, m=mechanism: trials.error_counts(
                    s, u, v, m, 1.0, 131_072, seed
                )
            )
        )
    yield "131,072 trials", "users with a vote on probes", sizes, costs


def streamed(users: int) -> tuple[list[list[object]], list[float]]:
    """Count a population part by part; distinct contributions and seconds as it grows."""
    rng, total, rows = np.random.default_rng(4), None, []
    start = time.process_time()
    marks = {10**e for e in range(5, 9)} | {users}
    done = 0
    while done < users:
        following = min(mark for mark in marks if mark > done)
        part = tally.tally(votes(min(PART, following - done), rng))
        total = part if total is None else tally.merge([total, part])
        done = total.users
        if done in marks:
            counting = time.process_time() - start
            score, v, mechanism = audit(done)
            began = time.process_time()
            test = exact.linear_test(score, total.rows, v, mechanism, total.counts)
            epsilon = best.best_epsilon(test, 1e-5).epsilon
            evaluating = time.process_time() - began
            start += evaluating
            megabytes = (total.rows.nbytes + total.counts.nbytes) / 2**20
            rows.append([done, len(total.counts), megabytes, counting, evaluating, epsilon])
    return rows, [float(row[1]) for row in rows]


def scales(measured: dict[str, tuple[int, float, float]]) -> Iterator[list[object]]:
    """Yield a row a stage: hours of a core, dollars and GB at both scales."""

    def hours(stage: str, size: float, times: float = 1.0) -> float:
        largest, cost, exponent = measured[stage]
        return times * cost * (size / largest) ** exponent / 3600

    for users in (10**6, 10**8):
        texts = users * RECORDS
        at = f"10^{round(math.log10(users))}"
        vectors = texts * DIMENSION * 4 / 1e9
        embedding = hours("embed", texts)
        yield [at, "records, embedded on CPUs", embedding, embedding * CORE, vectors]
        on_gpu = texts / GPU_TEXTS / 3600
        yield [at, "records, embedded on a GPU", on_gpu, on_gpu * GPU, vectors]
        routing_hours = hours("route, exact, 2,048 records", BANK, texts / 2048)
        kept = texts * 2 * VOTES * 12 / 1e9
        yield [at, "routes, exact", routing_hours, routing_hours * CORE, kept]
        cast = hours("contribute", users)
        voting = users * RECORDS * VOTES * PROBES / BANK
        yield [at, "contributions of a cell", cast, cast * CORE, (8 * users + 12 * voting) / 1e9]
        dense = users * PROBES * 8 / 1e9
        sampled = hours("131,072 trials", voting, 10**6 / 131_072)
        yield [at, "10^6 trials of a cell", sampled, sampled * CORE, dense]
        counted = hours("count alike", users)
        yield [at, "tallies of a cell", counted, counted * CORE, float("nan")]
    written = BANK * LINE_TOKENS / GPU_TOKENS / 3600
    yield ["both", "a bank, written on a GPU", written, written * GPU, BANK * DIMENSION * 4 / 1e9]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=10_000_000)
    users = parser.parse_args().users
    rows: list[list[object]] = []
    measured = {}
    for name, unit_of, sizes, costs in stages():
        slope = exponents(sizes, costs)[-1]
        # What a start costs is not saved again at every size.
        measured[name] = (sizes[-1], costs[-1], max(1.0, round(slope, 1)))
        rows.append([name, unit_of, sizes[-1], costs[-2], costs[-1], slope])
    header = ["stage", "size is", "largest", "CPU s at a quarter", "CPU s", "exponent"]
    print(table("Growth of each stage", header, rows), flush=True)
    counted, distinct = streamed(users)
    slope = exponents([float(str(row[0])) for row in counted], distinct)[-1]
    header = ["users", "distinct", "MB", "counting CPU s", "exact ε CPU s", "ε"]
    print(table(f"A population in parts of {PART:,}", header, counted, f"exponent: {slope:.2f}"))
    prices = f"${CORE} a core and ${GPU} a GPU for an hour; ${STORAGE} a GB and month beside it"
    header = ["users", "stage", "hours", "$", "GB"]
    note = f"{prices}. Bank of {BANK:,} entries."
    print(table("Two scales", header, list(scales(measured)), note))


if __name__ == "__main__":
    main()
