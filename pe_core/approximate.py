"""Routing on banks past the exact search's reach: HNSW candidates, decided again in float64.

Malkov and Yashunin, Efficient and robust approximate nearest neighbor search using hierarchical
navigable small world graphs (2018). A graph that several threads fill depends on their timing, so
the bank is cut into shards of at most 500,000 and each shard's graph is filled by one thread, in
order: the answer does not depend on the number of threads.

Walking a graph is bound by reading vectors from memory, so graphs hold the rows' coordinates along
the bank's first principal axes only. Half of 384 axes take two thirds of the time to search a bank
of 100,000 and to build its graph, at no lower recall (`python benchmarks/core.py --full`).
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import hnswlib
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pe_core import routing, seeds
from pe_core.errors import AccuracyError, InputError
from pe_core.kernels import topk
from pe_core.routing import Routes
from pe_core.rows import check_k, check_pair, check_unit_rows
from pe_core.threads import BLOCK, cores, in_blocks

_SHARD = 500_000
# Bank rows that the principal axes are estimated from.
_AXES_SAMPLE = 20_000
# Candidates per vote and graph that are decided in float64: distances along fewer axes order only
# roughly. On 192 of 384 axes, 4 a vote lost 0.002 of recall, 20 gained nothing.
_KEPT = 10
# Coordinates are computed from whole multiples of these, whose products and their sums are exact in
# float64 whatever the order of summation: they do not depend on the BLAS library nor its threads.
_ROW_STEP, _AXIS_STEP = 2.0**-24, 2.0**-12


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

    They hold 4·width bytes an entry, and about 8·links for its links. Building takes most of the
    time: route on the bank without probes, and add the probes or reserved entries by
    `routing.merge_top_k`, rather than build a second index.

    Attributes:
        bank: (p, d) float32.
        axes: (d, width) float64, multiples of 2⁻¹².
        graphs: one a shard, of the rows' coordinates; their labels are bank positions.
        seed, links, construction: as given to `build`.
    """

    bank: NDArray[np.float32]
    axes: NDArray[np.float64]
    graphs: tuple[hnswlib.Index, ...]
    seed: int
    links: int
    construction: int

    @classmethod
    def build(
        cls,
        bank: NDArray[np.float32],
        *,
        seed: int,
        width: int = 192,
        links: int = 16,
        construction: int = 100,
    ) -> "Index":
        """Build the graphs of a bank.

        Args:
            bank: (p, d) float32, C-contiguous, unit rows.
            seed: of the graphs' levels and of the samples that give the axes and the recall.
            width: principal axes to keep, at least 1; all columns where there are fewer. Fewer
                search faster and find less.
            links: links an entry and level (M), at least 2; more find more and take longer.
            construction: entries kept while building (ef_construction), at least `links`.

        Raises:
            InputError: rows that `routing.top_k` refuses, or a setting out of range.

        Example:
            >>> len(Index.build(np.eye(8, dtype=np.float32), seed=1).graphs)
            1
        """
        check_unit_rows("bank", bank)
        _check_setting("width", width, 1)
        _check_setting("links", links, 2)
        _check_setting("construction", construction, links)
        p = bank.shape[0]
        axes = _axes(bank, width, seed)
        # Equal parts, so that no shard is a small rest.
        bounds = np.linspace(0, p, -(-p // _SHARD) + 1).astype(np.int64)

        def fill(shard: int) -> hnswlib.Index:
            start, stop = bounds[shard : shard + 2]
            graph = hnswlib.Index("l2", axes.shape[1])
            graph.init_index(stop - start, M=links, ef_construction=construction, random_seed=seed)
            for first in range(start, stop, BLOCK):
                last = min(first + BLOCK, stop)
                rows = _coordinates(bank[first:last], axes)
                graph.add_items(rows, np.arange(first, last), num_threads=1)
            return graph

        shards = range(bounds.size - 1)
        with ThreadPoolExecutor(min(cores(), len(shards))) as pool:
            graphs = tuple(pool.map(fill, shards))
        return cls(bank, axes, graphs, seed, links, construction)

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
                "enough width, links and construction"
            )
        return Approximate(routes, measured, drawn.size)

    def _search(self, records: NDArray[np.float32], k: int, search: int) -> Routes:
        n = records.shape[0]
        routes = Routes(np.empty((n, k), np.int32), np.empty((n, k)))
        kept = [min(_KEPT * k, graph.element_count) for graph in self.graphs]
        for graph, wanted in zip(self.graphs, kept, strict=True):
            graph.set_ef(max(search, wanted))

        def start(most: int) -> Callable[[slice], None]:
            found, count = np.empty((most, sum(kept)), np.int32), np.full(most, sum(kept))

            def work(block: slice) -> None:
                mine, first = records[block], 0
                coordinates = _coordinates(mine, self.axes)
                for graph, wanted in zip(self.graphs, kept, strict=True):
                    labels, _ = graph.knn_query(coordinates, k=wanted, num_threads=1)
                    found[: len(mine), first : first + wanted] = labels
                    first += wanted
                index, distance = routes.index[block], routes.squared_distance[block]
                topk.rerank(mine, self.bank, found, count, index, distance)

            return work

        try:
            in_blocks(n, start)
        except RuntimeError as error:
            raise AccuracyError(
                f"HNSW found fewer than {max(kept)} entries near a record with "
                f"{self._settings(search)}: raise links, then search"
            ) from error
        return routes

    def _settings(self, search: int) -> str:
        return (
            f"search = {search}, width = {self.axes.shape[1]}, links = {self.links}, "
            f"construction = {self.construction}"
        )


def _check_setting(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} = {value!r}: a whole number of at least {least} is needed")


def _axes(bank: NDArray[np.float32], width: int, seed: int) -> NDArray[np.float64]:
    """Return the bank's first principal axes, (d, width); the columns' where width reaches d."""
    p, d = bank.shape
    if width >= d:
        return np.eye(d)
    drawn = np.sort(seeds.generator(seed, "axes").permutation(p)[:_AXES_SAMPLE])
    rows = bank[drawn].astype(np.float64)
    rows -= rows.mean(axis=0)
    # On one thread, whose rounding errors, far below the step, are the same every time.
    with threadpool_limits(1, user_api="blas"):
        axes = np.linalg.eigh(rows.T @ rows)[1][:, -width:]
    return np.rint(axes / _AXIS_STEP) * _AXIS_STEP


def _coordinates(rows: NDArray[np.float32], axes: NDArray[np.float64]) -> NDArray[np.float32]:
    steps = np.rint(rows.astype(np.float64) / _ROW_STEP)
    return ((steps @ axes) * _ROW_STEP).astype(np.float32)
