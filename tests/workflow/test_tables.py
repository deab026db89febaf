"""Tables for people have the rows of the CSV, in words that no label can break."""

import csv
import json
import re
import shutil
import subprocess
from types import SimpleNamespace

import polars as pl
import pytest

import artifacts
import provenance
import tables
from tests.workflow.scripted import run

HOSTILE = [
    r"a|b",
    "[link](javascript:alert(1))",
    "<script>x</script>",
    r"\input{secrets} & 50% of $x_1^2$ #~",
    "*",
    "two\nlines\r\x1b[31m",
    "`code` **bold** __under__",
    "日本語 ε",
    "1.50",
]


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def saved(folder, table):
    """Save a table as a script does, from one input; return the CSV."""
    artifacts.save_json(folder / "audit.json", {"value": 1})
    job = SimpleNamespace(
        rule="table", config={"seed": 7, "x": [1]}, params=SimpleNamespace(code="abc"),
        input=[str(folder / "audit.json")],
    )  # fmt: skip
    tables.save(job, table, str(folder / "made.csv"))
    return folder / "made.csv"


def people(folder, table):
    """Save a table and make its forms for people; return Markdown and LaTeX."""
    path = saved(folder, table)
    outputs = {kind: folder / f"made.{kind}" for kind in ("md", "tex")}
    inputs = {"csv": str(path), "provenance": str(provenance.beside(path))}
    run("readable", folder, inputs, outputs)
    return outputs["md"].read_text(), outputs["tex"].read_text()


def attacks(names):
    return pl.DataFrame(
        {
            "dataset": ["made"] * len(names),
            "attack": names,
            "epsilon_lower": [0.12345 + place for place in range(len(names))],
            "canary": list(range(len(names))),
            "separation": [-1e-9, *[0.5] * (len(names) - 1)],
            "delta": [10.0**-place for place in range(len(names))],
        }
    )


def markdown_cells(text):
    """Return the rows of a Markdown table; a bar after a backslash is text."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    split = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if not line.startswith("|:")]
    return [[re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", cell.strip()) for cell in row] for row in split]


def latex_cells(text):
    """Return the rows of a LaTeX table's body, unescaped."""
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip()
    found = []
    for line in body.splitlines():
        assert line.endswith(r"\\")
        cells = [cell.strip() for cell in re.split(r"(?<!\\)&", line[:-2])]
        for code, sign in [
            (r"\textbackslash{}", "\0"), (r"\textasciitilde{}", "~"), (r"\^{}", "^"),
            (r"\ensuremath{<}", "<"), (r"\ensuremath{>}", ">"),
            (r"\ensuremath{\varepsilon}", "ε"),
        ]:  # fmt: skip
            cells = [cell.replace(code, sign) for cell in cells]
        cells = [re.sub(r"\\([&%$#_{}])", r"\1", cell.removeprefix("{}")) for cell in cells]
        assert not any("\\" in cell for cell in cells)
        found.append([cell.replace("\0", "\\") for cell in cells])
    return found


def test_people_get_the_rows_of_the_csv_whatever_the_labels_say(tmp_path):
    md, tex = people(tmp_path, attacks(HOSTILE))
    heading, *in_markdown = markdown_cells(md)
    assert heading == ["attack", "ε lower (trials)", "canary", "separation", "delta"]
    plain = ["".join(c if c.isprintable() else " " for c in name) for name in HOSTILE]
    for found in (in_markdown, latex_cells(tex)):
        assert [row[0] for row in found] == plain
        assert [row[1] for row in found] == [f"{0.12345 + p:.3f}" for p in range(len(HOSTILE))]
        assert [row[2] for row in found] == [str(place) for place in range(len(HOSTILE))]
        # No negative zero; a small δ keeps its value.
        assert found[0][3] == "0.000"
        assert [row[4] for row in found][:5] == ["1.000", "0.100", "0.010", "0.001", "1.0e-04"]
    assert "- dataset: made" in md
    assert "- obtained: lower: trials" in md
    assert r"\toprule" in tex


def test_headings_of_latex_are_stacked_above_the_rule(tmp_path):
    _, tex = people(tmp_path, attacks(["exact", "nonce"]))
    above = tex.split(r"\toprule")[1].split(r"\midrule")[0].strip().splitlines()
    words = [[cell.strip() for cell in line.removesuffix(r"\\").split("&")] for line in above]
    assert [row[0] for row in words] == ["", "attack"]
    assert [row[1] for row in words] == [r"\ensuremath{\varepsilon} lower", "(trials)"]


def test_no_label_begins_a_row_as_an_argument_of_the_one_above(tmp_path):
    _, tex = people(tmp_path, attacks(["plain", "[x]", "*"]))
    assert not re.search(r"\\\\\s*[\[*]", tex)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_takes_the_table(tmp_path):
    _, tex = people(tmp_path, attacks([name for name in HOSTILE if "日" not in name]))
    page = r"\documentclass{article}\usepackage{booktabs}\begin{document}" + tex + r"\end{document}"
    (tmp_path / "page.tex").write_text(page)
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_kind_of_epsilon_says_how_it_was_obtained(tmp_path):
    table = pl.DataFrame(
        {"attack": ["exact"], "epsilon_exact_best": [1.0], "epsilon_theory": [2.0]}
    )
    (row,) = rows_of(saved(tmp_path, table))
    assert row["obtained"] == "exact_best: exact, best threshold; theory: accountant"
    with pytest.raises(KeyError, match="epsilon_guessed"):
        saved(tmp_path, pl.DataFrame({"epsilon_guessed": [1.0]}))
    own = pl.DataFrame({"epsilon": [1.0], "obtained": ["by hand"]})
    assert rows_of(saved(tmp_path, own))[0]["obtained"] == "by hand"
    assert "obtained" not in rows_of(saved(tmp_path, pl.DataFrame({"rank": [1]})))[0]


def test_provenance_names_what_made_the_table(tmp_path):
    path = saved(tmp_path, attacks(["exact"]))
    made = json.loads((tmp_path / "made.provenance.json").read_text())
    assert made["sha256"] == (tmp_path / "made.csv.sha256").read_text().strip()
    seal = (tmp_path / "audit.json.sha256").read_text().strip()
    assert made["inputs"] == {str(tmp_path / "audit.json"): seal}
    assert (made["rule"], made["seed"], made["code"]["modules"]) == ("table", 7, "abc")
    assert made["environment"]["packages"]["polars"] == pl.__version__
    assert made["config"] == provenance.settings_digest({"x": [1], "seed": 7})
    assert made["config"] != provenance.settings_digest({"x": [2], "seed": 7})
    # The table itself is the same whenever it is made.
    first = path.read_bytes()
    assert saved(tmp_path, attacks(["exact"])).read_bytes() == first


def test_a_rule_declares_the_provenance_of_every_table_it_writes():
    folder = provenance.ROOT / "workflow"
    rules = [
        block
        for path in (folder / "rules").glob("*.smk")
        for block in re.split(r"\n(?=rule )", path.read_text())
    ]
    script = re.compile(r'"\.\./scripts/(\w+)\.py"')
    writers = {p.stem for p in (folder / "scripts").glob("*.py") if "tables.save(" in p.read_text()}
    assert {"table", "gap", "exposures", "dpsgd_table", "evolution"} <= writers
    for rule in rules:
        found = script.search(rule)
        if found and found[1] in writers:
            outputs = set(re.findall(r'"results/tables/(\S+)\.csv",\n', rule.split("output:")[1]))
            assert outputs
            assert outputs == set(re.findall(r'"results/tables/(\S+)\.provenance\.json",', rule))
