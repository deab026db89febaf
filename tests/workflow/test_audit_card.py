"""The audit card: every number is the tables', every name is text, and no part is ever empty."""

import csv
import itertools
import json
import math
import re
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import artifacts
import contracts
from audits import save_audit
from tests.workflow import reading
from tests.workflow.fabricated import CEILING, EVALUATION, THEORY, fabricated
from tests.workflow.scripted import MECHANISM, SCRIPTS, run

REPORT = SCRIPTS.parent / "report"
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
PRIVATE = "A sentence that only one user wrote"
ALLOWED = {"epsilon_theory", "epsilon_theory_tight", "epsilon_theory_high", "epsilon_ceiling",
           "epsilon_high"}  # fmt: skip
ACCOUNTS = ("add_remove", "substitute_votes", "substitute", "group")


def swap_audit(dataset, kind):
    """Return a pair's audit."""
    return {
        "dataset": dataset, "bank": "A", "encoder": "unit", "pair": f"exact-{kind}-0-1",
        "attack": "exact", "kind": kind, "first": 0, "second": 1, "settings": {},
        "inspected_positions": 3, "replaced_records": 8, "norm_ratios": [0.5, 0.25],
        "cosine": 0.5, "threshold": 1.0,
        "counts": {"true_positives": 30, "false_positives": 3, "trials": 1000},
        "rates": {"tpr": 0.03, "fpr": 0.003, "error": 1e-9},
        "epsilon": {"lower": 0.11119, "exact": 0.2, "exact_best": 0.44449}, "accounts": {},
    }  # fmt: skip


def made(folder, attacks=("ordinary", "nonce-mu_eff"), banks="AB", canaries=2, leak=1.0, **named):
    """Make a run's artifacts from made-up audits, its tables, and the card; return the card.

    Args:
        folder: where to.
        attacks, banks, canaries: the grid.
        leak: every measured ε is multiplied by it.
        named: dataset, encoder, source, model, swaps, and the ε that is allowed and the ceiling of
            trials, where they differ from the usual ones.
    """
    dataset, encoder = named.get("dataset", "toy"), named.get("encoder", "unit")
    allowed, ceiling = named.get("allowed", 1.6845), named.get("ceiling", CEILING)
    theory = {f"epsilon_theory_{end}": allowed for end in ("low", "estimate", "high")}
    theory |= {"epsilon_theory": named.get("allowed", THEORY)}
    draw = np.random.default_rng(3)
    paths, audits = [], []
    for bank, attack, canary in itertools.product(banks, attacks, range(canaries)):
        rungs = [allowed, *(leak * np.sort(draw.uniform(0.1, 1.6, 6))[::-1])]
        audit = fabricated(bank, attack, canary, [float(rung) for rung in rungs])
        audit |= {"dataset": dataset, "encoder": encoder}
        audit["epsilon"] |= {**theory, "ceiling": ceiling}
        audit["rates"] |= {"fpr": 3.4567e-5 * (1 + canary), "tpr": 3.21098e-4 * (1 + canary)}
        audit["counts"] |= {"false_positives": 31 + canary, "true_positives": 333 + canary}
        audit["settings"] |= {"seed": 7, "auxiliary_users": 80, "calibration_users": 80}
        paths.append(str(folder / f"audit-{len(paths)}.json"))
        audits.append(audit)
        save_audit(paths[-1], audit)
    for bank in banks:
        table = pl.DataFrame(
            {"dataset": dataset, "bank": bank, "encoder": encoder, "attack": "ordinary",
             "user": range(40), "epsilon": leak * draw.uniform(0.2, 0.9, 40),
             "separation": 0.5, "norm": 0.1, "inspected": 3}
        )  # fmt: skip
        with artifacts.writing(folder / f"exposure-{bank}.csv") as path:
            table.write_csv(path, float_precision=6)
    limits = ("low", "estimate", "high")
    proofs = {
        name: dict.fromkeys(limits, 1.6845 + 0.1 * place) for place, name in enumerate(ACCOUNTS)
    }
    artifacts.save_json(folder / "adjacency.json", proofs)
    artifacts.save_json(folder / "accounting.json", theory)
    swaps = []
    for kind in ("users", "attribute") if named.get("swaps", True) else ():
        swaps.append(str(folder / f"swap-{kind}.json"))
        contracts.save(swaps[-1], swap_audit(dataset, kind), "swap_audit")

    def table(script, inputs, params=(), **more):
        outputs = {"csv": folder / f"{script}.csv", **more}
        run(script, folder, inputs, outputs, params)

    figure = {kind: folder / f"figure.{kind}" for kind in ("svg", "pdf")}
    table("canaries", {"audits": paths})
    table("gap", {"audits": paths}, **figure)
    inputs = {"exposures": [str(folder / f"exposure-{bank}.csv") for bank in banks],
              "accounting": str(folder / "accounting.json")}  # fmt: skip
    params = {"mechanism": MECHANISM, "evaluation": EVALUATION, "canaries": canaries,
              "levels": [0.3, 0.55]}  # fmt: skip
    table("exposures", inputs, params, levels=folder / "levels.csv", **figure)
    inputs = {"adjacency": str(folder / "adjacency.json"), "audits": paths, "swaps": swaps}
    table("accounts", inputs)

    notes = {"dataset": {"remarks": [PRIVATE]}, "cohorts": {"test": {"users": 12, "records": 96}}}
    artifacts.save_json(folder / "records.json", notes)
    artifacts.save_json(folder / "encoder.json", {"encoder": encoder, "identity": "65a6535500d5db"})
    artifacts.save_text(folder / "records.parquet", PRIVATE)
    run(
        "audit_card",
        folder,
        {
            "template": str(REPORT / "audit-card.html.j2"),
            "style": str(REPORT / "page.css"),
            "audits": paths,
            "accounting": str(folder / "accounting.json"),
            "exposure": str(folder / "exposures.csv"),
            "levels": str(folder / "levels.csv"),
            "accounts": str(folder / "accounts.csv"),
            "records": [str(folder / "records.json")],
            "encoders": [str(folder / "encoder.json")],
            "texts": [str(folder / "records.parquet")],
        },
        {"card": folder / "audit-card.html"},
        {
            "datasets": [
                {
                    "name": dataset,
                    "loader": "table",
                    "cohorts": {"canary": 2, "auxiliary": 80, "calibration": 80, "test": 12},
                }
            ],
            "encoders": [{"name": encoder, "dtype": "float32"}],
            "generator": {
                "source": named.get("source", "gguf"),
                "model": named.get("model", "model"),
            },
            "bank": {"size": 24, "probes": 4},
            "canaries": {"count": canaries, "records": 8},
            "audit_code": "abc",
        },
    )
    return folder / "audit-card.html"


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    return made(tmp_path_factory.mktemp("card"))


def rows_of(path):
    with artifacts.checked(path).open(newline="") as file:
        return list(csv.DictReader(file))


def looked_up(folder, number):
    """Return what the tables and audits say at the place that a number names."""
    *names, last = number.row.split("/")
    grid = ("dataset", "bank", "encoder", "attack")
    if number.table == "accounting":
        return artifacts.load_json(folder / "accounting.json")[number.column]
    if number.table == "audit":
        for path in sorted(folder.glob("audit-*.json")):
            audit = json.loads(path.read_text())
            if "/".join(str(audit[name]) for name in (*grid, "canary")) == number.row:
                part, name = number.column.split(".")
                found = audit[part][name]
                return found / audit["counts"]["trials"] if part == "counts" else found
        raise LookupError(number.row)
    if number.table == "exposure":
        epsilons = [
            float(row["epsilon"])
            for row in rows_of(folder / "exposures.csv")
            if "/".join(row[name] for name in grid) == number.row
        ]
        share = float(number.column.removeprefix("exp ").removeprefix("epsilon@"))
        found = np.quantile(epsilons, share, method="inverted_cdf")
        return math.exp(found) if number.column.startswith("exp") else found
    files = {"exposure_levels": ("levels.csv", (*grid, "level")),
             "canaries": ("canaries.csv", (*grid, "canary")),
             "gap": ("gap.csv", (*grid, "canary", "step")),
             "accounts": ("accounts.csv", ("question", "dataset", "name"))}  # fmt: skip
    file, keys = files[number.table]
    column = re.sub(r"^(exp |-)", "", number.column)
    wanted = [*names, str(float(last)) if number.table == "exposure_levels" else last]
    [found] = [
        float(row[column]) for row in rows_of(folder / file) if [row[key] for key in keys] == wanted
    ]
    if number.column.startswith("-"):
        return -found
    return math.exp(found) if number.column.startswith("exp ") else found


def text_of(value, number):
    """Return how the page is to show a value: no bound rounded to where it would say too much."""
    if number.table == "audit":
        events = 1e6 * value
        return f"{events:,.0f}" if events >= 100 else f"{events:.3g}"
    decimals = len(number.text.partition(".")[2])
    scaled = Decimal(repr(float(value))).scaleb(decimals)
    column = number.column.removeprefix("exp ")
    if column in ALLOWED:
        scaled = math.ceil(scaled)
    elif column.startswith("epsilon"):
        scaled = math.floor(scaled)
    else:
        scaled = math.floor(scaled + Decimal("0.5"))
    return f"{scaled / 10**decimals:,.{decimals}f}"


def test_every_number_is_the_tables(card):
    page = reading.read(card)
    assert len(page.numbers) > 150
    assert {
        "canaries",
        "gap",
        "exposure",
        "exposure_levels",
        "accounts",
        "accounting",
        "audit",
    } == {number.table for number in page.numbers}
    for number in page.numbers:
        value = looked_up(card.parent, number)
        assert number.value == pytest.approx(value, abs=1e-5 * max(1.0, abs(value))), number
        assert number.text == text_of(value, number), number


def test_measured_numbers_have_no_other_place(card):
    # Three decimals are an ε or a share; whatever else is on the page has its own form.
    assert re.findall(r"\d\.\d{3}\b", reading.read(card).words) == []


def test_what_proofs_allow_is_their_upper_end(card):
    # A proof is on no dataset.
    proofs = [
        number
        for number in reading.read(card).numbers
        if number.table == "accounts" and number.row.split("/")[1] == ""
    ]
    assert [number.column for number in proofs] == ["epsilon_high"] * len(ACCOUNTS)


def test_all_canaries_are_there_once(card):
    page = reading.read(card)
    table = [number for number in page.numbers if number.column == "norm_ratio"]
    rows = rows_of(card.parent / "canaries.csv")
    assert len(table) == len({number.row for number in table}) == len(rows) == 8


def test_the_verdict_has_the_largest_of_each_kind(card):
    verdict = reading.sentence(reading.read(card).sections["verdict"])
    canaries = rows_of(card.parent / "canaries.csv")
    users = max(float(row["epsilon"]) for row in rows_of(card.parent / "exposures.csv"))

    def most(attack, column="epsilon_exact_best"):
        return max(float(row[column]) for row in canaries if row["attack"] == attack)

    def down(value):
        return f"{math.floor(1000 * value) / 1000:.3f}"

    real = max(most("ordinary"), users)
    assert f"measured ε = {down(real)} for the most exposed user with real texts" in verdict
    assert f"ε = {down(most('nonce-mu_eff'))} for a user made of random strings" in verdict
    assert "where the proof allows 1.685" in verdict
    assert f"ε ≥ {down(most('ordinary', 'epsilon_lower'))} for real texts" in verdict
    assert "with 95% confidence for all its 2 canaries together" in verdict
    cells = {(row["bank"], row["attack"]) for row in canaries}
    assert f"these are the largest of {len(cells)}." in verdict
    assert verdict.count("is lost because") == 1


def test_names_are_text_whatever_they_contain(tmp_path):
    attacks = ("ordinary", HOSTILE)
    page = made(tmp_path, attacks, dataset=HOSTILE, encoder=HOSTILE, model=HOSTILE).read_text()
    found = reading.read(page)
    assert {"script", "img"}.isdisjoint(tag for tag, _ in found.tags)
    assert not any(name.startswith("on") for _, values in found.tags for name in values)
    for section in ("verdict", "audited", "epsilon", "gap", "canaries"):
        assert HOSTILE in found.sections[section]


def test_names_that_look_like_numbers_stay_names(tmp_path):
    page = reading.read(made(tmp_path, banks="A", dataset="2024", encoder="007"))
    assert "2024, bank A, 007" in page.sections["everyone"] + page.sections["canaries"]
    rows = {number.row.split("/")[0] for number in page.numbers if number.table == "exposure"}
    assert rows == {"2024"}
    for number in page.numbers:
        assert number.text == text_of(looked_up(tmp_path, number), number)


def test_nothing_is_said_of_how_banks_that_were_brought_were_written(tmp_path, card):
    said = "written from the label alone"
    assert said in reading.read(card).sections["audited"]
    brought = reading.read(made(tmp_path, banks="A", canaries=1, source="file"))
    assert said not in brought.sections["audited"]


def test_where_nothing_may_leak_the_page_says_so(tmp_path):
    card = made(tmp_path, banks="A", leak=0.0, allowed=0.0, ceiling=0.0)
    verdict = reading.sentence(reading.read(card).sections["verdict"])
    assert "Nothing measured here tells" in verdict
    assert "the proof allows 0.000" in verdict


def test_nothing_private_is_on_the_page(card):
    assert PRIVATE not in card.read_text()


def test_the_page_needs_nothing_else(card):
    page = reading.read(card)
    assert {"script", "img", "iframe", "object"}.isdisjoint(tag for tag, _ in page.tags)
    assert page.values("src") == []
    text = card.read_text()
    assert "url(" not in text
    assert "@import" not in text
    policy = next(values for _, values in page.tags if "http-equiv" in values)
    assert policy["content"].startswith("default-src 'none'")
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    for target in page.values("href"):
        assert target == "data:," or target.removeprefix("#") in ids


def test_pictures_say_what_they_show(card):
    page = reading.read(card)
    pictures = [values for tag, values in page.tags if tag == "svg" and "role" in values]
    # For each bank: measured, two gaps, two pictures of error rates, exposure.
    assert len(pictures) == 12
    ids = set(page.values("id"))
    for values in pictures:
        assert values["role"] == "img"
        assert set(values["aria-labelledby"].split()) <= ids
    assert not [n for n in page.numbers if n.table == "gap" and n.value < 0.0]


@pytest.mark.parametrize(
    ("attacks", "leak"),
    [(("ordinary", "paraphrase"), 1.0), (("nonce",), 1.0), (("exact", "nonce"), 0.0)],
)
def test_what_is_missing_leaves_no_gap(tmp_path, attacks, leak):
    card = made(tmp_path, attacks, banks="A", canaries=1, leak=leak, swaps=False)
    page = reading.read(card)
    verdict = reading.sentence(page.sections["verdict"])
    assert ("random strings" in verdict) == ("nonce" in attacks)
    assert ("Nothing measured here tells" in verdict) == (leak == 0.0)
    assert "no pair of canaries was audited" in reading.sentence(page.sections["questions"])
    for name, text in page.sections.items():
        assert len(text) > 100, name
        assert {"table", "figure", "dl", "ul", "h3"} & page.contents[name], name
    words = page.words + " ".join(number.text for number in page.numbers)
    assert not re.search(r"\b(nan|None|inf|Undefined|True|False)\b", words)
    for number in page.numbers:
        assert number.text == text_of(looked_up(card.parent, number), number)
