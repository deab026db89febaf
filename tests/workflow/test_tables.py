"""Tables for people have the rows of the CSV, in words that no label can break."""

import csv
import json
import math
import re
import shutil
import subprocess
from collections import Counter
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

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
        # No negative zero; a setting keeps its value.
        assert found[0][3] == "0.000"
        assert [row[4] for row in found][:5] == ["1", "0.1", "0.01", "0.001", "0.0001"]
    assert "- dataset: made" in md
    assert "- obtained: lower: trials" in md
    assert r"\toprule" in tex


def test_headings_of_latex_are_stacked_above_the_rule(tmp_path):
    _, tex = people(tmp_path, attacks(["exact", "nonce"]))
    above = tex.split(r"\toprule")[1].split(r"\midrule")[0].strip().splitlines()
    words = [[cell.strip() for cell in line.removesuffix(r"\\").split("&")] for line in above]
    assert [row[0] for row in words] == ["", "attack"]
    assert [row[1] for row in words] == [r"\ensuremath{\varepsilon} lower", "(trials)"]


def wide(rows=100):
    """Return a table of more columns and rows than a page has room for, and long texts."""
    numbers = {f"epsilon_{name}": 0.98765 for name in ("lower", "exact", "exact_best", "expected")}
    numbers |= {f"votes_on_inspected_{number}": 0.12345 for number in range(9)}
    return pl.DataFrame(
        {
            "question": ["Was this user in?", "Which of two was in?"] * (rows // 2),
            "attack": "paraphrase-mu_eff",
            "canary": [number // 2 for number in range(rows)],
            **{name: [value + number / 1e3 for number in range(rows)]
               for name, value in numbers.items()},
            "answers": ["What one of these says is long, and stands once below " * 2,
                        "What the other says is longer than its column is wide"] * (rows // 2),
        }
    ).sort("question")  # fmt: skip


def tabulars(tex):
    """Return the columns' form and the cells of every line of each tabular."""
    found = re.findall(r"\\begin\{tabular\}\{(\w+)\}\n(.*?)\\end\{tabular\}", tex, re.S)
    lines = ([row for row in body.splitlines() if row.endswith(r"\\")] for _, body in found)
    cells = [[row.removesuffix(r" \\").split(" & ") for row in rows] for rows in lines]
    return list(zip([form for form, _ in found], cells, strict=True))


def points(text, size=8.0):
    """Return how wide a text is in LaTeX's own font, at the size of a footnote."""
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "cmr10.ttf"
    words = text.replace(r"\ensuremath{\varepsilon}", "e").replace("\\", "")
    if not words.strip():
        return 0.0
    drawn = TextPath((0, 0), words, size=size, prop=FontProperties(fname=path))
    return drawn.get_extents().width


def test_a_wide_and_long_table_goes_on_below_itself(tmp_path):
    table = wide()
    _, tex = people(tmp_path, table)
    found = tabulars(tex)
    assert len(found) > 4
    for form, rows in found:
        assert len(rows) < 60
        named = [row for row in rows if "multicolumn" not in row[0]]
        assert {len(row) for row in named} == {len(form)}
        columns = zip(*named, strict=True)
        # An article's page is 345 points wide; 3 points stand on each side of a column.
        assert sum(6.0 + max(map(points, column)) for column in columns) <= 345.0
    # Every row of every part says which canary and attack it is of, and nothing is lost.
    cells = [cell for _, rows in found for row in rows for cell in row]
    for name in ("epsilon_lower", "votes_on_inspected_0", "votes_on_inspected_8"):
        shown = [tables.rounded(name, value) for value in table[name]]
        assert not Counter(shown) - Counter(cells)
    data = [row for _, rows in found for row in rows if re.fullmatch(r"\d+", row[0])]
    assert Counter(row[0] for row in data) == dict.fromkeys(
        map(str, range(50)), 2 * len(found) // 3
    )
    # A long text stands once, behind its letter.
    assert tex.count("longer than its column") == tex.count("stands once below") // 2 == 1
    assert {row[-1] for row in data} >= {"a", "b"}


def test_no_label_begins_a_row_as_an_argument_of_the_one_above(tmp_path):
    _, tex = people(tmp_path, attacks(["plain", "[x]", "*"]))
    assert not re.search(r"\\\\\s*[\[*]", tex)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
@pytest.mark.parametrize("hostile", [True, False])
def test_latex_takes_the_table(hostile, tmp_path):
    table = attacks([name for name in HOSTILE if "日" not in name]) if hostile else wide()
    _, tex = people(tmp_path, table)
    page = r"\documentclass{article}\usepackage{booktabs}\begin{document}" + tex + r"\end{document}"
    (tmp_path / "page.tex").write_text(page)
    command = ["pdflatex", "-draftmode", "-halt-on-error", "-interaction=nonstopmode", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "Overfull" not in done.stdout


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


DOWN = ("epsilon_lower", "epsilon_exact_best", "epsilon_theory_low", "mauve_low", "mu_lower")
UP = ("epsilon_theory", "epsilon_theory_high", "epsilon_upper", "epsilon_ceiling", "mauve_high")
NEAREST = ("epsilon_theory_estimate", "mauve", "separation")
# Both are floats that lie beside the number, one below it and one above.
EXACT = (1.345, 0.1)


@given(st.floats(0.0, 20.0) | st.sampled_from(EXACT), st.sampled_from([1, 2, 3, 6]))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_no_bound_is_rounded_to_where_it_says_too_much(value, digits):
    within = Fraction(1, 10**digits)
    for name in DOWN:
        shown = Fraction(tables.rounded(name, value, digits))
        assert shown <= Fraction(repr(value)) < shown + within
    for name in UP:
        shown = Fraction(tables.rounded(name, value, digits))
        assert shown - within < Fraction(repr(value)) <= shown
    for name in NEAREST:
        shown = Fraction(tables.rounded(name, value, digits))
        assert abs(shown - Fraction(repr(value))) <= within / 2 + Fraction(1, 2 * 10**6)


def test_numbers_of_so_many_digits_stay_whatever_their_floats(tmp_path):
    assert {tables.rounded(name, value) for name in (*DOWN, *UP, *NEAREST) for value in EXACT} == {
        "1.345",
        "0.100",
    }
    assert [tables.rounded(name, 1e300)[:3] for name in (*DOWN, *UP)] == ["100"] * 10
    assert tables.rounded("epsilon_theory", math.inf) == "inf"
    assert tables.rounded("separation", -1e-9) == tables.rounded("mauve_high", -1e-9) == "0.000"


def test_files_and_people_get_the_same_ends(tmp_path):
    # Were the file's sixth decimal the nearest, the third of the first and the last would be wrong.
    values = [0.1239999996, 0.98764, 2.0000000004]
    table = pl.DataFrame(dict.fromkeys((*DOWN, *UP, *NEAREST), values) | {"rank": [1, 2, 3]})
    md, tex = people(tmp_path, table)
    rows = rows_of(tmp_path / "made.csv")
    assert [row["epsilon_lower"] for row in rows] == ["0.123999", "0.987640", "2.000000"]
    assert [row["epsilon_theory"] for row in rows] == ["0.124000", "0.987640", "2.000001"]
    assert [row["separation"] for row in rows] == ["0.124000", "0.987640", "2.000000"]
    _, _, *cells = markdown_cells(md)
    ends = {name: [row[place] for row in cells] for place, name in enumerate(table.columns)}
    for name in DOWN:
        assert ends[name] == ["0.123", "0.987", "2.000"], name
    for name in UP:
        assert ends[name] == ["0.124", "0.988", "2.001"], name
    for name in NEAREST:
        assert ends[name] == ["0.124", "0.988", "2.000"], name
    assert tables.ROUNDING in md
    assert tables.ROUNDING in tex


def test_what_was_chosen_is_written_as_it_was(tmp_path):
    chosen = {"delta": [2.5e-7, 1e-9], "noise_multiplier": [1.10884321, 1.0], "level": [None, 0.5]}
    path = saved(tmp_path, pl.DataFrame(chosen))
    assert pl.read_csv(path).to_dict(as_series=False) == chosen
    delta = tables.shown(path).columns[0]
    assert delta.cells == ["2.5e-07", "1e-09"]
    assert delta.numeric


def test_every_epsilon_has_an_end():
    assert set(tables.WAYS) <= set(tables.ROUNDED)
    with pytest.raises(KeyError, match="epsilon_guessed"):
        tables.rounded("epsilon_guessed", 1.0)


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


def test_names_that_look_like_numbers_are_read_as_names(tmp_path):
    with artifacts.writing(tmp_path / "table.csv") as path:
        path.write_text("dataset,attack,label,round,epsilon_lower\n007,1e3,01,2,0.5\n")
    found = tables.read(tmp_path / "table.csv", ["label"])
    assert found.row(0) == ("007", "1e3", "01", 2, 0.5)
