"""The usefulness of each round's bank, on vectors that can be worked out by hand."""

import numpy as np
import polars as pl
import pytest

import artifacts
from pe_core.text import utility
from tests.workflow.scripted import run

COHORTS = ("canary", "auxiliary", "calibration", "test", "test")
# A probe in the middle: what it is near to does not count as the bank's.
RESERVED = 1


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Measure two banks of three entries against two test users of one record."""
    compared = []

    def mauve(features, reference, resamples, generator):
        compared.append((features.copy(), reference.copy(), generator.random()))
        return utility.Mauve(0.5, 0.4, 0.6)

    monkeypatch.setattr(utility, "mauve", mauve)
    rows = np.eye(5, dtype=np.float32)
    with artifacts.writing(tmp_path / "records.parquet") as path:
        users = pl.DataFrame({"cohort": COHORTS}).with_row_index("user")
        users.with_columns(pl.col("user").cast(pl.String)).write_parquet(path)
    artifacts.save_array(tmp_path / "records.npy", rows)
    artifacts.save_arrays(tmp_path / "routes.npz", reserved=np.array([RESERVED]))
    artifacts.save_arrays(tmp_path / "votes.npz", probe_share=0.25)
    near = np.array([0.8, 0.6], np.float32)
    banks = [(rows[[0, 4, 1]], ["a b", "a probe", "a c"]), (rows[[0, 3, 1]], ["a b", "x", "b a"])]
    banks[1][0][2, [1, 4]] = near[::-1]
    for t, (vectors, texts) in enumerate(banks):
        artifacts.save_array(tmp_path / f"{t}.npy", vectors)
        with artifacts.writing(tmp_path / f"{t}.parquet") as path:
            pl.DataFrame({"text": texts}).write_parquet(path)
    names = {"dataset": "d", "bank": "A", "encoder": "e", "transcript": "0", "run": "unaudited"}
    inputs = {
        "records": tmp_path / "records.parquet",
        "record_embeddings": tmp_path / "records.npy",
        "reserved": tmp_path / "routes.npz",
        "banks": [tmp_path / f"{t}.parquet" for t in (0, 1)],
        "embeddings": [tmp_path / f"{t}.npy" for t in (0, 1)],
        "votes": [tmp_path / "votes.npz"],
    }
    params = {"reference": 1000, "resamples": 20, "seed": 1}
    outputs = {"utility": tmp_path / "utility.json"}
    run("evolve_utility", tmp_path, inputs, outputs, params, **names)
    return artifacts.load_json(tmp_path / "utility.json")["banks"], compared


def test_banks_are_compared_with_and_without_the_probes_and_by_equal_draws(found):
    _, compared = found
    assert [len(features) for features, _, _ in compared] == [2, 3, 2, 3]
    for _, reference, _ in compared:
        assert np.array_equal(reference, np.eye(5, dtype=np.float32)[3:])
    assert len({draw for _, _, draw in compared}) == 1


def test_what_stands_beside_mauve_is_of_the_entries_that_are_not_probes(found):
    banks, _ = found
    assert [bank["nearest"] for bank in banks] == [0.0, pytest.approx((0.0 + 0.8) / 2)]
    # a b, a c: three words in four; a b, b a: two in four, but two pairs in two.
    assert [(bank["distinct_1"], bank["distinct_2"]) for bank in banks] == [(0.75, 1), (0.5, 1)]
    assert "probe_share" not in banks[0]
    assert banks[1]["probe_share"] == 0.25
