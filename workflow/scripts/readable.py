"""A table for people: Markdown for a page, LaTeX (booktabs) for a paper.

Output: {table}.md and {table}.tex, the rows of {table}.csv with three decimals. Below them, what
all rows share. Whatever a label or a name contains is shown as text, never taken as markup.
"""

import re
import textwrap
from collections.abc import Iterable

from tabulate import LATEX_ESCAPE_RULES, tabulate

import tables
from artifacts import checked, load_json, save_text
from job import job

# Letters and signs of the field that pdfLaTeX does not know as text.
SIGNS = str.maketrans(
    {
        "ε": r"\ensuremath{\varepsilon}",
        "δ": r"\ensuremath{\delta}",
        "μ": r"\ensuremath{\mu}",
        "σ": r"\ensuremath{\sigma}",
        "α": r"\ensuremath{\alpha}",
        "′": r"\ensuremath{'}",
        "−": r"\ensuremath{-}",
        "×": r"\ensuremath{\times}",
        "÷": r"\ensuremath{\div}",
        "·": r"\ensuremath{\cdot}",
        "≤": r"\ensuremath{\leq}",
        "≥": r"\ensuremath{\geq}",
        "→": r"\ensuremath{\rightarrow}",
        "∞": r"\ensuremath{\infty}",
    }
)
# What begins markup in GitHub's Markdown; all may follow a backslash.
MARKUP = re.compile(r"([\\`*_\[\]<>|~&$#!])")
# Characters of a heading in one row.
NARROW = 12
# Longer text wraps in a column of this width.
LONG, WRAPPED = 40, r"p{0.25\linewidth}"


def _one_line(text: str) -> str:
    """Return a cell without what would end a line or steer a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def _in_markdown(text: str) -> str:
    return MARKUP.sub(r"\\\1", _one_line(text))


def _in_latex(text: str) -> str:
    """Escape a line as tabulate escapes a cell."""
    return _one_line(text).translate(str.maketrans(LATEX_ESCAPE_RULES))


def _stacked(headings: list[str]) -> Iterable[tuple[str, ...]]:
    """Return headings as rows of short parts, so that the numbers decide the width."""
    parts = [textwrap.wrap(heading, NARROW) for heading in headings]
    height = max(map(len, parts))
    return zip(*([""] * (height - len(each)) + each for each in parts), strict=True)


def _alignment(table: tables.Shown) -> list[str]:
    return ["right" if column.numeric else "left" for column in table.columns]


def _notes(table: tables.Shown) -> Iterable[str]:
    for name, cell in table.shared.items():
        yield f"{tables.Column(name, []).heading}: {cell}"


def markdown(table: tables.Shown, source: str) -> str:
    """Return a table as GitHub's Markdown."""
    body = tabulate(
        [[_in_markdown(cell) for cell in row] for row in table.rows],
        [_in_markdown(column.heading) for column in table.columns],
        "pipe",
        colalign=_alignment(table),
        disable_numparse=True,
    )
    notes = "".join(f"- {_in_markdown(note)}\n" for note in _notes(table))
    return "\n".join([body, "", *([notes] if notes else []), _in_markdown(source), ""])


def latex(table: tables.Shown, source: str) -> str:
    """Return a table as LaTeX; it needs the booktabs package."""
    headings = list(_stacked([column.heading for column in table.columns]))
    lines = tabulate(
        [*headings, *([_one_line(cell) for cell in row] for row in table.rows)],
        tablefmt="latex_booktabs",
        colalign=_alignment(table),
        disable_numparse=True,
    ).splitlines()
    # After the begin, the top rule and the headings.
    lines.insert(2 + len(headings), r"\midrule")
    columns = "".join(
        WRAPPED if max(map(len, column.cells)) > LONG else "r" if column.numeric else "l"
        for column in table.columns
    )
    lines[0] = rf"\begin{{tabular}}{{{columns}}}"
    # A row that begins with one of these would be an argument of the row's end above it.
    lines = [re.sub(r"^(\s*)([\[*])", r"\1{}\2", line) for line in lines]
    notes = [_in_latex(note) for note in _notes(table)]
    below = "\n".join(
        ["", r"\par\smallskip", r"{\noindent\footnotesize", " \\\\\n".join(notes), "}"]
    )
    text = "\n".join(lines) + (below if notes else "")
    return f"% {_one_line(source)}\n{text.translate(SIGNS)}\n"


with job(snakemake):
    table = tables.shown(checked(snakemake.input.csv))
    made = load_json(snakemake.input.provenance)
    source = (
        f"{made['table']} (SHA-256 {made['sha256'][:12]}), made {made['made']} with seed "
        f"{made['seed']}, configuration {made['config'][:12]}; all of it: "
        f"{snakemake.input.provenance}"
    )
    save_text(snakemake.output.md, markdown(table, source))
    save_text(snakemake.output.tex, latex(table, source))
