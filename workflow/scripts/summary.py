"""Print tables of results on the terminal: `python workflow/scripts/summary.py TABLE.csv ...`.

Below them, what there is to open.
"""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import tables

# In the files only: a terminal is 80 columns wide.
LEFT_OUT = frozenset({"epsilon_expected", "epsilon_parametric", "canary"})
WIDTH = 80
# What a reader opens first, with what it is.
OPEN = {
    "audit-card.html": "the verdict on one page",
    "report.html": "every figure, table and setting",
    "figures/attacks.svg": "what each attack proves",
    "tables": "all tables: .csv, .md for a page, .tex for a paper",
}


def rendered(path: Path) -> str:
    """Return one CSV as text; columns that are the same in all rows stand once, below it."""
    table = tables.shown(path, LEFT_OUT)
    # A heading is stacked word by word, so that the numbers decide the width.
    stacks = [column.name.replace("epsilon", "ε").split("_") for column in table.columns]
    height = max(map(len, stacks))
    blocks = []
    for words, column in zip(stacks, table.columns, strict=True):
        lines = [""] * (height - len(words)) + words
        width = max(map(len, [*lines, *column.cells]))
        lines += ["─" * width, *column.cells]
        blocks.append(
            [line.rjust(width) if column.numeric else line.ljust(width) for line in lines]
        )
    text = [str(path), *("  ".join(parts).rstrip() for parts in zip(*blocks, strict=True)), ""]
    for name, cell in table.shared.items():
        text += textwrap.wrap(f"{name}: {cell}", WIDTH, subsequent_indent="  ")
    if table.bounds:
        text += textwrap.wrap(tables.ROUNDING, WIDTH)
    return "\n".join(text) + "\n"


def to_open(results: Path) -> Iterator[str]:
    """Yield a line for each of the things to open that there are."""
    there = {results / name: what for name, what in OPEN.items() if (results / name).exists()}
    width = max((len(str(path)) for path in there), default=0)
    for path, what in there.items():
        yield f"{path!s:{width}}  {what}"


if __name__ == "__main__":
    # A terminal whose encoding has no ε shows the rest.
    sys.stdout.reconfigure(errors="replace")
    print("\n".join(rendered(Path(argument)) for argument in sys.argv[1:]))
    print("\n".join(to_open(Path("results"))))
