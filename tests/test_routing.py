"""Exact routing: bit for bit the plain float64 answer, whatever the blocks, threads and ties."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_core import routing, rows, threads
from pe_core.errors import InputError
from pe_core.kernels import topk
from pe_core.routing import Routes
from tests.naive import routing as naive

cases = settings(deadline=None, derandomize=True, max_examples=80)


def unit(values):
    values = np.asarray(values, np.float64)
    return np.ascontiguousarray(
        (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)
    )


def tied(rng, n, d):
    """Rows of few values, so that distances tie exactly and float32 scores tie or nearly so."""
    values = rng.integers(-1, 2, (n, d)).astype(float)
    values[:, 0] = 1
    return unit(values)


def bunched(rng, n, d):
    """Rows so close to one another that float32 inner products cannot order them."""
    return unit(rng.standard_normal(d) + 1e-6 * rng.standard_normal((n, d)))


def spread(rng, n, d):
    return unit(rng.standard_normal((n, d)))


KINDS = {"spread": spread, "tied": tied, "bunched": bunched}


@st.composite
def problems(draw):
    """Records and a bank of one kind, with duplicated entries and exact copies of entries."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    d = draw(st.integers(1, 40) | st.integers(60, 200))
    bank = kind(rng, draw(st.integers(1, 200)), d)
    if draw(st.booleans()):
        bank = bank[rng.integers(0, len(bank), len(bank))]
    own = kind(rng, draw(st.integers(1, 12)), d)
    records = np.concatenate([own, bank[rng.integers(0, len(bank), 2)]])
    return records, np.ascontiguousarray(bank), draw(st.integers(1, min(len(bank), 30)))


def assert_same(routes, expected):
    index, distance = expected
    np.testing.assert_array_equal(routes.index, index)
    np.testing.assert_array_equal(routes.squared_distance, distance)


@cases
@given(problems())
def test_top_k_is_the_naive_answer(problem):
    assert_same(routing.top_k(*problem), naive.top_k(*problem))


@cases
@given(problems(), st.integers(1, 5), st.integers(1, 200), st.sampled_from([1, 2, 7]))
def test_blocks_tiles_and_threads_change_nothing(problem, block, tile, count):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "BLOCK", block)
        patch.setattr(threads, "cores", lambda: count)
        patch.setattr(routing, "_TILE", tile)
        routes = routing.top_k(*problem)
    assert_same(routes, naive.top_k(*problem))


def test_the_other_records_change_nothing():
    rng = np.random.default_rng(3)
    bank, records = bunched(rng, 500, 64), bunched(rng, 40, 64)
    together = routing.top_k(records, bank, 5)
    order = rng.permutation(40)
    shuffled = routing.top_k(np.ascontiguousarray(records[order]), bank, 5)
    assert_same(shuffled, (together.index[order], together.squared_distance[order]))
    for i in (0, 17):
        alone = routing.top_k(records[i : i + 1], bank, 5)
        assert_same(alone, (together.index[i : i + 1], together.squared_distance[i : i + 1]))


def test_float64_decides_where_float32_cannot():
    rng = np.random.default_rng(4)
    bank, records = bunched(rng, 3000, 384), bunched(rng, 8, 384)
    records = np.concatenate([records, bunched(rng, 8, 384), bank[-2:]])
    single = np.argsort(-(records @ bank.T), axis=1, kind="stable")[:, :5]
    differences = records[:, None].astype(np.float64) - bank[None]
    double = np.argsort((differences**2).sum(axis=2), axis=1, kind="stable")[:, :5]
    assert (single != double).any(axis=1).sum() >= 10
    np.testing.assert_array_equal(routing.top_k(records, bank, 5).index, double)


def test_thousands_of_duplicates_go_to_the_lowest_positions():
    rng = np.random.default_rng(5)
    few = spread(rng, 3, 16)
    bank = np.ascontiguousarray(few[np.arange(9000) % 3])
    routes = routing.top_k(few, bank, 4)
    np.testing.assert_array_equal(routes.index, [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]])
    assert not routes.squared_distance.any()


def test_a_better_entry_after_thousands_of_ties_is_found():
    rng = np.random.default_rng(6)
    record = spread(rng, 1, 16)
    far = spread(rng, 1, 16)
    bank = np.concatenate([np.repeat(far, 5000, axis=0), record, np.repeat(far, 5000, axis=0)])
    routes = routing.top_k(record, bank, 3)
    np.testing.assert_array_equal(routes.index, [[5000, 0, 1]])


def test_scores_of_all_records_and_entries_never_exist_together():
    rng = np.random.default_rng(15)
    records, bank = spread(rng, 6000, 8), spread(rng, 6000, 8)
    routing.top_k(records[:1], bank, 5)
    tracemalloc.start()
    routing.top_k(records, bank, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    block = 4 * threads.BLOCK * routing._TILE
    assert peak < 1.3 * block * threads.cores()
    assert threads.cores() > 8 or peak < 6000 * 6000 * 4 / 2


def test_rows_at_both_ends_of_the_tolerance():
    # Longer entries have larger inner products, yet may be farther.
    rng = np.random.default_rng(7)
    bank = bunched(rng, 300, 24) * rng.uniform(1 - 9e-5, 1 + 9e-5, (300, 1)).astype(np.float32)
    records = bunched(rng, 20, 24)
    assert_same(routing.top_k(records, bank, 5), naive.top_k(records, bank, 5))


def test_the_margin_covers_the_error_of_any_order_of_summation():
    rng = np.random.default_rng(8)
    for d in (1, 7, 384):
        a, b = spread(rng, 200, d), spread(rng, 200, d)
        exact = [
            sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(*pair))
            for pair in zip(a, b)
        ]
        sequential = np.cumsum(a * b, axis=1, dtype=np.float32)[:, -1]
        blas = np.array([x @ y for x, y in zip(a, b)])
        margin = routing._margin((a.astype(float) ** 2).sum(1), (b.astype(float) ** 2).sum(1), d)
        for scores in (sequential, blas):
            worst = max(abs(Fraction(float(s)) - e) for s, e in zip(scores, exact))
            assert 2 * worst <= margin
        # The bound of one product alone, from the standard model of rounding.
        assert margin >= 2 * d * 2.0**-24


def test_a_copy_is_at_zero_and_distances_are_symmetric():
    rng = np.random.default_rng(9)
    a, b = spread(rng, 30, 384), spread(rng, 20, 384)
    np.testing.assert_array_equal(np.diag(routing.squared_distances(a, a)), 0.0)
    np.testing.assert_array_equal(
        routing.squared_distances(a, b), routing.squared_distances(b, a).T
    )


@cases
@given(problems())
def test_squared_distances_are_the_naive_ones(problem):
    records, bank, _ = problem
    np.testing.assert_array_equal(
        routing.squared_distances(records, bank), naive.squared_distances(records, bank)
    )


def test_squared_distances_are_accurate():
    rng = np.random.default_rng(10)
    a, b = bunched(rng, 20, 384), bunched(rng, 20, 384)
    found = routing.squared_distances(a, b)
    for i in range(20):
        exact = sum((Fraction(float(x)) - Fraction(float(y))) ** 2 for x, y in zip(a[i], b[i]))
        # One rounding a difference, which counts twice, one a square; chains of 5 and 6 additions.
        assert abs(Fraction(float(found[i, i])) - exact) <= exact * 15 * Fraction(1, 2**53)


@cases
@given(problems(), st.data())
def test_merging_probes_is_routing_on_the_whole_bank(problem, data):
    records, bank, _ = problem
    p = len(bank)
    reserved = data.draw(st.permutations(range(p)))[: data.draw(st.integers(0, p - 1))]
    k = data.draw(st.integers(1, min(p, 20)))
    free = np.setdiff1d(np.arange(p), reserved)
    # The base may hold fewer than k entries.
    base = routing.top_k(records, bank[free], min(k, free.size)).relabel(free)
    if reserved:
        new = routing.squared_distances(records, bank[reserved])
    else:
        new = np.empty((len(records), 0))
    merged = routing.merge_top_k(base, np.array(reserved, np.int64), new, k)
    assert_same(merged, naive.top_k(records, bank, k))
    assert_same(
        merged,
        naive.merge_top_k(base.index, base.squared_distance, reserved, new, k),
    )


@cases
@given(problems(), st.data())
def test_probes_added_one_by_one_touch_only_what_they_win(problem, data):
    records, bank, _ = problem
    p = len(bank)
    count = data.draw(st.integers(0, min(p - 1, 10)))
    reserved = np.array(data.draw(st.permutations(range(p)))[:count], np.int64)
    free = np.setdiff1d(np.arange(p), reserved)
    k = data.draw(st.integers(1, min(free.size, 5)))
    routes = routing.top_k(records, np.ascontiguousarray(bank[free]), k).relabel(free)
    expected = routes
    for position in reserved:
        before = routes.index.copy()
        new = routing.squared_distances(records, bank[position : position + 1])
        expected = routing.merge_top_k(expected, np.array([position]), new)
        changed = routing.add_probe(routes, position, new[:, 0])
        won = np.flatnonzero((routes.index == position).any(axis=1))
        np.testing.assert_array_equal(changed, won)
        untouched = np.setdiff1d(np.arange(len(records)), changed)
        np.testing.assert_array_equal(routes.index[untouched], before[untouched])
        assert_same(routes, (expected.index, expected.squared_distance))
    assert_same(routes, naive.top_k(records, bank, k))


def test_a_probe_equal_to_a_base_entry_is_ordered_by_position():
    rng = np.random.default_rng(11)
    row = spread(rng, 1, 8)
    base = Routes(np.array([[4, 6]], np.int32), np.zeros((1, 2)))
    new = routing.squared_distances(row, np.concatenate([row, row, row]))
    merged = routing.merge_top_k(base, np.array([5, 9, 1]), new)
    np.testing.assert_array_equal(merged.index, [[1, 4]])
    np.testing.assert_array_equal(base.index, [[4, 6]])
    whole = routing.merge_top_k(base, np.array([5, 9, 1]), new, k=5)
    np.testing.assert_array_equal(whole.index, [[1, 4, 5, 6, 9]])


def test_read_only_and_mapped_arrays_are_read(tmp_path):
    rng = np.random.default_rng(12)
    bank, records = spread(rng, 30, 8), spread(rng, 5, 8)
    np.save(tmp_path / "bank.npy", bank)
    mapped = np.load(tmp_path / "bank.npy", mmap_mode="r")
    assert_same(routing.top_k(records, mapped, 3), naive.top_k(records, bank, 3))


ROWS = unit(np.eye(4) + 0.1)
NAN = ROWS.copy()
NAN[2, 1] = np.nan
INFINITE = ROWS.copy()
INFINITE[1, 3] = -np.inf


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (ROWS.astype(np.float64), "float32 of shape .* got float64 of shape"),
        (ROWS.tolist(), "got <class 'list'>"),
        (ROWS[0], r"got float32 of shape \(4,\)"),
        (np.asfortranarray(ROWS), "contiguous"),
        (ROWS[::2], "contiguous"),
        (ROWS[:0], r"at least one row and one column are needed, got \(0, 4\)"),
        (NAN, "row 2 holds NaN or infinite values"),
        (INFINITE, "row 1 holds NaN or infinite values"),
        (ROWS * np.float32(1.001), "row 0 has norm 1.001, allowed is 1 ± 0.0001"),
        (np.zeros((3, 4), np.float32), "row 0 has norm 0"),
    ],
)
def test_bad_rows_are_refused(bad, message):
    for call in (
        lambda: routing.top_k(bad, ROWS, 1),
        lambda: routing.top_k(ROWS, bad, 1),
        lambda: routing.squared_distances(bad, ROWS),
        lambda: routing.squared_distances(ROWS, bad),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_rows_within_the_tolerance_are_accepted():
    for factor in (1 - 0.99 * rows.UNIT_TOLERANCE, 1 + 0.99 * rows.UNIT_TOLERANCE):
        routing.top_k(ROWS * np.float32(factor), ROWS, 2)


@pytest.mark.parametrize("k", [0, -1, 5, 2.0, True, None])
def test_bad_k_is_refused(k):
    with pytest.raises(InputError, match=r"allowed are whole numbers 1 … 4"):
        routing.top_k(ROWS, ROWS, k)


def test_rows_of_two_encoders_are_refused():
    with pytest.raises(InputError, match="records have 4 columns and bank 3"):
        routing.top_k(ROWS, unit(np.eye(3)), 1)


BASE = Routes(np.array([[0, 4]], np.int32), np.array([[0.1, 0.3]]))


@pytest.mark.parametrize(
    ("positions", "distance", "k", "message"),
    [
        ([4], [[0.2]], None, "positions: 4 is in the base routes"),
        ([2, 2], [[0.2, 0.2]], None, "some are repeated"),
        ([-1], [[0.2]], None, "int32 ≥ 0 allowed"),
        ([2**31], [[0.2]], None, "int32 ≥ 0 allowed"),
        ([1.5], [[0.2]], None, "positions: integers"),
        ([[1]], [[0.2]], None, "positions: integers"),
        ([1], [[0.2, 0.3]], None, r"shape \(1, 2\) given, \(1, 1\) needed"),
        ([1], [[np.nan]], None, "finite and at least 0"),
        ([1], [[-0.1]], None, "finite and at least 0"),
        ([1], [[0.2]], 4, "whole numbers 1 … 3"),
        ([1], [[0.2]], 0, "whole numbers 1 … 3"),
    ],
)
def test_bad_probes_are_refused(positions, distance, k, message):
    with pytest.raises(InputError, match=message):
        routing.merge_top_k(BASE, np.array(positions), np.array(distance), k)


def test_float32_distances_are_refused():
    with pytest.raises(InputError, match="float64"):
        routing.merge_top_k(BASE, np.array([1]), np.array([[0.2]], np.float32))
    with pytest.raises(InputError, match="float64"):
        routing.add_probe(BASE, 1, np.array([0.2], np.float32))


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([3, 3, 5, 6, 7], "must ascend"),
        ([7, 3, 5, 6, 8], "must ascend"),
        ([1, 2], "2 given, but the routes refer to entry 4"),
    ],
)
def test_bad_labels_are_refused(positions, message):
    with pytest.raises(InputError, match=message):
        BASE.relabel(np.array(positions))


def test_read_only_routes_take_no_probe():
    routes = Routes(BASE.index.copy(), BASE.squared_distance.copy())
    routes.index.flags.writeable = False
    with pytest.raises(InputError, match="read-only"):
        routing.add_probe(routes, 1, np.array([0.2]))


def test_layouts_of_distances_change_nothing():
    rng = np.random.default_rng(14)
    bank, records = spread(rng, 20, 8), spread(rng, 9, 8)
    base = routing.top_k(records, bank[:15], 3)
    new = routing.squared_distances(records, bank[15:])
    merged = routing.merge_top_k(base, np.arange(15, 20), np.asfortranarray(new))
    assert_same(merged, naive.top_k(records, bank, 3))
    for j in range(5):
        routing.add_probe(base, 15 + j, new[:, j])
    assert_same(base, naive.top_k(records, bank, 3))


def test_routes_of_other_types_are_refused():
    with pytest.raises(InputError, match="int32 and float64"):
        Routes(np.array([[0]]), np.array([[0.0]]))
    with pytest.raises(InputError, match="equal shapes"):
        Routes(np.array([[0]], np.int32), np.array([[0.0, 1.0]]))


def test_a_full_candidate_list_keeps_what_may_still_win():
    # The kernel alone, at the smallest room it allows, on scores that fall and rise again.
    rng = np.random.default_rng(13)
    k, n, p = 3, 4, 700
    bank, records = bunched(rng, p, 32), bunched(rng, n, 32)
    room = 2 * k + topk.CHUNK
    top = np.full((n, k), -np.inf, np.float32)
    found, score = np.empty((n, room), np.int32), np.empty((n, room), np.float32)
    count = np.zeros(n, np.int64)
    for first in range(0, p, 100):
        scores = np.ascontiguousarray(records @ bank[first : first + 100].T)
        topk.scan(scores, first, np.float32(1e-4), records, bank, top, found, score, count)
    index, distance = np.empty((n, k), np.int32), np.empty((n, k))
    topk.rerank(records, bank, found, count, index, distance)
    assert_same(Routes(index, distance), naive.top_k(records, bank, k))
