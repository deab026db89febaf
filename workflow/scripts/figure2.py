"""Figure 2: usefulness of the bank, and ε measured and allowed, against rounds.

Output: figure2.svg and figure2.pdf, a row of two panels for every dataset. Lines are means over
transcripts and audited runs; bands reach from the lowest to the highest end of MAUVE's intervals,
and from the least to the largest ε.
"""

import matplotlib
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artifacts import checked, writing
from job import job

# Text stays text, so that a figure can be searched and read aloud.
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "figure2", "font.size": 9})

# Okabe and Ito's colours, told apart also by markers and line styles.
RUNS = {
    "noiseless": ("without noise or probes", "#999999", "s", ":"),
    "unaudited": ("without probes", "#0072B2", "o", "--"),
    "audited": ("audited", "#D55E00", "^", "-"),
}
EPSILONS = {
    "epsilon_theory": ("allowed (the paper's accountant)", "#000000", None, "--"),
    "epsilon_exact_best": ("measured, exact, best threshold", "#009E73", "s", "-"),
    "epsilon_exact": ("measured, exact, calibrated threshold", "#56B4E9", "o", "-"),
    "epsilon_lower": ("measured, by trials", "#D55E00", "^", "-"),
}


def usefulness(axes: Axes, table: pl.DataFrame) -> None:
    for kind, (label, colour, marker, line) in RUNS.items():
        rows = table.filter(kind=kind)
        if rows.is_empty():
            continue
        by_round = rows.group_by("round", maintain_order=True)
        drawn = by_round.agg(pl.mean("mauve"), pl.min("mauve_low"), pl.max("mauve_high")).sort(
            "round"
        )
        axes.plot(drawn["round"], drawn["mauve"], line, color=colour, marker=marker, label=label)
        axes.fill_between(
            drawn["round"], drawn["mauve_low"], drawn["mauve_high"], color=colour, alpha=0.12, lw=0
        )
    axes.set(ylabel="MAUVE of the bank (encoder features)", ylim=(0, None))


def privacy(axes: Axes, table: pl.DataFrame, delta: str) -> None:
    rows = table.filter(kind="audited").group_by("round", maintain_order=True)
    for name, (label, colour, marker, line) in EPSILONS.items():
        drawn = rows.agg(pl.mean(name), low=pl.min(name), high=pl.max(name)).sort("round")
        axes.plot(drawn["round"], drawn[name], line, color=colour, marker=marker, label=label)
        axes.fill_between(
            drawn["round"], drawn["low"], drawn["high"], color=colour, alpha=0.12, lw=0
        )
    axes.set(ylabel=f"ε of all releases so far (δ = {delta})", ylim=(0, None))


with job(snakemake):
    table = pl.read_csv(checked(snakemake.input.table)).with_columns(
        kind=pl.when(pl.col("run").is_in(["unaudited", "noiseless"]))
        .then(pl.col("run"))
        .otherwise(pl.lit("audited"))
    )
    datasets = table["dataset"].unique(maintain_order=True).to_list()
    figure = Figure(figsize=(9, 3.4 * len(datasets)), layout="constrained")
    panels = figure.subplots(len(datasets), 2, squeeze=False)
    for (left, right), dataset in zip(panels, datasets):
        rows = table.filter(dataset=dataset)
        usefulness(left, rows)
        privacy(right, rows, snakemake.params.delta)
        left.set_title(f"{dataset}: usefulness")
        right.set_title(f"{dataset}: privacy")
        for axes in (left, right):
            axes.set(xlabel="round", xticks=range(int(rows["round"].max()) + 1))
            axes.grid(alpha=0.25)
            axes.legend(frameon=False, fontsize=8)
    for path in snakemake.output:
        kind = path.rsplit(".", 1)[1]
        with writing(path) as temporary:
            dated = {"Date": None} if kind == "svg" else {"CreationDate": None}
            figure.savefig(temporary, format=kind, metadata=dated)
