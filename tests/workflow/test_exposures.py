"""Everyone's exposure, on a house of a few users whose patterns can be enumerated."""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import special

import artifacts
from tests.workflow.fabricated import EVALUATION, THEORY, rows_of, verticals
from tests.workflow.scripted import MECHANISM, run


@pytest.fixture
def house(tmp_path):
    """Records of a few users and their routes on a bank of ten, with two reserved positions."""
    sizes = {"canary": 2, "auxiliary": 4, "calibration": 2, "test": 6}
    draw = np.random.default_rng(3)
    table = pl.DataFrame(
        [
            {"user": f"{cohort} {u}", "cohort": cohort, "text": "secret"}
            for cohort, size in sizes.items()
            for u in range(size)
            for _ in range(4)
        ]
    )
    with artifacts.writing(tmp_path / "records.parquet") as path:
        table.write_parquet(path)
    vectors = draw.standard_normal((len(table), 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    bank = draw.standard_normal((10, 6)).astype(np.float32)
    bank /= np.linalg.norm(bank, axis=1, keepdims=True)
    artifacts.save_array(tmp_path / "records.npy", vectors)
    artifacts.save_array(tmp_path / "bank.npy", bank)
    run(
        "route",
        tmp_path,
        {
            "records": str(tmp_path / "records.npy"),
            "bank": str(tmp_path / "bank.npy"),
            "nonces": "",
        },
        {"routes": tmp_path / "routes.npz"},
        {"votes": 2, "probes": 2, "seed": 1, "routing": {"approximate_above": 100}},
        dataset="toy",
        bank="A",
    )
    return tmp_path, vectors, bank


def exposed(house, attack, shrinkage=0.1):
    folder = house[0]
    run(
        "exposure",
        folder,
        {
            "records": str(folder / "records.parquet"),
            "routes": str(folder / "routes.npz"),
            "embeddings": str(folder / "records.npy"),
        },
        {"table": folder / f"{attack}.csv"},
        {
            "mechanism": {**MECHANISM, "votes": 2},
            "evaluation": {"shrinkage": shrinkage, "ridge": 1e-9},
        },
        dataset="toy",
        bank="A",
        encoder="unit",
        attack=attack,
    )
    return rows_of(folder / f"{attack}.csv")


def test_the_configured_shrinkage_reaches_everyones_score(house):
    some, none = exposed(house, "ordinary"), exposed(house, "ordinary", shrinkage=0.9)
    assert [row["separation"] for row in some] != [row["separation"] for row in none]


def votes_of(vectors, bank) -> np.ndarray:
    """Return clipped contributions of the auxiliary users, then the test users; two votes each."""
    distance = ((vectors[:, None].astype(float) - bank[None].astype(float)) ** 2).sum(axis=2)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :2]
    chosen = [*range(2, 6), *range(8, 14)]
    rows = np.zeros((len(chosen), len(bank)))
    for row, user in enumerate(chosen):
        for record in range(4 * user, 4 * user + 4):
            rows[row, nearest[record]] += 1.0 / 8.0
    return rows * np.minimum(1.0, 0.1 / np.linalg.norm(rows, axis=1, keepdims=True))


def best_by_enumeration(v, known, others) -> tuple[float, float]:
    """Return ε over a fine grid of thresholds, from all patterns of participation; and μ_eff."""
    q, noise = 0.1, 0.1
    second = known.T @ known / len(known)
    shrunk = np.where(np.eye(len(v), dtype=bool), second, 0.9 * second)
    n = len(others)
    covariance = q * (1 - q) * n * shrunk + (noise**2 + 1e-9) * np.eye(len(v))
    weights = np.linalg.solve(covariance, v)
    shifts, scale = others @ weights, noise * np.linalg.norm(weights)
    patterns = np.array(list(itertools.product([0, 1], repeat=n)))
    chance = np.prod(np.where(patterns, q, 1 - q), axis=1)
    at = np.linspace(-8.0, 12.0, 20001)[:, None] * scale
    absent = special.ndtr((patterns @ shifts - at) / scale) @ chance
    present = special.ndtr((patterns @ shifts + weights @ v - at) / scale) @ chance
    tpr = (1 - q) * absent + q * present
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.log((tpr - 1e-5) / absent)
        below = np.log((1.0 - absent - 1e-5) / (1.0 - tpr))
    return float(max(np.nanmax(above[tpr > 1e-5]), np.nanmax(below[tpr < 0.999]))), float(
        np.sqrt(weights @ v)
    )


@pytest.mark.parametrize("attack", ["ordinary", "exact"])
def test_everyone_is_tested_against_all_the_others(house, attack):
    folder, vectors, bank = house
    rows = exposed(house, attack)
    assert [int(row["user"]) for row in rows] == list(range(6))
    assert set(rows[0]) == {
        *("dataset", "bank", "encoder", "attack", "user"),
        *("epsilon", "separation", "norm", "inspected"),
    }
    reserved = artifacts.load_arrays(folder / "routes.npz")["reserved"]
    for user, row in enumerate(rows):
        if attack == "ordinary":
            votes = votes_of(vectors, bank)
            inspected = np.flatnonzero(votes[4 + user])
        else:
            published = bank.copy()
            first = 4 * (8 + user)
            published[reserved] = vectors[first : first + 2]
            votes, inspected = votes_of(vectors, published), reserved
        part = votes[:, inspected]
        others = np.delete(part[4:], user, axis=0)
        epsilon, separation = best_by_enumeration(part[4 + user], part[:4], others)
        assert float(row["epsilon"]) == pytest.approx(epsilon, abs=1e-4)
        assert float(row["separation"]) == pytest.approx(separation, abs=1e-6)
        assert float(row["norm"]) == pytest.approx(np.linalg.norm(part[4 + user]), abs=1e-6)
        assert int(row["inspected"]) == len(inspected)
    assert "secret" not in (folder / f"{attack}.csv").read_text()


def test_shares_above_levels_are_counted_and_drawn(tmp_path):
    epsilons = {"A": [0.1, 0.3, 0.3, 0.9], "B": [0.0, 0.5, 0.6, 1.2]}
    for bank, values in epsilons.items():
        table = pl.DataFrame({"dataset": "toy", "bank": bank, "encoder": "unit",
                              "attack": "ordinary", "user": range(4), "epsilon": values,
                              "separation": 0.5, "norm": 0.1, "inspected": 3})  # fmt: skip
        with artifacts.writing(tmp_path / f"{bank}.csv") as path:
            table.write_csv(path)
    artifacts.save_json(tmp_path / "accounting.json", {"epsilon_theory": THEORY})
    names = run(
        "exposures",
        tmp_path,
        {
            "exposures": [str(tmp_path / f"{bank}.csv") for bank in "AB"],
            "accounting": str(tmp_path / "accounting.json"),
        },
        {
            "csv": tmp_path / "exposure.csv",
            "levels": tmp_path / "levels.csv",
            "svg": tmp_path / "exposure.svg",
            "pdf": tmp_path / "exposure.pdf",
        },
        {"mechanism": MECHANISM, "evaluation": EVALUATION, "canaries": 5, "levels": [0.3, 0.55]},
    )
    shares = {
        (r["bank"], float(r["level"])): float(r["share"]) for r in rows_of(tmp_path / "levels.csv")
    }
    assert shares == {("A", 0.3): 0.25, ("A", 0.55): 0.25, ("B", 0.3): 0.75, ("B", 0.55): 0.5}
    assert len(rows_of(tmp_path / "exposure.csv")) == 8
    (left, right), *_ = names["axes"]
    for panel in (left, right):
        assert panel.get_xlabel() == "exact ε of a user at δ = 10⁻⁵ (dimensionless)"
        # An ideal attack at a million trials is expected to prove 0.99 of 1.68.
        assert verticals(panel) == [pytest.approx(0.99, abs=0.005), THEORY]
    assert right.get_ylabel() == "share of users above (%)"
    stairs = [patch for patch in right.patches if hasattr(patch, "get_data")]
    for each, values in zip(stairs, epsilons.values(), strict=True):
        heights, edges, _ = each.get_data()
        for level in (0.2, 0.7, 1.0):
            height = heights[np.searchsorted(edges, level, side="right") - 1]
            assert height == pytest.approx(100.0 * np.mean(np.array(values) > level))
