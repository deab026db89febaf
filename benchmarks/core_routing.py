"""Tables of routing and contributions beside what people would use instead.

Times are the smallest of several rounds, each round running every row once, so that a busy moment
hits all rows alike. Core-seconds are the processor time of all threads. Memory is the peak of a
fresh process, its input included.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse import linalg
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_info

from pe_core import routing
from pe_core.approximate import Index
from pe_core.contribution import contributions

D = 384
K = 5
BANK = 8192
PROBES = 64
BLOCK = 2048

RECORDS = {"quick": 16_000, "default": 128_000, "full": 128_000}
RECORD_GROWTH = {
    "quick": [4_000, 16_000],
    "default": [10_000, 30_000, 100_000],
    "full": [10_000, 100_000, 1_000_000],
}
BANK_GROWTH = {
    "quick": [1_000, 10_000],
    "default": [1_000, 10_000, 100_000],
    "full": [1_000, 10_000, 100_000, 1_000_000],
}
USER_GROWTH = {
    "quick": [1_000, 10_000],
    "default": [1_000, 10_000, 100_000],
    "full": [1_000, 10_000, 100_000, 1_000_000],
}
HNSW_BANKS = {"quick": [10_000], "default": [10_000, 100_000], "full": [100_000, 1_000_000]}
SEARCHES = {10_000: [50, 100, 200], 100_000: [100, 200, 400], 1_000_000: [200, 400, 800]}


def tables(size: str) -> Iterator[str]:
    """Yield the tables of one size (quick, default or full) as they get ready."""
    blas = ", ".join(
        f"{each['internal_api']} {each['version']} {each.get('architecture', '')} "
        f"{each['num_threads']} threads"
        for each in threadpool_info()
        if each["user_api"] == "blas"
    )
    yield f"Routing. BLAS: {blas}"
    yield exact_table(RECORDS[size])
    yield growth_table("records", RECORD_GROWTH[size])
    yield growth_table("bank", BANK_GROWTH[size])
    yield merge_table(RECORDS[size])
    yield contribution_table(USER_GROWTH[size])
    yield hnsw_table(HNSW_BANKS[size])


def embeddings(seed: int, n: int) -> np.ndarray:
    """Unit rows around a 32-dimensional subspace: like texts, some are near and most are far."""
    rng = np.random.default_rng(seed)
    directions = np.random.default_rng(0).standard_normal((32, D), dtype=np.float32)
    rows = np.empty((n, D), np.float32)
    for start in range(0, n, BLOCK):
        part = rows[start : start + BLOCK]
        part[:] = rng.standard_normal((len(part), 32), dtype=np.float32) @ directions
        part += rng.standard_normal(part.shape, dtype=np.float32) / 2
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return rows


def products(records: np.ndarray, bank: np.ndarray) -> None:
    """The float32 matrix products alone, in blocks, by all of the BLAS library's threads."""
    out = np.empty((BLOCK, len(bank)), np.float32)
    for start in range(0, len(records), BLOCK):
        part = records[start : start + BLOCK]
        np.matmul(part, bank.T, out=out[: len(part)])


def by_faiss(records: np.ndarray, bank: np.ndarray) -> np.ndarray:
    # Imported here, so that they do not count in the memory of processes without them.
    import faiss

    flat = faiss.IndexFlatL2(D)
    flat.add(bank)
    return flat.search(records, K)[1]


def by_torch(records: np.ndarray, bank: np.ndarray) -> np.ndarray:
    import torch

    right = torch.from_numpy(bank).T
    found = [
        torch.topk(part @ right, K, dim=1).indices
        for part in torch.from_numpy(records).split(BLOCK)
    ]
    return torch.cat(found).numpy()


def fastest(rows: dict[str, Callable[[], object]], rounds: int = 3) -> dict[str, float]:
    return {name: seconds for name, (seconds, _) in measured(rows, rounds).items()}


def measured(rows: dict[str, Callable[[], object]], rounds: int) -> dict[str, tuple[float, float]]:
    """Return each row's seconds and core-seconds, both the smallest over the rounds."""
    best = dict.fromkeys(rows, (np.inf, np.inf))
    for _ in range(rounds):
        for name, call in rows.items():
            start = time.perf_counter(), time.process_time()
            call()
            spent = time.perf_counter() - start[0], time.process_time() - start[1]
            best[name] = min(best[name][0], spent[0]), min(best[name][1], spent[1])
    return best


PEAK = """
import sys
sys.path[:0] = {path!r}
import core_routing
core_routing.{name}(*map(int, sys.argv[1:]))
lines = open("/proc/self/status").read().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
"""


def peak(name: str, *numbers: int) -> float:
    """Peak resident MB of a fresh process that calls a function of this module (Linux)."""
    code = PEAK.format(path=[str(Path(__file__).parent), *sys.path], name=name)
    command = [sys.executable, "-c", code, *map(str, numbers)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024


def route(n: int, p: int) -> None:
    routing.top_k(embeddings(1, n), embeddings(2, p), K)


def count_votes(users: int) -> None:
    index, user = votes(users)
    contributions(index, user, users, BANK, 0.1)


def exponent(sizes: list[int], values: list[float]) -> str:
    """Growth exponent between the two largest sizes."""
    return f"{np.log(values[-1] / values[-2]) / np.log(sizes[-1] / sizes[-2]):.2f}"


def exact_table(n: int) -> str:
    records, bank = embeddings(1, n), embeddings(2, BANK)
    few = records[:2000]
    routes = routing.top_k(few, bank, K)
    agreement = {
        name: f"{np.mean(call(few, bank) == routes.index):.6f}"
        for name, call in (("faiss-cpu IndexFlatL2", by_faiss), ("torch matmul + topk", by_torch))
    }
    spent = measured(
        {
            "float32 products alone": lambda: products(records, bank),
            "routing.top_k": lambda: routing.top_k(records, bank, K),
            "faiss-cpu IndexFlatL2": lambda: by_faiss(records, bank),
            "torch matmul + topk": lambda: by_torch(records, bank),
        },
        rounds=3,
    )
    bare, bare_core = spent["float32 products alone"]
    lines = [
        f"Exact top {K}: {n:,} records × {BANK:,} entries × {D}",
        f"{'':26} {'s':>8} {'× products':>11} {'core-s':>8} {'× products':>11}  same votes",
    ]
    lines += [
        f"{name:26} {seconds:8.3f} {seconds / bare:11.2f} {core:8.3f} {core / bare_core:11.2f}  "
        f"{agreement.get(name, '')}"
        for name, (seconds, core) in spent.items()
    ]
    size = (records.nbytes + bank.nbytes) / 2**20
    lines.append(f"Peak memory of a routing process: {peak('route', n, BANK):.0f} MB,")
    lines.append(f"of which input: {size:.0f} MB")
    return "\n".join(lines)


def growth_table(what: str, sizes: list[int]) -> str:
    lines = [f"Growth of routing.top_k with the {what}", f"{what:>12} {'s':>9} {'peak MB':>9}"]
    seconds, memory = [], []
    for size in sizes:
        n, p = (size, BANK) if what == "records" else (4 * BLOCK, size)
        records, bank = embeddings(1, n), embeddings(2, p)
        rounds = 1 if n * p > 10**9 else 3
        seconds.append(fastest({"": lambda a=records, b=bank: routing.top_k(a, b, K)}, rounds)[""])
        memory.append(peak("route", n, p))
        lines.append(f"{size:12,} {seconds[-1]:9.3f} {memory[-1]:9.0f}")
    lines.append(f"{'exponent':>12} {exponent(sizes, seconds):>9} {exponent(sizes, memory):>9}")
    return "\n".join(lines)


def merge_table(n: int) -> str:
    records, bank = embeddings(1, n), embeddings(2, BANK)
    places = np.sort(np.random.default_rng(3).permutation(BANK)[:PROBES])
    free = np.setdiff1d(np.arange(BANK), places)
    base = routing.top_k(records, np.ascontiguousarray(bank[free]), K).relabel(free)
    probes = np.ascontiguousarray(bank[places])
    new = routing.squared_distances(records, probes)

    def by_sorting() -> np.ndarray:
        distance = np.hstack([base.squared_distance, new])
        index = np.hstack([base.index, np.broadcast_to(places.astype(np.int32), new.shape)])
        order = np.lexsort((index, distance), axis=1)[:, :K]
        return np.take_along_axis(index, order, axis=1)

    merged = routing.merge_top_k(base, places, new)
    if not np.array_equal(merged.index, by_sorting()):
        raise SystemExit("merge_top_k and sorting disagree")
    column = np.ascontiguousarray(new[:, 0])

    def add_one() -> None:
        # A copy each time, since the records are won only once.
        routing.add_probe(
            routing.Routes(base.index.copy(), base.squared_distance.copy()), int(places[0]), column
        )

    wide_records, wide_probes = records.astype(np.float64), probes.astype(np.float64)
    seconds = fastest(
        {
            "routing.squared_distances": lambda: routing.squared_distances(records, probes),
            "scipy cdist, float64": lambda: cdist(wide_records, wide_probes, "sqeuclidean"),
            "routing.merge_top_k": lambda: routing.merge_top_k(base, places, new),
            "numpy lexsort": by_sorting,
            "routing.add_probe, one": add_one,
            "routing.top_k anew": lambda: routing.top_k(records, bank, K),
        }
    )
    lines = [f"Probes merged: {n:,} records, {PROBES} probes, k = {K}", f"{'':28} {'ms':>10}"]
    lines += [f"{name:28} {value * 1e3:10.2f}" for name, value in seconds.items()]
    distances = seconds["scipy cdist, float64"] / seconds["routing.squared_distances"]
    merges = seconds["numpy lexsort"] / seconds["routing.merge_top_k"]
    lines.append(f"Ratios: cdist {distances:.1f}, lexsort {merges:.1f} times ours")
    return "\n".join(lines)


def votes(users: int) -> tuple[np.ndarray, np.ndarray]:
    """Sixteen records a user, votes in runs of the bank so that users repeat their candidates."""
    rng = np.random.default_rng(4)
    user = np.repeat(np.arange(users), 16)
    first = rng.integers(0, BANK - K, users)[user] + rng.integers(0, 20, user.size)
    index = (first[:, None] + np.arange(K)) % BANK
    return index.astype(np.int32), user


def by_scipy(index: np.ndarray, user: np.ndarray, users: int) -> sparse.csr_array:
    entries = np.ones(index.size)
    rows = sparse.coo_array(
        (entries, (np.repeat(user, K), index.ravel())), shape=(users, BANK)
    ).tocsr()
    each = linalg.norm(rows, axis=1)
    share = 1 / (np.bincount(user, minlength=users) * K)
    return sparse.diags_array(share * np.minimum(1, 0.1 / (each * share))) @ rows


def contribution_table(sizes: list[int]) -> str:
    lines = [
        f"Contributions: 16 records a user, {BANK:,} candidates",
        f"{'users':>12} {'ms':>9} {'scipy ms':>9} {'ratio':>6} {'peak MB':>9}",
    ]
    ours, theirs, memory = [], [], []
    for users in sizes:
        index, user = votes(users)
        rows = contributions(index, user, users, BANK, 0.1)
        if abs(rows - by_scipy(index, user, users)).max() > 1e-14:
            raise SystemExit("contributions and scipy disagree")
        seconds = fastest(
            {
                "ours": lambda i=index, u=user, m=users: contributions(i, u, m, BANK, 0.1),
                "scipy": lambda i=index, u=user, m=users: by_scipy(i, u, m),
            }
        )
        ours.append(seconds["ours"])
        theirs.append(seconds["scipy"])
        memory.append(peak("count_votes", users))
        lines.append(
            f"{users:12,} {ours[-1] * 1e3:9.2f} {theirs[-1] * 1e3:9.2f} "
            f"{theirs[-1] / ours[-1]:6.1f} {memory[-1]:9.0f}"
        )
    lines.append(
        f"{'exponent':>12} {exponent(sizes, ours):>9} {exponent(sizes, theirs):>9} {'':6} "
        f"{exponent(sizes, memory):>9}"
    )
    return "\n".join(lines)


def hnsw_table(sizes: list[int]) -> str:
    """The number of records from which building and searching cost less than exact routing."""
    lines = [
        f"HNSW (16 links, construction 100) against exact routing, recall@{K} on 1,000 records",
        "build in core-seconds; search and exact routing in core-µs a record",
        f"{'bank':>10} {'build':>8} {'searched':>9} {'search':>9} {'exact':>9} {'recall':>7}"
        "  pays from",
    ]
    records = embeddings(1, 4 * BLOCK)
    few = records[:1000]
    for p in sizes:
        bank = embeddings(2, p)
        start = time.process_time()
        routing.top_k(records, bank, K)
        exact = (time.process_time() - start) / len(records)
        start = time.process_time()
        index = Index.build(bank, seed=1)
        build = time.process_time() - start
        for search in SEARCHES[p]:
            start = time.process_time()
            index._search(few, K, search)
            each = (time.process_time() - start) / len(few)
            recall = index.top_k(few, K, search=search, recall=0.0).recall
            pays = f"{build / (exact - each):,.0f} records" if exact > each else "never"
            lines.append(
                f"{p:10,} {build:8.1f} {search:9} {each * 1e6:9.1f} {exact * 1e6:9.1f} "
                f"{recall:7.4f}  {pays}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    for table in tables(sys.argv[1] if len(sys.argv) > 1 else "quick"):
        print(table, end="\n\n", flush=True)
