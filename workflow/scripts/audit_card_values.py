"""Numbers that know where they stand: each carries its place in the tables into the page."""

from dataclasses import dataclass
from decimal import Decimal

from markupsafe import Markup

import tables


def shown(column: str, number: float, digits: int) -> str:
    """Return a number as the page shows it: rounded as its column of the tables.

    Example:
        >>> shown("epsilon_exact", 0.6228, 3), shown("exp epsilon_exact", 1.86, 1)
        ('0.622', '1.8')
        >>> shown("epsilon_theory", 1.6941, 3), shown("-change", -0.0000001, 3)
        ('1.695', '0.000')
        >>> shown("share", 1000000, 0)
        '1,000,000'
    """
    column = column.removeprefix("exp ").partition("@")[0]
    return f"{Decimal(tables.rounded(column, number, digits)):,f}"


def per_million(rate: float) -> str:
    """Return a probability as events in a million.

    Example:
        >>> per_million(0.0010016729), per_million(9.31e-6), per_million(2e-13), per_million(0.0)
        ('1,002', '9.31', '2e-07', '0')
    """
    events = 1e6 * rate
    return f"{events:,.0f}" if events >= 100.0 else f"{events:.3g}"


@dataclass(frozen=True)
class Value:
    """One number of the page.

    Attributes:
        number: as measured.
        table: which table of results has it, or `audit` for audit.json.
        column: the table's column; `exp` before it for its exponential, `-` for what is taken
            off, a share after @ for a quantile; in audit.json, keys joined by dots.
        row: what names the row, joined by slashes.
        digits: decimals shown.
        rate: shown as events in a million.
    """

    number: float
    table: str
    column: str
    row: str
    digits: int = 3
    rate: bool = False

    @property
    def dataset(self) -> str:
        """The dataset that it was measured on; rows begin with it."""
        return self.row.partition("/")[0]

    def __str__(self) -> str:
        return (
            per_million(self.number) if self.rate else shown(self.column, self.number, self.digits)
        )

    def _tagged(self, tag: str) -> Markup:
        return Markup(
            '<{0} data-value="{1!r}" data-table="{2}" data-column="{3}" data-row="{4}">{5}</{0}>'
        ).format(tag, float(self.number), self.table, self.column, self.row, str(self))

    def __html__(self) -> Markup:
        return self._tagged("data")

    def tspan(self) -> Markup:
        """Return it for the inside of an SVG text."""
        return self._tagged("tspan")


def largest(values: list[Value]) -> Value | None:
    """Return the largest value, the first of equal ones; None where there is none."""
    return max(values, key=lambda value: value.number, default=None)
