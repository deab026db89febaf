"""Figure 2: usefulness of the bank, and ε measured and allowed, against rounds.

Output: figure2.svg and figure2.pdf, a row of two panels for every dataset; MAUVE is a score from 0
to 1, ε is dimensionless. Lines are means over transcripts and audited runs; bands reach from the
lowest to the highest end of MAUVE's intervals, and from the least to the largest ε.
"""

import polars as pl
from matplotlib.axes import Axes

import style
import tables
from job import job

RUNS = {
    "noiseless": ("without noise or probes", style.Look(style.GREY, style.DOTTED, "s")),
    "unaudited": ("without probes", style.Look(style.BLUE, style.DASHED, "o")),
    "audited": ("audited", style.Look(style.VERMILION, "-", "^")),
}
MEASURED = {
    "epsilon_exact_best": ("measured, exact, best threshold", style.Look(style.GREEN, "-", "s")),
    "epsilon_exact": ("measured, exact, calibrated threshold", style.Look(style.SKY, "-", "o")),
    "epsilon_lower": ("measured, by trials", style.Look(style.VERMILION, "-", "^")),
}


def line(axes: Axes, rows: pl.DataFrame, label: str, look: style.Look) -> None:
    """Draw a line and its band from columns round, value, low and high."""
    axes.plot(
        rows["round"], rows["value"], color=look.colour, ls=look.line, marker=look.marker,
        label=label,
    )  # fmt: skip
    axes.fill_between(rows["round"], rows["low"], rows["high"], color=look.colour, alpha=0.12, lw=0)


def by_round(rows: pl.DataFrame, value: str, low: str, high: str) -> pl.DataFrame:
    """Return the mean of a column and the ends of its band, by round."""
    found = rows.group_by("round").agg(value=pl.mean(value), low=pl.min(low), high=pl.max(high))
    return found.sort("round")


def usefulness(axes: Axes, table: pl.DataFrame) -> None:
    for kind, (label, look) in RUNS.items():
        rows = table.filter(kind=kind)
        if not rows.is_empty():
            line(axes, by_round(rows, "mauve", "mauve_low", "mauve_high"), label, look)
    # Room for the legend above every line.
    axes.set(ylabel="MAUVE of the bank (0 to 1, encoder features)", ylim=(0.0, 1.35))
    axes.set_yticks([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    axes.legend(loc="upper right")


def privacy(axes: Axes, table: pl.DataFrame, delta: float, trials: int) -> None:
    rows = table.filter(kind="audited")
    for name, label, look in (
        ("epsilon_theory", style.ALLOWED, style.THEORY),
        ("epsilon_ceiling", style.ceiling(trials), style.CEILING),
    ):
        drawn = by_round(rows, name, name, name)
        axes.plot(drawn["round"], drawn["value"], label=label, **look)
    for name, (label, look) in MEASURED.items():
        line(axes, by_round(rows, name, name, name), label, look)
    top = rows.select(pl.max("epsilon_theory", "epsilon_ceiling")).max_horizontal().item()
    axes.set(ylabel=style.epsilon(delta, "ε of all releases so far"), ylim=(0.0, 1.5 * top))
    axes.legend(loc="upper left")


with job(snakemake):
    table = tables.read(snakemake.input.table).with_columns(
        kind=pl.when(pl.col("run").is_in(["unaudited", "noiseless"]))
        .then(pl.col("run"))
        .otherwise(pl.lit("audited"))
    )
    datasets = table["dataset"].unique(maintain_order=True).to_list()
    figure, axes = style.panels(len(datasets), 2, 3.6, share_x=False, share_y=False)
    for (left, right), dataset in zip(axes, datasets, strict=True):
        rows = table.filter(dataset=dataset)
        usefulness(left, rows)
        privacy(right, rows, snakemake.params.delta, snakemake.params.trials)
        left.set_title(f"{dataset}: usefulness")
        right.set_title(f"{dataset}: privacy")
        for panel in (left, right):
            panel.set(xlabel="round (releases so far)", xticks=range(int(rows["round"].max()) + 1))
    style.save(figure, snakemake.output, "Usefulness and ε over rounds")
