"""The scripts of the DP-SGD stage on data and games small enough to run in a moment."""

import re

import numpy as np
import polars as pl
import pytest

import artifacts
import dpsgd_audits
from pe_core import InputError
from tests.workflow.scripted import run

MECHANISM = {"checkpoints": [1, 3], "delta": 1e-5, "epsilon": 4.0}
MODEL = {
    "name": "toy",
    "hidden": [],
    "optimizer": "sgd",
    "learning_rate": 0.5,
    "clip": 0.5,
    "reference": {"learning_rate": 2.0, "steps": 300},
}
SHARES = ("1", "0.5")
SCENARIOS = ("S2", "S4", "S5")
FIGURES = ("audits", "worst_case", "gdp", "accuracy")


def records(folder):
    """Three clusters on a line, ten records each, and as many auxiliary and test records."""
    random, arrays = np.random.default_rng(1), {"classes": np.int64(3)}
    for name in ("records", "auxiliary", "test"):
        labels = np.arange(30) % 3
        values = np.eye(3)[labels] + 0.3 * random.standard_normal((30, 3))
        arrays |= {f"{name}_features": values.astype(np.float32), f"{name}_labels": labels}
    artifacts.save_arrays(folder / "records.npz", **arrays)
    return folder / "records.npz"


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """Run every script of the stage in turn; return the folder and its table."""
    folder = tmp_path_factory.mktemp("dpsgd")
    shared = {"records": records(folder), "kernels": ""}
    pairs = {"canaries": folder / "canaries.npz", "notes": folder / "canaries.json"}
    params = {"model": MODEL, "mechanism": MECHANISM, "canary": 0, "runs": 40, "alpha": 0.05}
    params |= {"seed": 1}
    run("dpsgd_canaries", folder, shared, pairs, params)
    audits, accounts, without = [], [], []

    def made(kind, name):
        kind.append(folder / name)
        return {"made": kind[-1]}

    for share in SHARES:
        noise = folder / f"noise-{share}.json"
        own = {**params, "participation": float(share)}
        run("dpsgd_noise", folder, {}, {"noise": noise}, own)
        found = made(accounts, f"account-{share}.json")
        run("dpsgd_account", folder, {"noise": noise}, found, params)
        found = made(audits, f"S1-{share}.json")
        run("dpsgd_worst_case", folder, {"noise": noise}, found, params, share=share)
        files = {**shared, **pairs, "noise": noise}
        for scenario in SCENARIOS:
            found = made(audits, f"{scenario}-{share}.json")
            run("dpsgd_game", folder, files, found, params, scenario=scenario, share=share)
        found = made(without, f"without-{share}.json")
        run("dpsgd_without", folder, files, found, params, share=share)
    table = folder / "substitute_dpsgd.csv"
    inputs = {"audits": audits, "accounts": accounts, "without": without}
    run("dpsgd_table", folder, inputs, {"csv": table})
    figures = {name: [folder / f"{name}.{end}" for end in ("svg", "pdf")] for name in FIGURES}
    run("dpsgd_figures", folder, {"table": table, "accounts": accounts}, figures)
    return folder, pl.read_csv(table)


def test_every_audit_stands_beside_what_the_proofs_allow(stage):
    _, table = stage
    assert len(table) == len(SHARES) * (1 + len(SCENARIOS)) * len(MECHANISM["checkpoints"])
    assert (table["epsilon_add_remove_low"] <= table["epsilon_add_remove_high"]).all()
    assert (table["epsilon_add_remove"] < table["epsilon_substitute"]).all()
    assert (table["epsilon_substitute"] <= table["epsilon_group"] * (1 + 1e-6)).all()
    last = table.filter(steps=3)
    assert last["epsilon_add_remove"].to_list() == pytest.approx([4.0] * len(last), abs=1e-3)
    worst = table.filter(scenario="S1")
    assert (worst["epsilon_exact"] <= worst["epsilon_substitute_high"] + 1e-3).all()
    # With q = 1 or after one step the sum is all there is to see.
    whole = worst.filter((pl.col("participation") == 1.0) | (pl.col("steps") == 1))
    assert whole["epsilon_exact"].to_list() == pytest.approx(
        whole["epsilon_substitute"].to_list(), abs=1e-3
    )
    assert "if_gdp: trials, if Gaussian" in table["obtained"][0]


def test_models_have_accuracies_with_and_without_the_canary_and_the_worst_case_has_none(stage):
    _, table = stage
    worst = table.filter(scenario="S1")
    assert worst["accuracy"].null_count() == worst["accuracy_without"].null_count() == len(worst)
    others = table.filter(pl.col("scenario") != "S1")
    assert others["accuracy"].is_between(0.0, 1.0).all()
    assert others["accuracy_without"].is_between(0.0, 1.0).all()


def test_each_figure_is_a_picture_with_what_the_proofs_allow(stage):
    folder, _ = stage
    texts = {name: (folder / f"{name}.svg").read_text() for name in FIGURES}
    for name in FIGURES:
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    for name in ("audits", "worst_case"):
        assert {"ε_AR, add/remove", "ε_S, substitute"} <= set(
            re.findall(r">([^<>]+)</text>", texts[name])
        )
        assert "(dimensionless)" in texts[name]
    assert "lower bound if μ-GDP holds" in texts["audits"]
    assert "T (steps)" in texts["audits"]


def test_a_damaged_audit_is_named(stage, tmp_path):
    folder, _ = stage
    audit = artifacts.load_json(folder / "S1-1.json")
    artifacts.save_json(tmp_path / "audit.json", {**audit, "runs": 3})
    with pytest.raises(InputError, match=r"audit\.json: \$\.runs: 3 is less than the minimum"):
        dpsgd_audits.load(tmp_path / "audit.json")
