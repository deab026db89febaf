"""Routing on banks past the exact search's reach: HNSW candidates, decided again in float64.

Malkov and Yashunin, Efficient and robust approximate nearest neighbor search using hierarchical
navigable small world graphs (2018). A graph that several threads fill depends on their timing, so
the bank is cut into shards of at most 500,000 and each shard's graph is filled by one thread, in
order: the answer does not depend on the number of threads.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import hnswlib
import numpy as np
from numpy.typing import NDArray

from pe_core import routing, seeds
from pe_core.errors import AccuracyError, InputError
from pe_core.kernels import topk
from pe_core.routing import Routes
from pe_core.rows import check_k, check_pair
from pe_core.threads import cores, in_blocks

_SHARD = 500_000


@dataclass(frozen=True, eq=False)
class Approximate:
    """Routes that may miss a nearest entry, and how often they do.

    Attributes:
        routes: as `routing.top_k` returns; distances and order are exact for what was found.
        recall: share of the exact k nearest that were found, over the sampled records.
        sampled: number of records in that sample.
    """

    routes: Routes
    recall: float
    sampled: int


def top_k(
    records: NDArray[np.float32],
    bank: NDArray[np.float32],
    k: int,
    *,
    seed: int,
    recall: float = 0.99,
    search: int = 200,
    links: int = 16,
    construction: int = 100,
    sample: int = 1000,
) -> Approximate:
    """Return k bank entries near each record by HNSW, with the recall measured against `routing`.

    The graphs hold the bank once more, and 8·links bytes an entry.

    Args:
        records: (n, d) float32, C-contiguous, unit rows; n ≥ 1.
        bank: (p, d) float32, C-contiguous, unit rows.
        k: votes per record, at least 1 and at most the entries of a shard.
        seed: of the sample and of the graphs' levels.
        recall: least share of the exact k nearest to be found, in [0, 1].
        search: entries kept while searching (HNSW's ef); more find more and take longer.
        links: links an entry and level (M); more find more and take longer to build.
        construction: entries kept while building (ef_construction).
        sample: records routed exactly as well, all of them where there are fewer.

    Returns:
        Approximate.

    Raises:
        InputError: as `routing.top_k`, or a setting out of range.
        AccuracyError: the measured recall is under `recall`; the message says what to raise.

    Example:
        >>> bank = np.eye(8, dtype=np.float32)
        >>> found = top_k(bank[3:5], bank, 1, seed=1)
        >>> found.routes.index.ravel(), found.recall, found.sampled
        (array([3, 4], dtype=int32), 1.0, 2)
    """
    check_pair("records", records, "bank", bank)
    check_k(k, bank.shape[0])
    if not 0 <= recall <= 1:
        raise InputError(f"recall = {recall!r}: allowed are values in [0, 1]")
    for name, value, least in (
        ("search", search, k),
        ("links", links, 2),
        ("construction", construction, links),
        ("sample", sample, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(f"{name} = {value!r}: a whole number of at least {least} is needed")
    settings = f"search = {search}, links = {links}, construction = {construction}"
    try:
        found = _candidates(records, bank, k, seed, search, links, construction)
    except RuntimeError as error:
        raise AccuracyError(
            f"HNSW found fewer than {k} entries near a record with {settings}: raise links, then "
            "search"
        ) from error
    routes = _rerank(records, bank, found, k)

    drawn = seeds.generator(seed, "recall").permutation(records.shape[0])[:sample]
    exact = routing.top_k(np.ascontiguousarray(records[drawn]), bank, k)
    measured = float(
        np.mean((routes.index[drawn][:, :, None] == exact.index[:, None, :]).any(axis=1))
    )
    if measured < recall:
        raise AccuracyError(
            f"recall@{k} is {measured:.4f} over {drawn.size} sampled records, {recall} is needed, "
            f"with {settings}: raise search, and where that is not enough links and construction"
        )
    return Approximate(routes, measured, drawn.size)


def _candidates(
    records: NDArray[np.float32],
    bank: NDArray[np.float32],
    k: int,
    seed: int,
    search: int,
    links: int,
    construction: int,
) -> NDArray[np.int32]:
    """Return (n, shards · c) positions from HNSW, c = min(2k, the shard's size) of each shard."""
    p, d = bank.shape
    # Equal parts, so that no shard is a small rest.
    bounds = np.linspace(0, p, -(-p // _SHARD) + 1).astype(np.int64)
    smallest = int(np.diff(bounds).min())
    check_k(k, smallest)
    wanted = min(2 * k, smallest)

    def build(shard: int) -> hnswlib.Index:
        start, stop = bounds[shard : shard + 2]
        # Between unit rows the inner product orders as the distance does, and costs less.
        graph = hnswlib.Index("ip", d)
        graph.init_index(stop - start, M=links, ef_construction=construction, random_seed=seed)
        graph.add_items(bank[start:stop], np.arange(start, stop), num_threads=1)
        graph.set_ef(max(search, wanted))
        return graph

    shards = range(bounds.size - 1)
    with ThreadPoolExecutor(min(cores(), len(shards))) as pool:
        graphs = list(pool.map(build, shards))
    found = np.empty((records.shape[0], wanted * len(graphs)), np.int32)
    for shard, graph in enumerate(graphs):
        labels, _ = graph.knn_query(records, k=wanted, num_threads=cores())
        found[:, shard * wanted : (shard + 1) * wanted] = labels
    return found


def _rerank(
    records: NDArray[np.float32], bank: NDArray[np.float32], found: NDArray[np.int32], k: int
) -> Routes:
    n = records.shape[0]
    routes = Routes(np.empty((n, k), np.int32), np.empty((n, k)))
    count = np.full(n, found.shape[1])

    def work(block: slice) -> None:
        topk.rerank(
            records[block],
            bank,
            found[block],
            count[block],
            routes.index[block],
            routes.squared_distance[block],
        )

    in_blocks(n, lambda _: work)
    return routes
