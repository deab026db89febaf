"""Write and read tables for machines, and lay them out for people.

A CSV has full names, six decimals, settings as they were chosen, and a column `obtained` that says
how each ε came about; its provenance is beside it. People get the same rows with three decimals,
and what all rows share stands once, below them. In both, no bound is rounded to where it would
claim too much.
"""

import csv
import math
import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import provenance
from artifacts import checked, writing

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
# To where the values of a column are rounded: what was shown to leak, and low ends, down; what is
# allowed, what trials can show at most, and high ends, up; between two ends, and of every column
# that is not here, to the nearest.
ROUNDED = {
    **dict.fromkeys(
        (
            "epsilon",
            "epsilon_low",
            "epsilon_lower",
            "epsilon_exact",
            "epsilon_exact_best",
            "epsilon_expected",
            "epsilon_parametric",
            "epsilon_if_gdp",
            "epsilon_theory_low",
            "epsilon_add_remove_low",
            "epsilon_substitute_low",
            "epsilon_group_low",
            "mu_lower",
            "mauve_low",
            "mauve_published_low",
        ),
        ROUND_FLOOR,
    ),
    **dict.fromkeys(
        (
            "epsilon_high",
            "epsilon_upper",
            "epsilon_ceiling",
            "epsilon_theory",
            "epsilon_theory_tight",
            "epsilon_theory_high",
            "epsilon_add_remove_high",
            "epsilon_substitute_high",
            "epsilon_group_high",
            "mauve_high",
            "mauve_published_high",
        ),
        ROUND_CEILING,
    ),
    **dict.fromkeys(
        (
            "epsilon_theory_estimate",
            "epsilon_add_remove",
            "epsilon_substitute",
            "epsilon_group",
        ),
        ROUND_HALF_UP,
    ),
}
ROUNDING = (
    "Rounded so that no bound claims too much: what leaks and low ends down, what is allowed, "
    "ceilings and high ends up, all else to the nearest."
)
# Decimals of a CSV, and of what people read.
STORED, SHOWN = 6, 3
# Room for all digits of any float.
WHOLE = Context(prec=400)
EPSILON = "epsilon"
# Names that people chose; they may look like numbers.
NAMES = {"dataset", "bank", "encoder", "attack", "kind", "model", "scenario", "run"}
# What tells rows apart, in the order of the columns.
NAMING = NAMES | {
    "question",
    "source",
    "name",
    "canary",
    "first",
    "second",
    "user",
    "step",
    "level",
}
NAMING |= {"noise_multiplier", "participation", "transcript", "round", "rank", "steps"}
# Chosen, and so shown as they were given.
SETTINGS = {"participation", "noise_multiplier", "clip", "delta", "alpha", "level"}
# Below this, a number that is no bound is written with its exponent.
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


def rounded(name: str, value: float, digits: int = SHOWN) -> str:
    """Return a value of a column with so many decimals, rounded as the column is.

    What is rounded is the shortest decimal number that names the float, so that 1.345, whose float
    lies beside it, stays 1.345 in every column. Fewer decimals than a CSV's are made of the CSV's.

    Raises:
        KeyError: the column is an ε that ROUNDED does not have.

    Example:
        >>> rounded("epsilon_lower", 0.98764), rounded("epsilon_theory", 1.34201)
        ('0.987', '1.343')
        >>> rounded("epsilon_theory", 1.345), rounded("separation", 0.98764)
        ('1.345', '0.988')
    """
    way = ROUNDED[name] if name.startswith(EPSILON) else ROUNDED.get(name, ROUND_HALF_UP)
    if not math.isfinite(value):
        return str(value)
    number = Decimal(repr(float(value)))
    for places in (STORED, digits):
        number = number.quantize(Decimal(1).scaleb(-places), way, WHOLE)
    # No negative zero.
    return f"{number or abs(number):f}"


def read(path: str, texts: Iterable[str] = ()) -> pl.DataFrame:
    """Return a table made by a rule, checked; names stay names, though they may look like numbers.

    Args:
        path: the CSV.
        texts: columns of text besides NAMES.
    """
    return pl.read_csv(checked(path), schema_overrides=dict.fromkeys((*NAMES, *texts), pl.String))


def save(job: Any, table: pl.DataFrame, path: str) -> None:
    """Write a table and its provenance.

    Args:
        job: the object that Snakemake hands to the script.
        table: its rows; an ε in it is explained by its own column `obtained`, else by WAYS.
        path: the CSV.

    Raises:
        KeyError: WAYS or ROUNDED does not have one of its ε.
    """
    if "obtained" not in table.columns and (ways := obtained(table.columns)):
        table = table.with_columns(obtained=pl.lit(ways))
    table = table.with_columns(
        pl.Series(
            column.name,
            [
                None if each is None else float(rounded(column.name, each, STORED))
                for each in column
            ],
            column.dtype,
        )
        for column in table
        if column.dtype.is_float() and (column.name in ROUNDED or column.name.startswith(EPSILON))
    )
    # Chosen, and so written as they are: a δ may have no digit among the first six decimals.
    table = table.with_columns(
        pl.Series(column.name, [None if each is None else repr(each) for each in column], pl.String)
        for column in table
        if column.dtype.is_float() and column.name in SETTINGS
    )
    with writing(path) as temporary:
        table.write_csv(temporary, float_precision=STORED)
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

    @property
    def bounds(self) -> bool:
        """Whether a number is rounded to one side."""
        return any(name in ROUNDED for name in (*self.shared, *(c.name for c in self.columns)))


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _readable(name: str, cell: str) -> str:
    """Return a number with three decimals, a setting and anything else as it is."""
    value = _number(cell)
    if value is None or "." not in cell or name in NAMES:
        return cell
    if name in SETTINGS:
        return f"{value:g}"
    if 0.0 < abs(value) < SMALL and name not in ROUNDED:
        return f"{value:.1e}"
    return rounded(name, value)


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
