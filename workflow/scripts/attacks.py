"""The paper's Table 4 as a dot plot: what each attack proved of each canary, by trials and exactly.

Output: attacks.svg and attacks.pdf, a panel for every dataset and bank; ε is dimensionless.
"""

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

import cells
import style
from job import job

# Two lanes of an attack: counted above, exact below.
LANES = (
    ("lower", -0.17, style.VERMILION, "o", "by trials (ε_lower)"),
    ("exact_best", 0.17, style.BLUE, "D", "exact, best threshold (ε_exact_best)"),
)


def draw(axes: Axes, arm: cells.Arm) -> None:
    """Draw one panel."""
    for row, canaries in enumerate(arm.values()):
        for name, lane, colour, marker, _ in LANES:
            values = [audit["epsilon"][name] for audit in canaries]
            at = row + lane
            axes.plot([min(values), max(values)], [at, at], color=colour, lw=1, alpha=0.5)
            axes.plot(values, [at] * len(values), ".", ms=4, color=colour, alpha=0.6)
            axes.plot(max(values), at, marker, ms=6, mfc="white", mec=colour, mew=1.4)
    axes.set_yticks(range(len(arm)), arm.keys())
    axes.tick_params("y", length=0)
    axes.grid(visible=False, axis="y")


def legend() -> list[Line2D]:
    """Return what the marks mean."""
    marks = [
        Line2D([], [], color=colour, ls="", marker=marker, ms=6, mfc="white", mew=1.4,
               label=f"largest of the canaries, {label}")
        for _, _, colour, marker, label in LANES
    ]  # fmt: skip
    dots = Line2D([], [], color=style.GREY, marker=".", lw=1, label="every canary")
    return [*marks, dots]


with job(snakemake):
    arms = cells.arms(snakemake.input.audits)
    one = cells.any_of(arms)
    epsilon, trials = one["epsilon"], one["counts"]["trials"]
    datasets, banks = cells.layout(arms)
    most = max(len(arm) for arm in arms.values())
    figure, axes = style.panels(len(datasets), len(banks), 1.3 + 0.36 * most)
    for (dataset, bank), arm in arms.items():
        panel = axes[datasets.index(dataset)][banks.index(bank)]
        draw(panel, arm)
        lines = style.limits(panel, epsilon["epsilon_theory"], epsilon["ceiling"], trials)
        panel.set_title(f"{dataset}, bank {bank}")
    for panel in axes[0]:
        panel.set_ylim(most - 0.5, -0.5)
    for panel in axes[-1]:
        panel.set_xlabel(
            f"ε of one release at δ = {style.power(one['settings']['delta'])} (dimensionless)"
        )
    style.legend(figure, [*legend(), *lines], 2)
    style.save(figure, snakemake.output, "What each attack proves")
