"""Figure 1: ε measured and allowed, against the noise multiplier σ and the participation q.

Output: figure1.svg and figure1.pdf, a row of two panels for every dataset; σ is in clips C, q is a
probability, ε is dimensionless. Lines with marks are lower bounds by trials, with the band between
both 95% Clopper-Pearson ends; thin ones without marks are exact.
"""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

import style
import tables
from job import job

ALONG = {
    "noise_multiplier": "noise multiplier σ (standard deviations per clip C)",
    "participation": "participation q (probability)",
}


def draw(axes: Axes, rows: pl.DataFrame, along: str) -> list[Line2D]:
    """Draw one sweep: what is allowed and the ceiling in black, each attack in its look.

    Returns:
        Lines for the legend.
    """
    common = rows.unique(along).sort(along)
    top = style.REACH * max(common["epsilon_theory"].max(), common["epsilon_ceiling"].max())
    trials = rows["trials"][0]
    lines = [
        *axes.plot(common[along], common["epsilon_theory"], label=style.ALLOWED, **style.THEORY),
        *axes.plot(
            common[along], common["epsilon_ceiling"], label=style.ceiling(trials), **style.CEILING
        ),
    ]
    for attack in rows["attack"].unique(maintain_order=True):
        look = style.ATTACKS[attack]
        line = rows.filter(attack=attack).sort(along)
        x, lower = line[along], line["epsilon_lower"]
        axes.fill_between(
            x, lower, line["epsilon_upper"].fill_null(top), color=look.colour, alpha=0.12, lw=0
        )
        lines += axes.plot(x, lower, color=look.colour, marker=look.marker, ls="-", label=attack)
        axes.plot(x, line["epsilon_exact_best"], color=look.colour, **style.EXACT)
    axes.set(xlabel=ALONG[along], xscale="log", ylim=(0.0, top))
    # Only ticks that were measured.
    axes.set_xticks(common[along].to_list(), [f"{tick:g}" for tick in common[along]])
    axes.xaxis.set_minor_locator(NullLocator())
    return lines


with job(snakemake):
    table = tables.read(snakemake.input[0])
    settings = snakemake.params.mechanism
    noise, q = settings["noise_multiplier"], settings["participation"]
    datasets = table["dataset"].unique(maintain_order=True).to_list()
    figure, axes = style.panels(len(datasets), 2, 3.4, share_x=False, share_y=False)
    for (left, right), dataset in zip(axes, datasets, strict=True):
        rows = table.filter(dataset=dataset)
        lines = draw(left, rows.filter(participation=q), "noise_multiplier")
        draw(right, rows.filter(noise_multiplier=noise), "participation")
        left.set_title(f"{dataset}, q = {q:g}")
        right.set_title(f"{dataset}, σ = {noise:g}")
        left.set_ylabel(style.epsilon(settings["delta"]))
    measured = Line2D(
        [], [], color=style.GREY, marker=".", label="by trials, band to the upper 95% end"
    )
    exact = Line2D([], [], color=style.GREY, label="exact, best threshold", **style.EXACT)
    style.legend(figure, [*lines, measured, exact], 3)
    style.save(figure, snakemake.output, "ε over noise and participation")
