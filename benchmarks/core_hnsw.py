"""HNSW beside exact routing: from how many records on its graphs pay."""

from collections.abc import Iterator

import numpy as np
from core_routing import K
from measure import in_child, spent, table
from vectors import D, embeddings

from pe_core import routing
from pe_core.approximate import Index

# Bank size, principal axes, searches.
CASES = {
    "quick": [(10_000, 192, [50, 100])],
    "default": [
        (10_000, D, [50, 100, 200]),
        (10_000, 192, [50, 100, 200]),
        (100_000, 192, [100, 200, 400]),
    ],
    "full": [
        (10_000, D, [50, 100, 200]),
        (10_000, 192, [50, 100, 200]),
        (100_000, D, [100, 200, 400]),
        (100_000, 192, [100, 200, 400]),
        (1_000_000, 192, [100, 200, 400, 800]),
    ],
}
RECORDS = {"quick": 2_000, "default": 10_000, "full": 10_000}


def rows_of(p: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Records and a bank, with the kernels loaded."""
    records, bank = embeddings(1, n), embeddings(2, p)
    routing.top_k(records[:K], bank[:K], K)
    return records, bank


def exact(p: int, n: int) -> float:
    """Processor seconds of exact routing, a record."""
    records, bank = rows_of(p, n)
    return spent(lambda: routing.top_k(records, bank, K)).cpu / n


def measure(p: int, n: int, width: int, searches: list[int]) -> dict[str, object]:
    """Build once; processor seconds a record and recall of each search."""
    records, bank = rows_of(p, n)
    built = []
    cost = spent(lambda: built.append(Index.build(bank, seed=1, width=width)))
    few = np.ascontiguousarray(records[:1000])
    rows = []
    for search in searches:
        each = spent(lambda: built[0]._search(records, K, search)).cpu / n  # noqa: B023
        rows.append([each, built[0].top_k(few, K, search=search, recall=0.0).recall])
    return {"wall": cost.wall, "cpu": cost.cpu, "rows": rows}


def tables(size: str) -> Iterator[str]:
    rows: list[list[object]] = []
    n = RECORDS[size]
    plain = {p: in_child("core_hnsw", "exact", p, n) for p, _, _ in CASES[size]}
    for p, width, searches in CASES[size]:
        found, peak = in_child("core_hnsw", "measure", p, n, width, searches)
        base, base_peak = plain[p]
        for search, (each, recall) in zip(searches, found["rows"]):
            pays = f"{found['cpu'] / (base - each):,.0f}" if base > each else "never"
            rows.append(
                [p, width, found["wall"], found["cpu"], search, each * 1e6, base * 1e6,
                 f"{recall:.4f}", round(peak), round(base_peak), pays]
            )  # fmt: skip
    yield table(
        f"HNSW (16 links, construction 100) beside exact routing: {n:,} records, recall@{K}",
        ["bank", "axes", "build s", "CPU s", "search", "CPU µs/record", "exact", "recall",
         "peak MB", "exact", "pays from"],
        rows,
        "Pays from: records on one bank from which building and searching cost less processor\n"
        "time than exact routing. Recall is measured on 1,000 of them. Memory includes the bank.",
    )  # fmt: skip
