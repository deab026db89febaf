"""Figure 2 from made-up audits of several releases."""

import polars as pl
import pytest

import artifacts
from evolve_audits import save_audit
from pe_core import Mechanism, planning
from tests.workflow.scripted import MECHANISM, run

SETTINGS = {**MECHANISM, "trials": 1_000_000, "tail": 0.0025}
WHERE = {"dataset": "toy", "bank": "A", "encoder": "unit", "transcript": 0}
ROUNDS = 2


def audit():
    """Two releases; every ε rises with their number."""
    epsilons = ("lower", "exact", "exact_best")
    theory = [f"epsilon_theory{end}" for end in ("", "_low", "_estimate", "_high")]
    return {
        **WHERE,
        "attack": "nonce",
        "canary": 0,
        "settings": SETTINGS,
        "rounds": [
            {"separation": 1.0, "norm_ratio": 1.0, "probe_share": 0.1, "participants": 5}
        ] * ROUNDS,
        "prefixes": [
            {
                "releases": t,
                "threshold": 1.0,
                "counts": {"true_positives": 9, "false_positives": 1, "trials": 1_000_000},
                "epsilon": {**dict.fromkeys(epsilons, 0.5 * t), **dict.fromkeys(theory, 2.0 * t)},
            }
            for t in range(1, ROUNDS + 1)
        ],
        "seconds": 1.0,
    }  # fmt: skip


def utility(name):
    ends = {"mauve": 0.6, "mauve_low": 0.5, "mauve_high": 0.7}
    return {
        **WHERE,
        "run": name,
        "banks": [{"round": t, **ends} for t in range(ROUNDS + 1)],
    }


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The table and what the figure's script left behind."""
    folder = tmp_path_factory.mktemp("figure2")
    save_audit(folder / "audit.json", audit())
    runs = ("nonce-canary-0", "unaudited", "noiseless")
    for name in runs:
        artifacts.save_json(folder / f"{name}.json", utility(name))
    table = folder / "evolution.csv"
    inputs = {
        "audits": [str(folder / "audit.json")],
        "utilities": [str(folder / f"{name}.json") for name in runs],
    }
    run("evolution", folder, inputs, {"csv": table})
    pictures = {kind: folder / f"figure2.{kind}" for kind in ("svg", "pdf")}
    names = run(
        "figure2", folder, {"table": str(table)}, pictures, {"delta": 1e-5, "trials": 1_000_000}
    )
    return pl.read_csv(table), names, pictures["svg"].read_text()


def test_the_ceiling_of_one_release_is_that_of_planning_and_rises_with_more(drawn):
    rows = drawn[0].filter(pl.col("run") == "nonce-canary-0").sort("round")
    none, one, two = rows["epsilon_ceiling"]
    assert none == 0.0
    assert one == pytest.approx(
        planning.ceiling(Mechanism(0, 0.1, 1.0, 0.1, 1e-5), 1_000_000, 0.0025), abs=2e-6
    )
    assert one < two < 2.0 * one
    assert drawn[0].filter(run="unaudited")["epsilon_ceiling"].null_count() == ROUNDS + 1


def test_the_ceiling_of_a_release_that_almost_tells_is_that_of_planning(tmp_path):
    """No threshold has both a false alarm and a miss in so many trials."""
    loud = audit()
    loud["settings"] = {**SETTINGS, "participation": 1.0, "noise_multiplier": 0.1, "trials": 1000}
    loud["prefixes"] = loud["prefixes"][:1]
    save_audit(tmp_path / "audit.json", loud)
    artifacts.save_json(tmp_path / "run.json", utility("nonce-canary-0"))
    table = tmp_path / "evolution.csv"
    inputs = {"audits": [str(tmp_path / "audit.json")], "utilities": [str(tmp_path / "run.json")]}
    run("evolution", tmp_path, inputs, {"csv": table})
    expected = planning.ceiling(Mechanism(0, 1.0, 0.1, 0.1, 1e-5), 1000, 0.0025)
    assert expected > 5.0
    assert pl.read_csv(table)["epsilon_ceiling"][1] == pytest.approx(expected, abs=2e-6)


def test_usefulness_and_privacy_are_drawn_with_theory_and_ceiling(drawn):
    table, names, svg = drawn
    ((left, right),) = names["axes"]
    shown = {line.get_label(): list(line.get_ydata()) for line in right.lines}
    audited = table.filter(pl.col("run") == "nonce-canary-0").sort("round")
    assert shown["ε_theory (the paper's accountant)"] == [0.0, 2.0, 4.0]
    assert (
        shown["ceiling: ideal attack, 10⁶ trials (expected)"]
        == audited["epsilon_ceiling"].to_list()
    )
    assert shown["measured, by trials"] == [0.0, 0.5, 1.0]
    assert {line.get_label() for line in left.lines} == {
        "audited", "without probes", "without noise or probes",
    }  # fmt: skip
    assert "ε of all releases so far at δ = 10⁻⁵ (dimensionless)" in svg
