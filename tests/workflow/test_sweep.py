"""The sweep's scripts on made-up contributions, and what a change of σ plans."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import beta

import artifacts
import cohort_votes
import configuration
from tests.workflow import small
from tests.workflow.scripted import MECHANISM, run

SCHEMA = small.ROOT / "workflow/schemas/config.schema.yaml"
EVALUATION = {"trials": 50_000, "alpha": 0.05, "shrinkage": 0.1, "ridge": 1e-9}
THEORY = {
    "epsilon_theory": 1.69477,
    "epsilon_theory_low": 1.6845438,
    "epsilon_theory_estimate": 1.6845438,
    "epsilon_theory_high": 1.6845439,
}
WHERE = {"dataset": "made", "bank": "A", "encoder": "none", "attack": "nonce", "canary": "0"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A cell's contributions, its single audit, and a sweep through four points."""
    folder = tmp_path_factory.mktemp("sweep")
    rng = np.random.default_rng(11)
    votes = 0.05 * rng.random((60, 4)) * (rng.random((60, 4)) < 0.3)
    rows = sparse.csr_array(votes)
    artifacts.save_arrays(
        folder / "contributions.npz",
        chosen=np.arange(4),
        positions=np.arange(4),
        canary=np.full(4, 0.05),
        **cohort_votes.fields(rows),
        first=np.array([0, 20, 35, 60]),
        votes_on_inspected=20,
        votes=20,
        norm=0.1,
        unclipped_norm=0.5,
    )
    artifacts.save_json(folder / "accounting.json", THEORY)
    points = [(0.7, 0.1), (1.0, 0.02), (1.0, 0.1), (2.0, 0.1)]
    artifacts.save_json(
        folder / "theory.json",
        {"points": [{"noise_multiplier": s, "participation": q, **THEORY} for s, q in points]},
    )
    contributions = folder / "contributions.npz"
    settings = {"mechanism": MECHANISM, "evaluation": EVALUATION, "seed": 5}
    run(
        "audit",
        folder,
        {"contributions": contributions, "accounting": folder / "accounting.json"},
        {"audit": folder / "audit.json"},
        {**settings, "canaries": 5},
        **WHERE,
    )
    for name, trials in (("sweep", 200_000), ("few", 3)):
        run(
            "sweep",
            folder,
            {"contributions": contributions, "accounting": folder / "theory.json"},
            {"sweep": folder / f"{name}.json"},
            {**settings, "trials": trials},
            **WHERE,
        )
    return folder


def points(folder, name="sweep"):
    found = json.loads((folder / f"{name}.json").read_text())["points"]
    return {(point["noise_multiplier"], point["participation"]): point for point in found}


def test_at_the_mechanisms_own_point_the_sweep_is_the_audit(folder):
    audit = json.loads((folder / "audit.json").read_text())
    point = points(folder)[1.0, 0.1]
    assert point["separation"] == audit["separation"]
    # The audit scans once for several δ, hence the last digits.
    assert point["epsilon_exact_best"] == pytest.approx(audit["epsilon"]["exact_best"], rel=1e-9)
    assert point["epsilon_exact_best"] > 0.5


def test_exact_values_lie_within_the_band_and_fall_with_noise(folder):
    found = points(folder)
    for point in found.values():
        upper = point["epsilon_upper"]
        assert point["epsilon_lower"] <= point["epsilon_exact"] <= point["epsilon_exact_best"]
        assert upper is None or point["epsilon_exact"] <= upper
    little, some, much = (found[noise, 0.1]["epsilon_exact_best"] for noise in (0.7, 1.0, 2.0))
    assert little > some > much
    assert found[1.0, 0.02]["epsilon_exact_best"] < found[1.0, 0.1]["epsilon_exact_best"]


def test_both_ends_are_clopper_pearsons(folder):
    tail = 0.05 / 4
    for point in points(folder).values():
        n, t, f = 200_000, point["true_positives"], point["false_positives"]
        assert 0 < f < t < n
        low, high = (
            np.maximum(
                np.log(
                    (beta.ppf(a, t + i, n - t + 1 - i) - 1e-5) / beta.ppf(b, f + j, n - f + 1 - j)
                ),
                np.log(
                    (beta.ppf(a, n - f + i, f + 1 - i) - 1e-5) / beta.ppf(b, n - t + j, t + 1 - j)
                ),
            )
            for a, b, i, j in ((tail, 1 - tail, 0, 1), (1 - tail, tail, 1, 0))
        )
        assert point["epsilon_lower"] == pytest.approx(max(low, 0.0), abs=1e-9)
        assert point["epsilon_upper"] == pytest.approx(high, abs=1e-9)


def test_an_end_that_nothing_bounds_is_empty_in_the_table_and_drawn(folder):
    found = points(folder, "few")
    assert any(point["epsilon_upper"] is None for point in found.values())
    table = folder / "figure1.csv"
    run("figure1_table", folder, {"few": folder / "few.json"}, {"csv": table}, {})
    rows = pl.read_csv(table)
    assert len(rows) == 4
    assert rows["epsilon_upper"].null_count() > 0
    pictures = {kind: folder / f"figure1.{kind}" for kind in ("svg", "pdf")}
    run("figure1", folder, {"table": table}, pictures, {"mechanism": MECHANISM})
    drawn = pictures["svg"].read_text()
    assert ">nonce<" in drawn
    assert "nan" not in drawn.lower()
    again = {kind: folder / f"again.{kind}" for kind in ("svg", "pdf")}
    run("figure1", folder, {"table": table}, again, {"mechanism": MECHANISM})
    assert drawn == again["svg"].read_text()


def test_a_participation_of_many_decimals_is_drawn(folder, tmp_path):
    third = json.loads((folder / "few.json").read_text())
    for point in third["points"]:
        if point["participation"] == MECHANISM["participation"]:
            point["participation"] = 1 / 3
    artifacts.save_json(tmp_path / "third.json", third)
    table = tmp_path / "figure1.csv"
    run("figure1_table", tmp_path, {"third": tmp_path / "third.json"}, {"csv": table}, {})
    pictures = {kind: tmp_path / f"figure1.{kind}" for kind in ("svg", "pdf")}
    mechanism = {**MECHANISM, "participation": 1 / 3}
    run("figure1", tmp_path, {"table": table}, pictures, {"mechanism": mechanism})
    assert "q = 0.333333" in pictures["svg"].read_text()


def test_a_change_of_noise_or_participation_repeats_no_routing(copy):
    config = small.get_config(copy)
    config["mechanism"] = {"noise_multiplier": 1.3, "participation": 0.2}
    small.set_config(copy, config)
    planned = small.planned(copy, "results/figures/figure1.svg", "results/figures/accounts.svg")
    cell = "results/small/A/all-MiniLM-L6-v2/{}/canary-0/{}"
    swept = [attack for attack in small.ATTACKS if "-" not in attack]
    assert planned == {
        ("sweep_account", "results/sweep.json"),
        *(("sweep", cell.format(attack, "sweep.json")) for attack in swept),
        ("figure1_table", "results/tables/figure1.csv"),
        ("figure1", "results/figures/figure1.svg"),
        # The accounts compare with Table 2's audits, of which one weighs its probes by the noise.
        ("account", "results/accounting.json"),
        ("adjacency", "results/adjacency.json"),
        ("probes", cell.format("nonce-mu_eff", "contributions.npz")),
        *(("audit", cell.format(attack, "audit.json")) for attack in small.ATTACKS),
        ("accounts", "results/tables/accounts.csv"),
        ("accounts_figure", "results/figures/accounts.svg"),
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sweep": {"attacks": ["nonce"]}}, "sweep.attacks: nonce is not among"),
        ({"sweep": {"canary": 1}}, "sweep.canary = 1: canaries.count = 1"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_by_key(tmp_path, change, said):
    house = small.house(tmp_path, ["ordinary"])
    small.set_config(house, {**small.configuration(["ordinary"]), **change})
    assert said in small.snakemake(house, "-n", "results/tables/figure1.csv", passes=False)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"sweep": {"noise_multipliers": [0]}}, "sweep.noise_multipliers[0]"),
        ({"sweep": {"participations": [1.5]}}, "sweep.participations[0]"),
        ({"swap": {"share": 0}}, "swap.share"),
        ({"swap": {"attacks": ["nonce-mu_eff"]}}, "swap.attacks[0]"),
    ],
)
def test_a_fault_of_the_plan_is_reported_with_its_path(change, key):
    config = {**small.configuration(["ordinary"]), **change}
    (fault,) = configuration.validate(config, SCHEMA)
    assert fault.startswith(f"{key}: ")
