"""HNSW routing: exact distances for what it finds, a measured recall, a stop where that is low."""

import numpy as np
import pytest

from pe_core import approximate, routing
from pe_core.errors import AccuracyError, InputError


def rows(seed, n, d=24):
    values = np.random.default_rng(seed).standard_normal((n, d))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


BANK = rows(1, 3000)
RECORDS = rows(2, 150)
EXACT = routing.top_k(RECORDS, BANK, 5)


def share(index):
    return np.mean([len(set(a) & set(b)) / 5 for a, b in zip(index.tolist(), EXACT.index.tolist())])


def narrow(bank=BANK):
    return approximate.Index.build(bank, seed=3, links=4, construction=10)


def test_a_wide_search_finds_the_exact_routes():
    found = approximate.Index.build(BANK, seed=1).top_k(RECORDS, 5, search=3000)
    np.testing.assert_array_equal(found.routes.index, EXACT.index)
    np.testing.assert_array_equal(found.routes.squared_distance, EXACT.squared_distance)
    assert found.recall == 1.0
    assert found.sampled == 150


def test_recall_is_the_share_of_the_exact_routes_found():
    found = narrow().top_k(RECORDS, 5, search=10, recall=0.0)
    assert 0.1 < found.recall < 0.95
    np.testing.assert_allclose(found.recall, share(found.routes.index), rtol=1e-12)


def test_what_is_found_has_its_exact_distance_and_order():
    routes = narrow().top_k(RECORDS, 5, search=10, recall=0.0).routes
    distance = routing.squared_distances(RECORDS, BANK)
    np.testing.assert_array_equal(
        routes.squared_distance, np.take_along_axis(distance, routes.index, axis=1)
    )
    assert (np.diff(routes.squared_distance, axis=1) >= 0).all()


def test_low_recall_stops_and_says_what_to_raise():
    with pytest.raises(AccuracyError, match=r"recall@5 is 0\.\d+ over 100 .* raise search, and"):
        narrow().top_k(RECORDS, 5, search=10, sample=100)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setattr(approximate, "_SHARD", 700)
    results = []
    for count in (1, 2, 7):
        monkeypatch.setattr(approximate, "cores", lambda count=count: count)
        results.append(narrow().top_k(RECORDS, 5, search=10, recall=0.0))
    assert results[0].recall < 1
    for other in results[1:]:
        np.testing.assert_array_equal(other.routes.index, results[0].routes.index)
        assert other.recall == results[0].recall


def test_shards_cover_the_bank(monkeypatch):
    monkeypatch.setattr(approximate, "_SHARD", 700)
    index = approximate.Index.build(BANK, seed=1)
    assert [graph.element_count for graph in index.graphs] == [600] * 5
    np.testing.assert_array_equal(index.top_k(RECORDS, 5, search=700).routes.index, EXACT.index)


def flattened(bank, factor=0.2):
    """Most of the variance on the first eight columns, as embeddings have it on a few axes."""
    scaled = bank * np.where(np.arange(bank.shape[1]) < 8, 1, factor)
    return (scaled / np.linalg.norm(scaled, axis=1, keepdims=True)).astype(np.float32)


def test_graphs_of_a_few_principal_axes_lead_to_the_exact_routes():
    # Turned, so that the axes are not the columns.
    turn = np.linalg.qr(np.random.default_rng(9).standard_normal((24, 24)))[0]
    bank, records = flattened(flattened(BANK) @ turn, 1), flattened(flattened(RECORDS) @ turn, 1)
    exact = routing.top_k(records, bank, 5)
    index = approximate.Index.build(bank, seed=1, width=8)
    assert index.axes.shape == (24, 8)
    found = index.top_k(records, 5, search=3000, recall=0.9)
    hit = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(found.routes.index, exact.index)])
    np.testing.assert_allclose(found.recall, hit, rtol=1e-12)
    distance = routing.squared_distances(records, bank)
    np.testing.assert_array_equal(
        found.routes.squared_distance, np.take_along_axis(distance, found.routes.index, axis=1)
    )


def test_coordinates_are_sums_of_whole_steps():
    axes = approximate._axes(BANK, 8, 1)
    np.testing.assert_array_equal(axes * 2**12, np.rint(axes * 2**12))
    # Under half a step: it would leave the sum to the order of its terms.
    small = np.array([[1, 2**-26]], np.float32)
    np.testing.assert_array_equal(approximate._coordinates(small, np.eye(2)), [[1, 0]])
    found = approximate._coordinates(BANK, axes)
    np.testing.assert_allclose(found, BANK.astype(np.float64) @ axes, atol=1e-6)


def test_one_index_serves_several_calls():
    index = approximate.Index.build(BANK, seed=1)
    wide = index.top_k(RECORDS, 5, search=3000)
    index.top_k(RECORDS[:5], 3, search=100, recall=0.0)
    again = index.top_k(RECORDS, 5, search=3000)
    np.testing.assert_array_equal(wide.routes.index, again.routes.index)


def test_as_many_votes_as_entries():
    bank = rows(4, 6)
    found = approximate.Index.build(bank, seed=1).top_k(RECORDS[:3], 6)
    np.testing.assert_array_equal(found.routes.index, routing.top_k(RECORDS[:3], bank, 6).index)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"recall": 1.1}, r"recall = 1.1: allowed are values in \[0, 1\]"),
        ({"recall": np.nan}, "recall = nan"),
        ({"search": 4}, "search = 4: a whole number of at least 5"),
        ({"search": 50.0}, "search = 50.0"),
        ({"sample": 0}, "sample = 0"),
        ({"k": 0}, "k = 0: allowed are whole numbers 1 … 3000"),
        ({"k": 3001, "search": 4000}, "k = 3001: allowed are whole numbers 1 … 3000"),
        ({"records": RECORDS.astype(np.float64)}, "records: float32"),
    ],
)
def test_bad_searches_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        narrow().top_k(**({"records": RECORDS, "k": 5} | settings))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, "width = 0"),
        ({"links": 1}, "links = 1"),
        ({"construction": 3}, "construction = 3: a whole number of at least 16"),
        ({"bank": BANK * np.float32(2)}, "bank: row 0 has norm 2"),
    ],
)
def test_bad_indexes_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        approximate.Index.build(**({"bank": BANK, "seed": 1} | settings))
