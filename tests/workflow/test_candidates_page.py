"""The page of candidates: by run and round, as text, and nothing that a user wrote."""

import polars as pl

import artifacts
from tests.workflow import reading
from tests.workflow.scripted import SCRIPTS, run

REPORT = SCRIPTS.parent / "report"
HOSTILE = "<script>alert(1)</script> & <b>\"'\u202e\n,;"
COPIED = "what a canary wrote"
ROUNDS, RANKS = 2, 10


def candidates(folder, runs, text):
    """Make the page from a table of `runs`, whose entries all have one text; return the page."""
    rows = [
        {
            "dataset": "toy", "bank": "A", "encoder": "unit", "transcript": 0, "run": name,
            "round": number, "rank": rank, "position": 3 * rank,
            "votes": 1.0 - 0.15 * rank - number / 7.0,
            "probe": "-canary-" in name and rank == 2, "written": 0 if rank > 5 else number - 1,
            "label": "00123", "text": COPIED if "-canary-" in name and rank == 2 else text,
        }
        for name in runs for number in range(1, ROUNDS + 1) for rank in range(1, RANKS + 1)
    ]  # fmt: skip
    with artifacts.writing(folder / "candidates.csv") as path:
        pl.DataFrame(rows).write_csv(path, float_precision=6)
    inputs = {
        "template": str(REPORT / "candidates.html.j2"),
        "style": str(REPORT / "page.css"),
        "candidates": str(folder / "candidates.csv"),
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


def test_probes_are_marked_and_records_of_a_canary_are_not_shown(tmp_path):
    page = reading.read(candidates(tmp_path, ["exact-canary-0", "paraphrase-canary-1"], "a text"))
    assert COPIED not in page.words
    for name in ("run-1", "run-2"):
        text = reading.sentence(page.sections[name])
        assert text.count("probe made from a canary's records; not shown") == ROUNDS
    page = reading.read(candidates(tmp_path, ["nonce-norm-canary-0"], "a text"))
    assert reading.sentence(page.sections["run-1"]).count(f"probe {COPIED}") == ROUNDS


def test_runs_without_noise_are_left_out(tmp_path):
    page = reading.read(candidates(tmp_path, ["noiseless", "unaudited"], "a text"))
    assert len(page.numbers) == ROUNDS * RANKS
    page = reading.read(candidates(tmp_path, ["noiseless"], "a text"))
    assert page.numbers == []
    assert "No run with noise was made." in page.words
    assert "a text" not in page.words
