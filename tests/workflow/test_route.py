"""The rule that routes everybody: exactly on small banks, by HNSW above the configured size."""

import sys

import numpy as np
import pytest
import yaml

import artifacts
from pe_core import routing
from tests.workflow import small
from tests.workflow.scripted import run

SCHEMA = yaml.safe_load((small.ROOT / "workflow/schemas/config.schema.yaml").read_text())
DEFAULTS = {
    key: rule["default"] for key, rule in SCHEMA["properties"]["routing"]["properties"].items()
}
BANK, PROBES, VOTES = 300, 6, 5
TEXTS = {"records": 90, "bank": BANK, "nonces": 20}


@pytest.fixture
def vectors(tmp_path):
    draw = np.random.default_rng(5)
    made = {}
    for name, rows in TEXTS.items():
        drawn = draw.standard_normal((rows, 16)).astype(np.float32)
        made[name] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        artifacts.save_array(tmp_path / f"{name}.npy", made[name])
    return made


def route(folder, probes=PROBES, nonces=True, **settings):
    """Run the script, and return its artifact."""
    inputs = {name: folder / f"{name}.npy" for name in TEXTS}
    run(
        "route",
        folder,
        inputs if nonces else {**inputs, "nonces": []},
        {"routes": folder / "routes.npz"},
        {"votes": VOTES, "probes": probes, "seed": 1, "routing": {**DEFAULTS, **settings}},
        dataset="toy",
        bank="A",
        encoder="unit",
    )
    return artifacts.load_arrays(folder / "routes.npz")


@pytest.mark.parametrize("probes", [0, PROBES])
def test_routes_are_those_of_the_whole_bank_and_of_the_free_entries(vectors, tmp_path, probes):
    routes = route(tmp_path, probes)
    reserved = routes["reserved"]
    assert len(np.unique(reserved)) == probes
    assert routes["bank_size"] == BANK
    assert routes["method"] == "exact"
    whole = routing.top_k(vectors["records"], vectors["bank"], VOTES)
    np.testing.assert_array_equal(routes["original_index"], whole.index)
    np.testing.assert_array_equal(routes["original_distance"], whole.squared_distance)
    free = np.setdiff1d(np.arange(BANK), reserved)
    for name, texts in (("base", "records"), ("nonce", "nonces")):
        expected = routing.top_k(vectors[texts], vectors["bank"][free], VOTES).relabel(free)
        np.testing.assert_array_equal(routes[f"{name}_index"], expected.index)
        np.testing.assert_array_equal(routes[f"{name}_distance"], expected.squared_distance)


def test_a_bank_above_the_configured_size_goes_through_hnsw(vectors, tmp_path, caplog):
    caplog.set_level("INFO")
    exact = route(tmp_path, approximate_above=BANK)
    assert exact["method"] == "exact"
    assert not any(name.endswith("recall") for name in exact)
    found = route(tmp_path, approximate_above=BANK - 1, search=BANK, recall=1.0)
    assert found["method"] == "hnsw"
    for name in ("base", "original", "nonce"):
        np.testing.assert_array_equal(found[f"{name}_index"], exact[f"{name}_index"])
        np.testing.assert_array_equal(found[f"{name}_distance"], exact[f"{name}_distance"])
    assert (found["base_recall"], found["base_sampled"]) == (1.0, TEXTS["records"])
    assert (found["nonce_recall"], found["nonce_sampled"]) == (1.0, TEXTS["nonces"])
    assert "base: recall@5 1.0000 over 90 sampled records" in caplog.text
    assert "nonce: recall@5 1.0000 over 20 sampled records" in caplog.text


def test_a_recall_under_the_configured_one_stops_and_says_what_to_raise(
    vectors, tmp_path, capsys, caplog
):
    caplog.set_level("INFO")
    narrow = {"approximate_above": 10, "width": 2, "search": 5}
    with pytest.raises(SystemExit) as stopped:
        route(tmp_path, **narrow)
    assert stopped.value.code == 1
    said = capsys.readouterr().err
    assert "rule route: recall@5 is 0." in said
    assert "0.99 is needed" in said
    assert "raise search, and where that is not enough width, links and construction" in said
    assert not (tmp_path / "routes.npz").exists()
    found = route(tmp_path, **narrow, recall=0.0)
    assert 0.1 < found["base_recall"] < 0.99
    assert f"base: recall@5 {float(found['base_recall']):.4f}" in caplog.text


def test_exact_routing_needs_no_hnsw(vectors, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    monkeypatch.delitem(sys.modules, "pe_core.approximate", raising=False)
    assert route(tmp_path, nonces=False)["method"] == "exact"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"search": 4}, "routing.search = 4: at least mechanism.votes = 5 is needed"),
        ({"construction": 10}, "routing.construction = 10: at least routing.links = 16 is needed"),
    ],
)
def test_settings_that_hnsw_refuses_are_said_before_anything_is_planned(copy, settings, words):
    small.set_config(copy, {**small.get_config(copy), "routing": settings})
    printed = small.snakemake(copy, "-n", *small.TARGETS, passes=False)
    assert words in printed
    assert "Building DAG" not in printed
