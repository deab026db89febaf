"""Print tables of results on the terminal: `python workflow/scripts/summary.py TABLE.csv ...`."""

import csv
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table


def readable(cell: str) -> str:
    """Return a number with three decimals, anything else as it is."""
    try:
        return f"{float(cell):.3f}" if "." in cell else cell
    except ValueError:
        return cell


def show(path: Path, console: Console) -> None:
    """Print one CSV of results; columns that are the same in all rows stand once, below it."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    columns = dict(zip(header, zip(*rows)))
    shared = {
        name: values[0] for name, values in columns.items() if len(rows) > 1 and len({*values}) == 1
    }
    table = Table(title=str(path), caption_justify="left")
    for name in (name for name in header if name not in shared):
        number = all(value == "" or readable(value)[-1:].isdigit() for value in columns[name])
        # Underscores are where a narrow terminal may break a heading.
        table.add_column(name.replace("_", " "), justify="right" if number else "left")
    for row in rows:
        cells = zip(header, row)
        table.add_row(*(readable(cell) for name, cell in cells if name not in shared))
    table.caption = "  ".join(f"{name} {readable(cell)}" for name, cell in shared.items() if cell)
    console.print(table)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        show(Path(argument), Console())
