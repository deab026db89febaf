"""Print a table of results on the terminal: `python workflow/scripts/summary.py TABLE.csv`."""

import csv
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table


def show(path: Path) -> None:
    """Print one CSV of results, its numbers with three decimals."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    table = Table(title=str(path), title_style="bold")
    numbers = {"canary", *(name for name in header if name.startswith(("epsilon", "norm", "sep")))}
    for name in header:
        table.add_column(name, justify="right" if name in numbers else "left")
    for row in rows:
        table.add_row(*(f"{float(cell):.3f}" if "." in cell else cell for cell in row))
    Console().print(table)


if __name__ == "__main__":
    show(Path(sys.argv[1]))
