"""The numbers behind figures, tables of exposure and plans, on small fabricated audits."""

import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import artifacts
from audits import save_audit
from tests.workflow.fabricated import (
    CEILING,
    EVALUATION,
    STEPS,
    THEORY,
    fabricated,
    rows_of,
    verticals,
)
from tests.workflow.scripted import MECHANISM, run

ATTACKS = ("ordinary", "exact", "nonce-mu_eff")
FIGURES = ("attacks", "gap", "delta", "trade_off")


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
    assert float(bound["epsilon_ceiling"]) == pytest.approx(0.99, abs=0.005)
    assert 0.95e6 < int(needed["trials"]) < 1.05e6
    assert never["trials"] == ""
    assert "proves less than 1.684544 however many trials" in never["note"]
    stored = artifacts.load_json(outputs["json"])
    assert stored["tail"] == pytest.approx(0.0025)
    assert [row["trials"] for row in stored["rows"]] == [1_000_000, int(needed["trials"]), None]
