"""The page of tables: the rows of the CSV, as text whatever they contain."""

import polars as pl

import artifacts
import tables
from tests.workflow import reading
from tests.workflow.scripted import SCRIPTS, run

REPORT = SCRIPTS.parent / "report"
HOSTILE = "<script>alert(1)</script> & <b>\"'"


def tables_page(folder, name):
    """Make the page of two tables whose attacks have a name; return it."""
    files = []
    for table in ("table2", "planning"):
        rows = {
            "dataset": "toy", "bank": ["A", "B", "B"], "attack": [name, "exact", "nonce"],
            "epsilon_lower": [0.12345, 1.0, 0.0], "trials": 1_000_000,
            **{f"column_{number}": [0.5, 0.25, 0.125] for number in range(12)},
        }  # fmt: skip
        files.append(str(folder / f"{table}.csv"))
        with artifacts.writing(files[-1]) as path:
            pl.DataFrame(rows).write_csv(path, float_precision=6)
    inputs = {
        "template": str(REPORT / "tables.html.j2"),
        "style": str(REPORT / "page.css"),
        "tables": files,
        "captions": [REPORT / "table.rst", REPORT / "planning.rst"],
    }
    run("tables_page", folder, inputs, {"page": folder / "tables.html"})
    return folder / "tables.html"


def test_rows_are_the_files(tmp_path):
    page = reading.read(tables_page(tmp_path, "ordinary"))
    assert list(page.sections) == ["table2", "planning"]
    text = reading.sentence(page.sections["planning"])
    about = reading.sentence((REPORT / "planning.rst").read_text())
    assert text.startswith(f"planning {about} bankattackε lower (trials)")
    assert "Aordinary0.1230.5000.500" in text
    assert "Bexact1.0000.2500.250" in text
    assert tables.ROUNDING in reading.sentence(page.words)
    # What all rows share stands once.
    assert text.count("toy") == 1
    assert text.count("1000000") == 1
    assert all(target == "data:," or target[1:] in page.sections for target in page.values("href"))


def test_names_are_text_whatever_they_contain(tmp_path):
    page = reading.read(tables_page(tmp_path, HOSTILE))
    assert {"script", "b"}.isdisjoint(tag for tag, _ in page.tags)
    assert all(HOSTILE in text for text in page.sections.values())
