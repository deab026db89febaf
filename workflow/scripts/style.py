"""One look for every figure, and files that are the same for the same numbers.

Colours are Okabe and Ito's, which people with any colour vision can tell apart; marks and line
styles say the same again. Text stays text, so that a figure can be searched and read aloud.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from artifacts import writing

BLACK, GREY = "#000000", "#8c8c8c"
ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = (
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
# Inches; two columns of panels fill a page.
PANEL_WIDTH = 4.6
# How far an ε axis goes beyond what the proof allows.
REACH = 1.05

matplotlib.rcParams.update(
    {
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": "#e4e4e4",
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "lines.linewidth": 1.4,
        "lines.markersize": 4,
        "hatch.linewidth": 0.8,
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
        # Names inside an SVG are drawn at random unless this is fixed.
        "svg.hashsalt": "pe-audit",
    }
)


class Look(NamedTuple):
    """How one attack is drawn wherever it is."""

    colour: str
    line: str | tuple[int, tuple[int, ...]]
    marker: str


# A family of probes has one line style.
DASHED, DOTTED = (0, (5, 2)), (0, (1, 1.2))
ATTACKS = {
    "ordinary": Look(GREY, "-", "o"),
    "exact": Look(BLACK, "-", "s"),
    "paraphrase": Look(ORANGE, DASHED, "^"),
    "paraphrase-norm": Look(VERMILION, DASHED, "v"),
    "paraphrase-mu_eff": Look(PURPLE, DASHED, "D"),
    "nonce": Look(SKY, DOTTED, "<"),
    "nonce-norm": Look(BLUE, DOTTED, ">"),
    "nonce-mu_eff": Look(GREEN, DOTTED, "P"),
}

# What the mechanism itself gives away: under everything, and seen beside what covers it.
OWN = {"color": "#c8c8c8", "linewidth": 4.5, "solid_capstyle": "butt", "zorder": 1}
THEORY = {"color": BLACK, "linestyle": "--", "linewidth": 1.1}
CEILING = {"color": BLACK, "linestyle": ":", "linewidth": 1.3}
# Values without sampling error, beside counted ones of the same colour.
EXACT = {"linestyle": (0, (4, 1, 1, 1)), "linewidth": 1.0}
ALLOWED = "ε_theory (the paper's accountant)"


def power(number: float) -> str:
    """Return a number for people: a power of ten where it is one.

    Example:
        >>> power(1_000_000), power(20_000), power(1e-5), power(0.0003)
        ('10⁶', '20,000', '10⁻⁵', '0.0003')
    """
    exponent = round(math.log10(number)) if number > 0 else 0
    if abs(exponent) >= 3 and math.isclose(number, 10.0**exponent):
        return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


def epsilon(delta: float, what: str = "ε") -> str:
    """Return the label of an axis of ε at a δ; ε has no unit.

    Example:
        >>> epsilon(1e-5)
        'ε at δ = 10⁻⁵ (dimensionless)'
    """
    return f"{what} at δ = {power(delta)} (dimensionless)"


def ceiling(trials: int) -> str:
    """Return the label of what trials can show.

    Example:
        >>> ceiling(1_000_000)
        'ceiling: ideal attack, 10⁶ trials (expected)'
    """
    return f"ceiling: ideal attack, {power(trials)} trials (expected)"


def limits(axes: Axes, theory: float, trial_ceiling: float, trials: int) -> list[Line2D]:
    """Draw what the proof allows and what trials can show, across an ε axis that is horizontal.

    Returns:
        Both lines, for a legend.
    """
    # Where nothing may leak the axis needs a length all the same.
    axes.set_xlim(0.0, REACH * max(theory, trial_ceiling) or 1.0)
    return [
        axes.axvline(theory, label=ALLOWED, **THEORY),
        axes.axvline(trial_ceiling, label=ceiling(trials), **CEILING),
    ]


def panels(
    rows: int, columns: int, height: float, share_x: bool = True, share_y: bool = True
) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure and its axes by row and column; `height` is inches a row."""
    figure = Figure(figsize=(PANEL_WIDTH * columns, height * rows), layout="constrained")
    return figure, figure.subplots(
        rows, columns, squeeze=False, sharex=share_x, sharey=share_y
    ).tolist()


def legend(figure: Figure, handles: Iterable[Any], columns: int) -> None:
    """Put one legend for all panels under them."""
    figure.legend(handles=list(handles), loc="outside lower center", ncols=columns)


def save(figure: Figure, paths: Iterable[str], title: str) -> None:
    """Write a figure to every path, in the format that its suffix names, without dates."""
    for path in paths:
        kind = path.rsplit(".", 1)[1]
        dated = {"Date": None} if kind == "svg" else {"CreationDate": None}
        with writing(path) as temporary:
            figure.savefig(temporary, format=kind, metadata={"Title": title, **dated})
