"""The numbers behind figures, tables of exposure and plans, on small fabricated audits."""

import csv
import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import special, stats

import artifacts
from audits import save_audit
from tests.workflow.scripted import MECHANISM, run

ATTACKS = ("ordinary", "exact", "nonce-mu_eff")
FIGURES = ("attacks", "gap", "delta", "trade_off")
STEPS = (
    "mechanism",
    "canary",
    "traffic",
    "estimated weights",
    "calibrated threshold",
    "expected",
    "realised",
)
THEORY, CEILING = 1.695, 0.992
EVALUATION = {"trials": 1_000_000, "alpha": 0.05, "shrinkage": 0.1, "ridge": 1e-9}


def fabricated(bank: str, attack: str, canary: int, rungs: list[float]) -> dict[str, Any]:
    """Return an audit with the given ladder; other values follow from it."""
    above = [rungs[0], *rungs[:-1]]
    deltas = [10.0**exponent for exponent in range(-12, 0)]
    return {
        "dataset": "toy",
        "bank": bank,
        "encoder": "unit",
        "attack": attack,
        "canary": canary,
        "settings": {"population": 12, "tail": 0.0025, **MECHANISM, **EVALUATION},
        "inspected_positions": 3,
        "votes_on_inspected": 10,
        "votes": 40,
        "norm_ratio": 0.8,
        "unclipped_norm": 0.2,
        "separation": 0.8,
        "threshold": 2.0,
        "counts": {"true_positives": 300, "false_positives": 30, "trials": 1_000_000},
        "rates": {"fpr": 3e-5, "tpr": 3e-4, "fnr": 0.9997, "tnr": 0.99997, "relative_error": 1e-9},
        "best": {"threshold": 3.0, "branch": "above"},
        "epsilon": {
            "lower": rungs[6],
            "exact": rungs[4],
            "exact_best": rungs[3],
            "expected": rungs[5],
            "ceiling": CEILING,
            "parametric": 0.5,
            "epsilon_theory": THEORY,
            "epsilon_theory_low": 1.684,
            "epsilon_theory_estimate": 1.6845,
            "epsilon_theory_high": 1.685,
        },
        "ladder": [
            {"step": step, "epsilon": rung, "change": rung - up}
            for step, rung, up in zip(STEPS, rungs, above, strict=True)
        ],
        # Any falling curve, larger for a larger exact ε.
        "delta_curve": {
            "delta": deltas,
            "epsilon": [rungs[3] * -math.log10(delta) / 5.0 for delta in deltas],
        },
        # That of a perfect attack on a mechanism of a smaller separation.
        "trade_off": {
            "fpr": [1.0, 0.5, 0.1, 1e-3, 0.0],
            "fnr": [0.0, 0.5 - rungs[3] / 40, 0.9 - rungs[3] / 40, 0.998, 1.0],
        },
        "seconds": 0.1,
    }


@pytest.fixture(scope="module")
def audits(tmp_path_factory) -> tuple[list[str], list[dict[str, Any]]]:
    """Two banks, three attacks, two canaries; some steps go up."""
    folder = tmp_path_factory.mktemp("audits")
    draw = np.random.default_rng(5)
    made = []
    for bank, attack, canary in itertools.product("AB", ATTACKS, range(2)):
        rungs = [1.6845, *np.sort(draw.uniform(0.1, 1.6, 6))[::-1]]
        if attack == "exact":
            rungs[2], rungs[3] = rungs[3], rungs[2]
        made.append(fabricated(bank, attack, canary, [float(rung) for rung in rungs]))
    paths = [str(folder / f"{n}.json") for n in range(len(made))]
    for path, audit in zip(paths, made, strict=True):
        save_audit(path, audit)
    return paths, made


def draw(script, folder, audits) -> dict[str, Any]:
    outputs = {kind: folder / f"{script}.{kind}" for kind in ("svg", "pdf")}
    inputs = {"audits": audits[0]}
    if script == "gap":
        outputs = {"csv": folder / "gap.csv", **outputs}
    if script == "attacks":
        # The paper is said to have one of the two banks.
        inputs["paper"] = str(folder / "paper.csv")
        head = "table,dataset,bank,encoder,attack,epsilon_lower"
        rows = (
            "table4,toy,A,unit,exact,0.456",
            "table2,toy,B,unit,exact,0.2",
            "table4,toy,B,x,exact,1",
        )
        Path(inputs["paper"]).write_text("\n".join([head, *rows]))
    return run(script, folder, inputs, outputs)


@pytest.fixture(scope="module")
def figures(tmp_path_factory, audits) -> tuple[Path, dict[str, dict[str, Any]]]:
    """Every figure of audits, drawn once."""
    folder = tmp_path_factory.mktemp("figures")
    return folder, {script: draw(script, folder, audits) for script in FIGURES}


def panels(names) -> dict[str, Any]:
    return {axes.get_title(): axes for axes in names["figure"].axes}


def verticals(axes) -> list[float]:
    """Return where lines run across a whole panel."""
    return sorted(line.get_xdata()[0] for line in axes.lines if list(line.get_ydata()) == [0, 1])


def rows_of(path) -> list[dict[str, str]]:
    with artifacts.checked(path).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("script", FIGURES)
def test_axes_have_labels_with_units(script, figures):
    rows = figures[1][script]["axes"]
    unit = re.compile(r"\((probability|ratio|dimensionless)\)$")
    for row, panel in enumerate(rows[-1]):
        assert unit.search(panel.get_xlabel()), row
    for row in rows:
        # Attacks are names, which have no unit.
        names = [label.get_text() for label in row[0].get_yticklabels()]
        assert unit.search(row[0].get_ylabel()) or names == list(ATTACKS)


def test_files_are_the_same_twice_and_bear_no_date(tmp_path, audits, figures):
    draw("gap", tmp_path, audits)
    for kind in ("csv", "svg", "pdf"):
        one, two = (folder / f"gap.{kind}" for folder in (tmp_path, figures[0]))
        assert artifacts.checked(one).read_bytes() == artifacts.checked(two).read_bytes()
    svg = (tmp_path / "gap.svg").read_text()
    assert "toy, bank A" in svg
    assert "<dc:date>" not in svg
    assert b"CreationDate" not in (tmp_path / "gap.pdf").read_bytes()


@pytest.mark.parametrize("script", ["attacks", "gap"])
def test_theory_and_ceiling_are_drawn_in_every_panel(script, figures):
    shown = panels(figures[1][script])
    assert set(shown) == {"toy, bank A", "toy, bank B"}
    for axes in shown.values():
        assert verticals(axes) == [CEILING, THEORY]
        assert axes.get_xlim()[1] > THEORY
    assert "ideal attack, 10⁶ trials" in (figures[0] / f"{script}.svg").read_text()


def test_the_papers_values_stand_only_where_its_data_are(figures):
    shown = panels(figures[1]["attacks"])
    crosses = {
        bank: [line for line in shown[f"toy, bank {bank}"].lines if line.get_marker() == "x"]
        for bank in "AB"
    }
    (cross,) = crosses["A"]
    assert cross.get_xdata()[0] == 0.456
    assert cross.get_ydata()[0] == pytest.approx(ATTACKS.index("exact") - 0.17)
    assert crosses["B"] == []
    assert "arXiv 2609.13499" in (figures[0] / "attacks.svg").read_text()


def test_the_largest_count_has_its_interval(audits, figures):
    low, high = (
        [stats.beta.ppf(tail, k + up, 1_000_000 - k + 1 - up) for k in (300, 30)]
        for tail, up in ((0.0025, 0), (0.9975, 1))
    )
    upper = math.log((high[0] - 1e-5) / low[1])
    for bank in "AB":
        axes = panels(figures[1]["attacks"])[f"toy, bank {bank}"]
        bands = [line for line in axes.lines if line.get_linewidth() == 5]
        assert len(bands) == len(ATTACKS)
        for attack, band in zip(ATTACKS, bands, strict=True):
            of = [a for a in audits[1] if (a["bank"], a["attack"]) == (bank, attack)]
            lower = max(audit["epsilon"]["lower"] for audit in of)
            assert band.get_xdata() == pytest.approx([lower, upper])


def test_dots_are_the_canaries_and_the_large_marks_their_largest(audits, figures):
    shown = panels(figures[1]["attacks"])
    for bank in "AB":
        marks: dict[str, list[float]] = {"o": [], "D": [], ".": []}
        for line in shown[f"toy, bank {bank}"].lines:
            if line.get_marker() in marks:
                marks[line.get_marker()].extend(np.ravel(line.get_xdata()).tolist())
        largest = {
            name: [
                max(
                    audit["epsilon"][name]
                    for audit in audits[1]
                    if (audit["bank"], audit["attack"]) == (bank, attack)
                )
                for attack in ATTACKS
            ]
            for name in ("lower", "exact_best")
        }
        assert marks["o"] == largest["lower"]
        assert marks["D"] == largest["exact_best"]
        every = [
            audit["epsilon"][name]
            for audit in audits[1]
            if audit["bank"] == bank
            for name in ("lower", "exact_best")
        ]
        assert sorted(marks["."]) == sorted(every)


def test_the_gap_adds_up(audits, figures):
    table = rows_of(figures[0] / "gap.csv")
    assert len(table) == len(audits[1]) * len(STEPS)
    for audit in audits[1]:
        key = [str(audit[name]) for name in ("bank", "attack", "canary")]
        rows = [r for r in table if [r["bank"], r["attack"], r["canary"]] == key]
        assert [row["step"] for row in rows] == list(STEPS)
        assert float(rows[0]["epsilon"]) == pytest.approx(1.6845)
        for above, row in itertools.pairwise(rows):
            fall = float(row["epsilon"]) - float(above["epsilon"])
            assert float(row["change"]) == pytest.approx(fall, abs=2e-6)
        left = float(rows[0]["epsilon"]) + sum(float(row["change"]) for row in rows)
        assert left == pytest.approx(audit["epsilon"]["lower"], abs=1e-5)


def test_the_staircase_leads_from_the_mechanism_to_the_bound_and_hatches_what_goes_up(
    audits, figures
):
    shown = panels(figures[1]["gap"])
    for bank in "AB":
        bars = shown[f"toy, bank {bank}"].patches
        assert len(bars) == len(ATTACKS) * (len(STEPS) - 1)
        for attack, lane in zip(ATTACKS, np.split(np.array(bars), len(ATTACKS)), strict=True):
            mean = np.mean(
                [
                    [rung["epsilon"] for rung in audit["ladder"]]
                    for audit in audits[1]
                    if (audit["bank"], audit["attack"]) == (bank, attack)
                ],
                axis=0,
            )
            ends = [bar.get_x() + bar.get_width() for bar in lane]
            starts = [bar.get_x() for bar in lane]
            assert starts == pytest.approx(mean[:-1])
            assert ends == pytest.approx(mean[1:])
            assert [bool(bar.get_hatch()) for bar in lane] == list(np.diff(mean) > 0.0)
    assert any(bar.get_hatch() for axes in shown.values() for bar in axes.patches)


def most_exposed(audits, bank, attack):
    of = [a for a in audits[1] if (a["bank"], a["attack"]) == (bank, attack)]
    return max(of, key=lambda audit: audit["epsilon"]["exact_best"])


def test_curves_over_delta_are_those_of_the_most_exposed_canary(audits, figures):
    shown = panels(figures[1]["delta"])
    for bank in "AB":
        lines = {line.get_label(): line for line in shown[f"toy, bank {bank}"].lines}
        for attack in ATTACKS:
            curve = most_exposed(audits, bank, attack)["delta_curve"]
            assert lines[attack].get_ydata().tolist() == curve["epsilon"]
        own = dict(zip(*lines["the mechanism's own"].get_data(), strict=True))
        # The tight value of the subsampled Gaussian at the paper's setting.
        assert own[1e-5] == pytest.approx(1.6845438, abs=1e-6)
        assert lines["ε_theory at δ = 10⁻⁵"].get_ydata()[0] == THEORY
        assert lines["ceiling: ideal attack, 10⁶ trials (expected)"].get_ydata()[0] == CEILING


def test_error_rates_stand_beside_the_mechanism_and_the_allowed_ones(audits, figures):
    shown = panels(figures[1]["trade_off"])
    for bank in "AB":
        left = {line.get_label(): line for line in shown[f"toy, bank {bank}"].lines}
        right = shown[f"toy, bank {bank}: rare false positives"]
        for attack in ATTACKS:
            curve = most_exposed(audits, bank, attack)["trade_off"]
            assert left[attack].get_ydata().tolist() == curve["fnr"]
        # N(0, 1) against a mixture with a tenth of N(1, 1).
        fpr, fnr = left["the mechanism's own"].get_data()
        threshold = -special.ndtri(fpr)
        power = 0.9 * fpr + 0.1 * special.ndtr(1.0 - threshold)
        assert fnr == pytest.approx(1.0 - power, abs=1e-7)
        allowed = left["allowed by ε_theory at δ = 10⁻⁵"]
        at = np.interp(fpr, *allowed.get_data())
        assert np.all(at <= fnr + 1e-3)
        assert allowed.get_ydata()[-1] == 0.0
        ratios = {line.get_label(): line for line in right.lines}
        assert ratios["exact"].get_ydata()[-1] == pytest.approx(0.002 / 1e-3)


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
    shares = {(r["bank"], float(r["level"])): float(r["share"]) for r in rows_of(path_of(names))}
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


def path_of(names) -> str:
    return names["snakemake"].output.levels


def test_plans_say_what_trials_can_show_and_what_none_can(tmp_path):
    outputs = {"json": tmp_path / "planning.json", "csv": tmp_path / "planning.csv"}
    params = {
        "mechanism": MECHANISM,
        "evaluation": EVALUATION,
        "canaries": 5,
        "planning": {"trials": [1_000_000], "epsilons": [0.99, 1.9]},
    }
    run("planning", tmp_path, {}, outputs, params)
    bound, needed, never = rows_of(outputs["csv"])
    # The paper's setting: 0.99 is expected of an ideal attack at a million trials.
    assert float(bound["epsilon"]) == pytest.approx(0.99, abs=0.005)
    assert 0.95e6 < int(needed["trials"]) < 1.05e6
    assert never["trials"] == ""
    assert "proves less than 1.68454 however many trials" in never["note"]
    stored = artifacts.load_json(outputs["json"])
    assert stored["tail"] == pytest.approx(0.0025)
    assert [row["trials"] for row in stored["rows"]] == [1_000_000, int(needed["trials"]), None]
