"""The page of candidates: by run and round, as text, and nothing that a user wrote."""

import numpy as np
import polars as pl
import yaml

import artifacts
from tests.workflow import reading
from tests.workflow.scripted import SCRIPTS, run

REPORT = SCRIPTS.parent / "report"
HOSTILE = "<script>alert(1)</script> & <b>\"'\u202e\n,;"
COPIED = "what a canary wrote"
ROUNDS, RANKS = 2, 10


def candidates(folder, runs, text, show_private=False):
    """Make the table and the page of `runs`, whose entries all have one text; return the page."""
    rounds, banks, releases = [], [], []
    for name in runs:
        for number in range(1, ROUNDS + 1):
            probes = [position == 3 and "-canary-" in name for position in range(2 * RANKS)]
            rounds.append(
                {"dataset": "toy", "bank": "A", "encoder": "unit", "transcript": 0, "run": name,
                 "round": number}
            )  # fmt: skip
            bank = pl.DataFrame(
                {
                    "position": range(2 * RANKS),
                    "label": "00123",
                    "text": [COPIED if probe else text for probe in probes],
                    "reserved": probes,
                    "written": [0 if place > 4 else number - 1 for place in range(2 * RANKS)],
                }
            )
            banks.append(folder / f"bank-{len(banks)}.parquet")
            with artifacts.writing(banks[-1]) as path:
                bank.write_parquet(path)
            releases.append(folder / f"release-{len(releases)}.npz")
            histogram = 1.0 - 0.15 * np.arange(2 * RANKS) - number / 7.0
            artifacts.save_arrays(releases[-1], histogram=histogram)
    table = folder / "candidates.csv"
    params = {"rounds": rounds, "show_private": show_private}
    run("candidates", folder, {"banks": banks, "releases": releases}, {"csv": table}, params)
    inputs = {
        "template": str(REPORT / "candidates.html.j2"),
        "style": str(REPORT / "page.css"),
        "candidates": str(table),
    }
    run("candidates_page", folder, inputs, {"page": folder / "candidates.html"})
    return folder / "candidates.html"


def test_every_entry_stands_with_its_released_count(tmp_path):
    page = reading.read(candidates(tmp_path, ["unaudited", "nonce-canary-0"], "a text"))
    table = pl.read_csv(tmp_path / "candidates.csv")
    assert len(page.numbers) == 2 * ROUNDS * RANKS
    for number, row in zip(page.numbers, table.iter_rows(named=True), strict=True):
        assert number.text == f"{row['votes']:.3f}"
        assert number.row.endswith(f"{row['run']}/{row['round']}/{row['rank']}")
    assert any(number.value < 0.0 for number in page.numbers)
    text = reading.sentence(page.sections["run-1"])
    assert text.startswith("without probes toy, first bank A, unit, transcript 0 Round 1")
    # A label is a word, even where it looks like a number.
    assert "a text 00123, from the first bank" in text
    assert "a text 00123, written in round 1" in text


def test_texts_are_text_whatever_they_contain(tmp_path):
    page = reading.read(candidates(tmp_path, ["unaudited"], HOSTILE))
    assert {"script", "b", "img"}.isdisjoint(tag for tag, _ in page.tags)
    assert page.sections["run-1"].count(HOSTILE) == ROUNDS * RANKS


def test_records_of_a_canary_are_in_no_table_and_on_no_page(tmp_path):
    runs = ["exact-canary-0", "paraphrase-canary-1", "nonce-norm-canary-0"]
    page = reading.read(candidates(tmp_path, runs, "a text"))
    for name in ("run-1", "run-2"):
        text = reading.sentence(page.sections[name])
        assert COPIED not in text
        assert text.count("probe (made from a canary's records; not shown)") == ROUNDS
    # Random strings are nobody's.
    assert reading.sentence(page.sections["run-3"]).count(f"probe {COPIED}") == ROUNDS
    table = pl.read_csv(tmp_path / "candidates.csv")
    withheld = table.filter(pl.col("text") == "(made from a canary's records; not shown)")
    assert set(withheld["run"]) == set(runs[:2])
    assert len(withheld) == 2 * ROUNDS
    assert withheld["probe"].all()
    assert set(table.filter(text=COPIED)["run"]) == {runs[2]}
    assert table["text"].null_count() == 0


def test_they_are_where_the_configuration_says_so(tmp_path):
    page = reading.read(candidates(tmp_path, ["exact-canary-0", "noiseless"], "a text", True))
    assert reading.sentence(page.sections["run-1"]).count(f"probe {COPIED}") == ROUNDS
    assert reading.sentence(page.sections["run-2"]).startswith("without probes and noise")
    assert COPIED in (tmp_path / "candidates.csv").read_text()


def test_runs_without_noise_are_left_out(tmp_path):
    page = reading.read(candidates(tmp_path, ["noiseless", "unaudited"], "a text"))
    assert len(page.numbers) == ROUNDS * RANKS
    assert set(pl.read_csv(tmp_path / "candidates.csv")["run"]) == {"unaudited"}


def test_private_texts_are_shown_by_no_default():
    schema = yaml.safe_load((SCRIPTS.parent / "schemas/evolution.schema.yaml").read_text())
    assert schema["properties"]["show_private_texts"]["default"] is False
