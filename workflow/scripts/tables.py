"""Write tables for machines, and lay them out for people.

A CSV has full names, six decimals, and a column `obtained` that says how each ε came about; its
provenance is beside it. People get the same rows with three decimals, and what all rows share
stands once, below them.
"""

import csv
import re
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import provenance
from artifacts import writing

# How the values of a column came about.
WAYS = {
    "epsilon_lower": "trials",
    "epsilon_upper": "trials",
    "epsilon_exact": "exact",
    "epsilon_exact_best": "exact, best threshold",
    "epsilon_expected": "expected of the trials",
    "epsilon_ceiling": "expected of an ideal attack",
    "epsilon_parametric": "trials, if Gaussian",
    "epsilon_if_gdp": "trials, if Gaussian",
    "epsilon_theory": "accountant",
    "epsilon_theory_tight": "certified accountant",
    "epsilon_theory_low": "certified accountant",
    "epsilon_theory_estimate": "certified accountant",
    "epsilon_theory_high": "certified accountant",
    **{
        f"epsilon_{adjacency}{end}": "certified accountant"
        for adjacency in ("add_remove", "substitute", "group")
        for end in ("_low", "", "_high")
    },
}
EPSILON = "epsilon"
# Names that people chose; they may look like numbers.
NAMES = {"dataset", "bank", "encoder", "attack", "kind", "model", "scenario", "run"}
# Below this, a number that is not an ε is written with its exponent.
SMALL = 5e-4


def obtained(columns: list[str]) -> str:
    """Say how the ε of some columns were obtained.

    Example:
        >>> obtained(["attack", "epsilon_lower", "epsilon_exact", "canary"])
        'lower: trials; exact: exact'
    """
    return "; ".join(
        f"{name.removeprefix('epsilon_')}: {WAYS[name]}"
        for name in columns
        if name.startswith(EPSILON)
    )


def save(job: Any, table: pl.DataFrame, path: str) -> None:
    """Write a table and its provenance.

    Args:
        job: the object that Snakemake hands to the script.
        table: its rows; an ε in it is explained by its own column `obtained`, else by WAYS.
        path: the CSV.
    """
    if "obtained" not in table.columns and (ways := obtained(table.columns)):
        table = table.with_columns(obtained=pl.lit(ways))
    with writing(path) as temporary:
        table.write_csv(temporary, float_precision=6)
    provenance.save(job, Path(path))


class Column(NamedTuple):
    """One column for people."""

    name: str
    cells: list[str]

    @property
    def numeric(self) -> bool:
        """Whether every cell is a number or empty."""
        return self.name not in NAMES and all(
            _number(cell) is not None for cell in self.cells if cell
        )

    @property
    def heading(self) -> str:
        """The name in words; of an ε, with the way it was obtained where the name does not say."""
        words = self.name.replace(EPSILON, "ε").replace("_", " ")
        way = WAYS.get(self.name, words)
        return words if re.split(r"\W", way)[0] in words else f"{words} ({way})"


class Shown(NamedTuple):
    """A table for people: its columns, and what all of its rows share."""

    columns: list[Column]
    shared: dict[str, str]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        return list(zip(*(column.cells for column in self.columns), strict=True))


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _readable(name: str, cell: str) -> str:
    """Return a number with three decimals, anything else as it is."""
    value = _number(cell)
    if value is None or "." not in cell or name in NAMES:
        return cell
    if 0.0 < abs(value) < SMALL and not name.startswith(EPSILON):
        return f"{value:.1e}"
    # No negative zero.
    return f"{round(value, 3) + 0.0:.3f}"


def shown(path: Path, left_out: frozenset[str] = frozenset()) -> Shown:
    """Read a CSV for people, without the columns of `left_out`."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    cells = {
        name: [_readable(name, row[place]) for row in rows]
        for place, name in enumerate(header)
        if name not in left_out
    }
    shared = {
        name: column[0] for name, column in cells.items() if len(rows) > 1 and len({*column}) == 1
    }
    columns = [Column(name, column) for name, column in cells.items() if name not in shared]
    return Shown(columns, {name: cell for name, cell in shared.items() if cell})
