"""The paper's Table 4 as a dot plot: what each attack proved of each canary, by trials and exactly.

Output: attacks.svg and attacks.pdf, a panel for every dataset and bank; ε is dimensionless. Where
the dataset, bank and encoder are the paper's, its values stand beside ours.
"""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

import cells
import style
from ends import upper_end
from job import job

# Two lanes of an attack: counted above, exact below.
LANES = (
    ("lower", -0.17, style.VERMILION, "o", "by trials (ε_lower)"),
    ("exact_best", 0.17, style.BLUE, "D", "exact, best threshold (ε_exact_best)"),
)
INTERVAL = {"color": style.VERMILION, "alpha": 0.28, "lw": 5, "solid_capstyle": "butt", "zorder": 1}
PAPER = {"ls": "", "marker": "x", "ms": 6, "mew": 1.4, "color": style.BLACK}


def interval(audit: cells.Audit, end: float) -> tuple[float, float]:
    """Return both confidence ends of a counted ε; `end` where nothing bounds it."""
    counts, settings = audit["counts"], audit["settings"]
    upper = upper_end(**counts, delta=settings["delta"], tail=settings["tail"])
    return audit["epsilon"]["lower"], end if upper is None else upper


def draw(axes: Axes, arm: cells.Arm, paper: dict[str, float], end: float) -> None:
    """Draw one panel; the axis ends at `end`."""
    for row, (attack, canaries) in enumerate(arm.items()):
        for name, lane, colour, marker, _ in LANES:
            values = [audit["epsilon"][name] for audit in canaries]
            at = row + lane
            axes.plot([min(values), max(values)], [at, at], color=colour, lw=1, alpha=0.5)
            axes.plot(values, [at] * len(values), ".", ms=4, color=colour, alpha=0.6)
            axes.plot(max(values), at, marker, ms=6, mfc="white", mec=colour, mew=1.4)
        counted = max(canaries, key=lambda audit: audit["epsilon"]["lower"])
        at = row + LANES[0][1]
        axes.plot(interval(counted, end), [at, at], **INTERVAL)
        if attack in paper:
            axes.plot(paper[attack], at, **PAPER)
    axes.set_yticks(range(len(arm)), arm.keys())
    axes.tick_params("y", length=0)
    axes.grid(visible=False, axis="y")


def legend(with_paper: bool) -> list[Line2D]:
    """Return what the marks mean."""
    marks = [
        Line2D([], [], color=colour, ls="", marker=marker, ms=6, mfc="white", mew=1.4,
               label=f"largest of the canaries, {label}")
        for _, _, colour, marker, label in LANES
    ]  # fmt: skip
    dots = Line2D([], [], color=style.GREY, marker=".", lw=1, label="every canary")
    band = Line2D([], [], label="from ε_lower to its upper confidence end", **INTERVAL)
    paper = [Line2D([], [], label="the paper's value (arXiv 2609.13499)", **PAPER)]
    return [*marks, dots, band, *(paper if with_paper else [])]


with job(snakemake):
    arms = cells.arms(snakemake.input.audits)
    one = cells.any_of(arms)
    epsilon, trials = one["epsilon"], one["counts"]["trials"]
    paper = pl.read_csv(snakemake.input.paper).filter(table="table4", encoder=one["encoder"])
    datasets, banks = cells.layout(arms)
    most = max(len(arm) for arm in arms.values())
    figure, axes = style.panels(len(datasets), len(banks), 1.3 + 0.36 * most)
    for (dataset, bank), arm in arms.items():
        panel = axes[datasets.index(dataset)][banks.index(bank)]
        lines = style.limits(panel, epsilon["epsilon_theory"], epsilon["ceiling"], trials)
        known = paper.filter(dataset=dataset, bank=bank).select("attack", "epsilon_lower")
        draw(panel, arm, dict(known.iter_rows()), panel.get_xlim()[1])
        panel.set_title(f"{dataset}, bank {bank}")
    for panel in axes[0]:
        panel.set_ylim(most - 0.5, -0.5)
    for panel in axes[-1]:
        panel.set_xlabel(style.epsilon(one["settings"]["delta"], "ε of one release"))
    with_paper = not paper.filter(pl.col("dataset").is_in(datasets)).is_empty()
    style.legend(figure, [*legend(with_paper), *lines], 2)
    style.save(figure, snakemake.output, "What each attack proves")
