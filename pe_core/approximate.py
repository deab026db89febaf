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
from pe_core.rows import check_k, check_pair, check_unit_rows
from pe_core.threads import cores, in_blocks

_SHARD = 500_000


@dataclass(frozen=True, eq=False)
class Approximate:
    """Routes that may miss a nearest entry, and how often they did on a sample.

    Attributes:
        routes: as `routing.top_k` returns; distances and order are exact for what was found.
        recall: share of the exact k nearest that were found, over the sampled records.
        sampled: number of records in that sample.
    """

    routes: Routes
    recall: float
    sampled: int


@dataclass(frozen=True, eq=False)
class Index:
    """A bank's graphs, built once for all records that are routed on it.

    They hold the bank once more, and about 8·links bytes an entry. Building takes most of the time:
    route on the bank without probes, and add the probes or reserved entries by
    `routing.merge_top_k`, rather than build a second index.

    Attributes:
        bank: (p, d) float32.
        graphs: one a shard; their labels are bank positions.
        seed, links, construction: as given to `build`.
    """

    bank: NDArray[np.float32]
    graphs: tuple[hnswlib.Index, ...]
    seed: int
    links: int
    construction: int

    @classmethod
    def build(
        cls, bank: NDArray[np.float32], *, seed: int, links: int = 16, construction: int = 100
    ) -> "Index":
        """Build the graphs of a bank.

        Args:
            bank: (p, d) float32, C-contiguous, unit rows.
            seed: of the graphs' levels and of the sample that measures recall.
            links: links an entry and level (M), at least 2; more find more and take longer.
            construction: entries kept while building (ef_construction), at least `links`.

        Raises:
            InputError: rows that `routing.top_k` refuses, or a setting out of range.

        Example:
            >>> len(Index.build(np.eye(8, dtype=np.float32), seed=1).graphs)
            1
        """
        check_unit_rows("bank", bank)
        _check_setting("links", links, 2)
        _check_setting("construction", construction, links)
        p, d = bank.shape
        # Equal parts, so that no shard is a small rest.
        bounds = np.linspace(0, p, -(-p // _SHARD) + 1).astype(np.int64)

        def fill(shard: int) -> hnswlib.Index:
            start, stop = bounds[shard : shard + 2]
            # Between unit rows the inner product orders as the distance does, and costs less.
            graph = hnswlib.Index("ip", d)
            graph.init_index(stop - start, M=links, ef_construction=construction, random_seed=seed)
            graph.add_items(bank[start:stop], np.arange(start, stop), num_threads=1)
            return graph

        shards = range(bounds.size - 1)
        with ThreadPoolExecutor(min(cores(), len(shards))) as pool:
            return cls(bank, tuple(pool.map(fill, shards)), seed, links, construction)

    def top_k(
        self,
        records: NDArray[np.float32],
        k: int,
        *,
        recall: float = 0.99,
        search: int = 400,
        sample: int = 1000,
    ) -> Approximate:
        """Return k bank entries near each record, and the recall against `routing.top_k`.

        Args:
            records: (n, d) float32, C-contiguous, unit rows; n ≥ 1.
            k: votes per record, at least 1 and at most the entries of a shard.
            recall: least share of the exact k nearest to be found, in [0, 1].
            search: entries kept while searching a graph (HNSW's ef), at least k; more find more
                and take longer.
            sample: records that are routed exactly as well, all where there are fewer.

        Raises:
            InputError: rows that `routing.top_k` refuses, or a setting out of range.
            AccuracyError: the measured recall is under `recall`; the message says what to raise.

        Example:
            >>> bank = np.eye(8, dtype=np.float32)
            >>> found = Index.build(bank, seed=1).top_k(bank[3:5], 1)
            >>> found.routes.index.ravel(), found.recall, found.sampled
            (array([3, 4], dtype=int32), 1.0, 2)
        """
        check_pair("records", records, "bank", self.bank)
        check_k(k, min(graph.element_count for graph in self.graphs))
        if not 0 <= recall <= 1:
            raise InputError(f"recall = {recall!r}: allowed are values in [0, 1]")
        _check_setting("search", search, k)
        _check_setting("sample", sample, 1)
        routes = self._search(records, k, search)
        drawn = seeds.generator(self.seed, "recall").permutation(records.shape[0])[:sample]
        exact = routing.top_k(np.ascontiguousarray(records[drawn]), self.bank, k)
        hit = routes.index[drawn][:, :, None] == exact.index[:, None, :]
        measured = float(hit.any(axis=1).mean())
        if measured < recall:
            raise AccuracyError(
                f"recall@{k} is {measured:.4f} over {drawn.size} sampled records, {recall} is "
                f"needed, with {self._settings(search)}: raise search, and where that is not "
                "enough links and construction"
            )
        return Approximate(routes, measured, drawn.size)

    def _search(self, records: NDArray[np.float32], k: int, search: int) -> Routes:
        try:
            found = _candidates(self.graphs, records, k, search)
        except RuntimeError as error:
            raise AccuracyError(
                f"HNSW found fewer than {k} entries near a record with {self._settings(search)}: "
                "raise links, then search"
            ) from error
        return _rerank(records, self.bank, found, k)

    def _settings(self, search: int) -> str:
        return f"search = {search}, links = {self.links}, construction = {self.construction}"


def _check_setting(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} = {value!r}: a whole number of at least {least} is needed")


def _candidates(
    graphs: tuple[hnswlib.Index, ...], records: NDArray[np.float32], k: int, search: int
) -> NDArray[np.int32]:
    """Return (n, graphs · c) bank positions, c = min(2k, smallest graph) from each graph."""
    wanted = min(2 * k, min(graph.element_count for graph in graphs))
    found = np.empty((records.shape[0], wanted * len(graphs)), np.int32)
    for number, graph in enumerate(graphs):
        graph.set_ef(max(search, wanted))
        labels, _ = graph.knn_query(records, k=wanted, num_threads=cores())
        found[:, number * wanted : (number + 1) * wanted] = labels
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
