"""A table for people: Markdown for a page, LaTeX (booktabs) for a paper.

Output: {table}.md and {table}.tex, the rows of {table}.csv with three decimals. Below them, what
all rows share, and in LaTeX the long texts that letters stand for. Whatever a label or a name
contains is shown as text, never taken as markup.
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
# Of LaTeX's own article class, in points: the width of a page, and in \footnotesize about a
# character and the space between columns; a page has room for so many rows.
PAGE, CHARACTER, BETWEEN, ROWS = 345.0, 3.9, 6.0, 45
# Characters of a heading in one row.
NARROW = 9
# Longer text stands below the table, or wraps in a column of this share of the page.
LONG, WRAPPED = 40, 0.25
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Rows that share a name, on average, when it is worth a line of its own.
GROUP = 3


def _one_line(text: str) -> str:
    """Return a cell without what would end a line or steer a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def _in_markdown(text: str) -> str:
    return MARKUP.sub(r"\\\1", _one_line(text))


def _in_latex(text: str) -> str:
    """Escape a line as tabulate escapes a cell."""
    return _one_line(text).translate(str.maketrans(LATEX_ESCAPE_RULES))


def _heading(column: tables.Column) -> list[str]:
    """Return a heading in short parts, so that the numbers decide the width."""
    return textwrap.wrap(column.heading, NARROW, break_long_words=False) or [""]


def _stacked(columns: list[tables.Column]) -> Iterable[tuple[str, ...]]:
    """Return headings as rows."""
    parts = [_heading(column) for column in columns]
    height = max(map(len, parts))
    return zip(*([""] * (height - len(each)) + each for each in parts), strict=True)


def _alignment(table: tables.Shown) -> list[str]:
    return ["right" if column.numeric else "left" for column in table.columns]


def _notes(table: tables.Shown) -> Iterable[str]:
    for name, cell in table.shared.items():
        yield f"{tables.Column(name, []).heading}: {cell}"
    if table.bounds:
        yield tables.ROUNDING


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


def _noted(table: tables.Shown) -> tuple[list[tables.Column], list[str]]:
    """Return the columns with letters in place of long texts, and what each letter says."""
    kept, said, texts = [], {}, []
    for column in table.columns:
        found = dict.fromkeys(cell for cell in column.cells if cell)
        long = max(map(len, column.cells), default=0) > LONG
        if not long or column.name in tables.NAMING or len(said) + len(found) > len(LETTERS):
            kept.append(column)
            continue
        for cell in found:
            said[column.name, cell] = LETTERS[len(said)]
        texts.append([said.get((column.name, cell), "") for cell in column.cells])
    if texts:
        together = [", ".join(filter(None, letters)) for letters in zip(*texts, strict=True)]
        kept.append(tables.Column("note", together))
    return kept, [f"{letter}: {name}: {cell}" for (name, cell), letter in said.items()]


def _told_apart(columns: list[tables.Column]) -> list[tables.Column]:
    """Return the first columns of names that suffice to tell all rows apart, or all of them."""
    found: list[tables.Column] = []
    for column in columns:
        rows = list(zip(*(each.cells for each in found), strict=True))
        if found and len({*rows}) == len(rows):
            break
        if column.name in tables.NAMING:
            found.append(column)
    return found


def _width(column: tables.Column) -> float:
    """Return about how wide a column is on the page (points), with the space beside it."""
    long = max(map(len, [*column.cells, *_heading(column)]))
    return BETWEEN + (WRAPPED * PAGE if long > LONG else CHARACTER * long)


def _parts(columns: list[tables.Column], group: bool) -> list[list[tables.Column]]:
    """Return the columns of each part; each begins with those that tell its rows apart."""
    names = _told_apart(columns)
    # A group's name stands on a line of its own.
    taken = sum(_width(column) for column in names[group:])
    parts, room = [[*names]], PAGE - taken
    for column in columns:
        if column in names:
            continue
        if _width(column) > room and len(parts[-1]) > len(names):
            parts.append([*names])
            room = PAGE - taken
        parts[-1].append(column)
        room -= _width(column)
    return parts


def _line(cells: Iterable[str]) -> str:
    line = " & ".join(_in_latex(cell) for cell in cells)
    # A row that begins with one of these would be an argument of the row's end above it.
    return re.sub(r"^([\[*])", r"{}\1", line) + r" \\"


def _tabular(columns: list[tables.Column], rows: slice, group: tables.Column | None) -> str:
    """Return some rows of some columns; a group's name stands above its rows."""
    shown = [column for column in columns if column is not group]
    form = "".join(
        rf"p{{{WRAPPED}\linewidth}}"
        if max(map(len, column.cells), default=0) > LONG
        else "r"
        if column.numeric
        else "l"
        for column in shown
    )
    lines = [rf"\begin{{tabular}}{{{form}}}", r"\toprule"]
    lines += map(_line, _stacked(shown))
    lines.append(r"\midrule")
    last = None
    for number in range(len(columns[0].cells))[rows]:
        if group and group.cells[number] != last:
            last = group.cells[number]
            title = _in_latex(f"{group.heading}: {last}")
            lines.append(rf"\multicolumn{{{len(shown)}}}{{l}}{{\itshape {title}}} \\")
        lines.append(_line(column.cells[number] for column in shown))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def latex(table: tables.Shown, source: str) -> str:
    """Return a table as LaTeX; it needs the booktabs package.

    It fits the page of LaTeX's article class: what is wider or longer goes on in another tabular.
    """
    columns, said = _noted(table)
    count = len(columns[0].cells)
    first = columns[0]
    group = first if first.name in tables.NAMING and GROUP * len({*first.cells}) <= count else None
    parts = _parts(columns, group is not None)
    tabulars = [
        _tabular(part, slice(start, start + ROWS), group)
        for start in range(0, max(count, 1), ROWS)
        for part in parts
    ]
    notes = [_in_latex(note) for note in (*said, *_notes(table))]
    text = "\n\n\\medskip\\noindent\n".join([*tabulars, " \\\\\n".join(notes)])
    begin = r"{\footnotesize\setlength{\tabcolsep}{3pt}\noindent"
    return f"% {_one_line(source)}\n{begin}\n{text.translate(SIGNS)}\n\\par}}\n"


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
