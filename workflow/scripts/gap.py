"""Where the missing leakage went: the ladder of every cell, as a table and as a figure.

Output: gap.csv, one row a cell and step (ε and its change from the step above, dimensionless);
gap.svg and gap.pdf, for every attack the staircase from the mechanism's ε to the realised bound,
means over canaries. A step that goes up is shown as it is.
"""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Patch

import cells
import style
import tables
from audits import GRID
from job import job

# What each step takes off, and how it is drawn.
STEPS = {
    "canary": ("the canary's norm on the inspected positions", style.ORANGE),
    "traffic": ("other users' traffic", style.BLUE),
    "estimated weights": ("weights estimated from auxiliary users", style.SKY),
    "calibrated threshold": ("a threshold calibrated in advance", style.PURPLE),
    "expected": ("the price of trials (expected)", style.VERMILION),
    "realised": ("luck of these trials", style.GREY),
}
# The other steps are computed at their best threshold.
OBTAINED = {
    "calibrated threshold": "exact",
    "expected": "expected of the trials",
    "realised": "trials",
}


def rows_of(arm: cells.Arm) -> list[dict]:
    """Return the table's rows of one arm."""
    return [
        {
            **{name: audit[name] for name in GRID},
            "canary": audit["canary"],
            **step,
            "obtained": OBTAINED.get(step["step"], "exact, best threshold"),
        }
        for canaries in arm.values()
        for audit in canaries
        for step in audit["ladder"]
    ]


def draw(axes: Axes, table: pl.DataFrame, attacks: list[str]) -> None:
    """Draw one panel: a lane an attack, a bar a step from the ε above to the ε below."""
    means = table.group_by("attack", "step", maintain_order=True).agg(pl.mean("epsilon"))
    # The last row of a lane is the bound itself.
    height = 0.88 / (len(STEPS) + 1)
    for lane, attack in enumerate(attacks):
        ladder = dict(means.filter(attack=attack).select("step", "epsilon").iter_rows())
        rows = lane - 0.44 + height * (np.arange(len(STEPS) + 1) + 0.5)
        above = ladder["mechanism"]
        for row, (step, (_, colour)) in zip(rows, STEPS.items()):
            below = ladder[step]
            up = {"facecolor": "white", "edgecolor": colour, "hatch": "////"}
            bar = up if below > above else {"color": colour}
            axes.barh(row, below - above, height, left=above, **bar)
            # The riser of the staircase keeps steps of no width in sight.
            axes.plot([below] * 2, [row - height / 2, row + height], color="#555555", lw=0.6)
            above = below
        axes.plot(above, rows[-1], "o", ms=4, color=style.BLACK)
        axes.annotate(
            tables.rounded("epsilon", above, 2),
            (above, rows[-1]),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
        )
    axes.set_yticks(range(len(attacks)), attacks)
    axes.tick_params("y", length=0)
    axes.grid(visible=False, axis="y")


def legend() -> list:
    """Return what the bars mean, from the top of a lane to its end."""
    bars = [Patch(color=colour, label=label) for label, colour in STEPS.values()]
    up = Patch(facecolor="white", edgecolor=style.GREY, hatch="////", label="hatched: a step up")
    end = style.Line2D([], [], ls="", marker="o", ms=4, color=style.BLACK, label="realised bound")
    return [*bars, up, end]


with job(snakemake):
    arms = cells.arms(snakemake.input.audits)
    table = pl.DataFrame(
        [row for arm in arms.values() for row in rows_of(arm)], infer_schema_length=None
    )
    tables.save(snakemake, table, snakemake.output.csv)

    one = cells.any_of(arms)
    epsilon, trials = one["epsilon"], one["counts"]["trials"]
    datasets, banks = cells.layout(arms)
    most = max(len(arm) for arm in arms.values())
    figure, axes = style.panels(len(datasets), len(banks), 1.6 + 0.68 * most)
    for (dataset, bank), arm in arms.items():
        panel = axes[datasets.index(dataset)][banks.index(bank)]
        draw(panel, table.filter(dataset=dataset, bank=bank), list(arm))
        lines = style.limits(panel, epsilon["epsilon_theory"], epsilon["ceiling"], trials)
        panel.set_title(f"{dataset}, bank {bank}")
    for panel in axes[0]:
        panel.set_ylim(most - 0.5, -0.5)
    at = f"δ = {style.power(one['settings']['delta'])}"
    canaries = max(len(each) for arm in arms.values() for each in arm.values())
    for panel in axes[-1]:
        panel.set_xlabel(f"ε at {at}, mean of {canaries} canaries (dimensionless)")
    style.legend(figure, [*legend(), *lines], 2)
    style.save(figure, [snakemake.output.svg, snakemake.output.pdf], "Where the missing ε went")
