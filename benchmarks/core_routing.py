"""Exact routing beside what people would use instead, its growth, and probes merged into routes."""

from collections.abc import Callable, Iterator

import numpy as np
from measure import growth, in_child, least, table
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_info
from vectors import D, embeddings

from pe_core import routing

K = 5
BANK = 8192
PROBES = 64
BLOCK = 2048

RECORDS = {"quick": 8_000, "default": 128_000, "full": 128_000}
RECORD_GROWTH = {
    "quick": [2_000, 8_000],
    "default": [10_000, 30_000, 100_000],
    "full": [10_000, 100_000, 1_000_000],
}
BANK_GROWTH = {
    "quick": [1_000, 10_000],
    "default": [1_000, 10_000, 100_000],
    "full": [1_000, 10_000, 100_000, 1_000_000],
}
BANK_RECORDS = {"quick": 2_048, "default": 8_192, "full": 8_192}
# Why a column may grow faster than its size; printed where it does.
REASONS = {
    "CPU s": "the two cores share their cache, and larger arrays are read from memory",
    "peak MB": "a process starts at 130 MB, so small inputs hardly show",
}


def tables(size: str) -> Iterator[str]:
    """Yield the tables of one size (quick, default or full) as they get ready."""
    blas = ", ".join(
        f"{each['internal_api']} {each['version']} {each.get('architecture', '')} "
        f"{each['num_threads']} threads"
        for each in threadpool_info()
        if each["user_api"] == "blas"
    )
    yield f"Routing. BLAS: {blas}"
    rounds = 2 if size == "quick" else 3
    yield exact_table(RECORDS[size], rounds)
    yield growth_table("records", RECORD_GROWTH[size], [(n, BANK) for n in RECORD_GROWTH[size]])
    banks = BANK_GROWTH[size]
    yield growth_table("bank", banks, [(BANK_RECORDS[size], p) for p in banks])
    yield merge_table(RECORDS[size], rounds)


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


WAYS: dict[str, Callable[[np.ndarray, np.ndarray], object]] = {
    "float32 products alone": products,
    "routing.top_k": lambda records, bank: routing.top_k(records, bank, K),
    "faiss-cpu IndexFlatL2": by_faiss,
    "torch matmul + topk": by_torch,
}


def route(way: str, n: int, p: int) -> None:
    WAYS[way](embeddings(1, n), embeddings(2, p))


def exact_table(n: int, rounds: int) -> str:
    records, bank = embeddings(1, n), embeddings(2, BANK)
    few = records[:2000]
    routes = routing.top_k(few, bank, K)
    agreement = {
        name: f"{np.mean(call(few, bank) == routes.index):.6f}"
        for name, call in (("faiss-cpu IndexFlatL2", by_faiss), ("torch matmul + topk", by_torch))
    }
    costs = least({name: lambda way=way: way(records, bank) for name, way in WAYS.items()}, rounds)
    bare = costs["float32 products alone"]
    rows = [
        [
            name,
            each.wall,
            each.wall / bare.wall,
            each.cpu,
            each.cpu / bare.cpu,
            in_child("core_routing", "route", name, n, BANK)[1],
            agreement.get(name, "-"),
        ]
        for name, each in costs.items()
    ]
    return table(
        f"Exact top {K}: {n:,} records × {BANK:,} entries × {D}",
        ["", "s", "× products", "CPU s", "× products", "peak MB", "same votes"],
        rows,
        f"Target: 1.5 × products and 1,500 MB. Of the memory, {records.nbytes >> 20} MB are the "
        "records.",
    )


def growth_table(what: str, sizes: list[int], shapes: list[tuple[int, int]]) -> str:
    time, memory = [], []
    for n, p in shapes:
        records, bank = embeddings(1, n), embeddings(2, p)
        # Large products take long enough for one round.
        rounds = 1 if n * p > 10**9 else 3
        work = {"": lambda a=records, b=bank: routing.top_k(a, b, K)}
        time.append(least(work, rounds)[""].cpu)
        memory.append(in_child("core_routing", "route", "routing.top_k", n, p)[1])
    rest = f"{BANK:,} entries" if what == "records" else f"{shapes[0][0]:,} records"
    title = f"Growth of routing.top_k with the {what} ({rest})"
    return growth(what, sizes, {"CPU s": time, "peak MB": memory}, REASONS, title)


def merge_table(n: int, rounds: int) -> str:
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
    costs = least(
        {
            "routing.squared_distances": lambda: routing.squared_distances(records, probes),
            "scipy cdist, float64": lambda: cdist(wide_records, wide_probes, "sqeuclidean"),
            "routing.merge_top_k": lambda: routing.merge_top_k(base, places, new),
            "numpy lexsort": by_sorting,
            "routing.add_probe, one": add_one,
            "routing.top_k anew": lambda: routing.top_k(records, bank, K),
        },
        rounds,
    )
    distances = costs["scipy cdist, float64"].wall / costs["routing.squared_distances"].wall
    merges = costs["numpy lexsort"].wall / costs["routing.merge_top_k"].wall
    return table(
        f"Probes merged: {n:,} records, {PROBES} probes, k = {K}",
        ["", "ms", "CPU ms"],
        [[name, each.wall * 1e3, each.cpu * 1e3] for name, each in costs.items()],
        f"Ratios: cdist {distances:.1f}, lexsort {merges:.1f} times ours",
    )
