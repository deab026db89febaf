"""Print tables of results on the terminal: `python workflow/scripts/summary.py TABLE.csv ...`."""

import csv
import sys
from pathlib import Path

# In the CSV only: a terminal is 80 columns wide.
LEFT_OUT = {"epsilon_expected", "epsilon_parametric", "canary"}


def readable(cell: str) -> str:
    """Return a number with three decimals, anything else as it is."""
    try:
        return f"{float(cell):.3f}" if "." in cell else cell
    except ValueError:
        return cell


def rendered(path: Path) -> str:
    """Return one CSV as text; columns that are the same in all rows stand once, below it."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    cells = {
        name: [readable(cell) for cell in column]
        for name, column in zip(header, zip(*rows))
        if name not in LEFT_OUT
    }
    shared = {
        name: column[0] for name, column in cells.items() if len(rows) > 1 and len({*column}) == 1
    }
    columns = []
    for name, column in cells.items():
        if name in shared:
            continue
        # A heading is stacked word by word, so that the numbers decide the width.
        words = name.replace("epsilon", "ε").split("_")
        number = all(cell == "" or cell[-1].isdigit() for cell in column)
        columns.append((words, column, number))
    height = max(len(words) for words, _, _ in columns)
    blocks = []
    for words, column, number in columns:
        lines = [""] * (height - len(words)) + words
        width = max(map(len, [*lines, *column]))
        lines += ["─" * width, *column]
        blocks.append([line.rjust(width) if number else line.ljust(width) for line in lines])
    text = [str(path), *("  ".join(parts).rstrip() for parts in zip(*blocks)), ""]
    text += [f"{name}: {cell}" for name, cell in shared.items() if cell]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    print("\n".join(rendered(Path(argument)) for argument in sys.argv[1:]))
