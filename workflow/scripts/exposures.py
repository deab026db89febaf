"""How exposed everyone is: the table of all test users, and its distribution.

Output: exposure.csv, the rows of every dataset, bank and attack; exposure_levels.csv, the share of
users above each chosen ε; exposure.svg and exposure.pdf, a row for every dataset.
"""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

import population
import style
import tables
from artifacts import load_json
from audits import GRID
from job import job
from pe_core import planning
from pe_core.exposure import share_above

BINS = 40
WAY = tables.WAYS["epsilon_exact_best"]
COLOURS = (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE)
LINES = ("-", style.DASHED, style.DOTTED, "-.")


def above(table: pl.DataFrame, levels: list[float]) -> list[dict]:
    """Return the share of users above each level, by dataset, bank and attack."""
    return [
        {**dict(zip(GRID, names)), "level": level, "users": len(rows), "share": share}
        for names, rows in table.group_by(GRID, maintain_order=True)
        for level, share in zip(levels, share_above(rows["epsilon"], levels).tolist(), strict=True)
    ]


def draw(left: Axes, right: Axes, epsilon: np.ndarray, reach: float, look: dict) -> None:
    """Draw one group's users by ε, and the share of them above every ε."""
    left.hist(epsilon, np.linspace(0.0, reach, BINS + 1), histtype="step", lw=1.4, **look)
    ordered = np.sort(epsilon)
    share = 1.0 - np.arange(len(ordered) + 1) / len(ordered)
    right.stairs(100.0 * share, [0.0, *ordered, reach], baseline=None, lw=1.4, **look)


with job(snakemake):
    table = pl.concat(map(tables.read, snakemake.input.exposures))
    table = table.with_columns(obtained=pl.lit(WAY))
    tables.save(snakemake, table, snakemake.output.csv)
    shares = pl.DataFrame(above(table, snakemake.params.levels)).with_columns(obtained=pl.lit(WAY))
    tables.save(snakemake, shares, snakemake.output.levels)

    mechanism = population.mechanism(snakemake.params.mechanism, 1)
    evaluation = snakemake.params.evaluation
    theory = load_json(snakemake.input.accounting)["epsilon_theory"]
    tail = evaluation["alpha"] / (4 * snakemake.params.canaries)
    ceiling = planning.ceiling(mechanism, evaluation["trials"], tail)
    reach = style.REACH * max(theory, ceiling)
    datasets = table["dataset"].unique(maintain_order=True).to_list()
    figure, axes = style.panels(len(datasets), 2, 3.2, share_y=False)
    for (left, right), dataset in zip(axes, datasets, strict=True):
        groups = table.filter(dataset=dataset).group_by("bank", "attack", maintain_order=True)
        for place, ((bank, attack), rows) in enumerate(groups):
            look = {"color": COLOURS[place % 4], "linestyle": LINES[place % 4],
                    "label": f"bank {bank}, {attack}"}  # fmt: skip
            draw(left, right, rows["epsilon"].to_numpy(), reach, look)
            marked = shares.filter(dataset=dataset, bank=bank, attack=attack)
            right.plot(marked["level"], 100.0 * marked["share"], "o", ms=4, color=look["color"])
        for panel in (left, right):
            lines = style.limits(panel, theory, ceiling, evaluation["trials"])
            panel.set(ylim=(0, None), title=dataset)
        users = table.filter(dataset=dataset).n_unique("user")
        left.set_ylabel(f"users (of {users}) per {reach / BINS:.2g} of ε")
        right.set_ylabel("share of users above (%)")
    for panel in axes[-1]:
        panel.set_xlabel(f"exact ε of a user at δ = {style.power(mechanism.delta)} (dimensionless)")
    level = Line2D([], [], ls="", marker="o", ms=4, color=style.GREY, label="chosen levels of ε")
    style.legend(figure, [*axes[0][1].get_legend_handles_labels()[0], level], 2)
    style.save(figure, [snakemake.output.svg, snakemake.output.pdf], "Everyone's exposure")
