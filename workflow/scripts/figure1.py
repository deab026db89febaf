"""Figure 1: ε measured and allowed, against the noise multiplier σ and the participation q.

Output: figure1.svg and figure1.pdf, a row of two panels for every dataset. Lines with marks are
lower bounds by trials, with the band between both 95% Clopper-Pearson ends; dotted ones are exact.
"""

import matplotlib
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artifacts import checked, writing
from job import job

# Text stays text, so that a figure can be searched and read aloud.
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "figure1", "font.size": 9})

# Okabe and Ito's colours, told apart also by markers.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#882255")
MARKERS = "osD^vPX*"
AXES = {
    "noise_multiplier": "noise multiplier σ",
    "participation": "participation q",
}


def panel(axes: Axes, rows: pl.DataFrame, along: str) -> None:
    """Draw one sweep: the proof in black, each attack in its colour."""
    axes.set(xlabel=AXES[along], xscale="log", ylabel="ε")
    proof = rows.unique(along).sort(along)
    axes.plot(proof[along], proof["epsilon_theory"], "k--", lw=1.2, label="allowed")
    top = 1.08 * proof["epsilon_theory"].max()
    attacks = rows["attack"].unique(maintain_order=True)
    for attack, colour, marker in zip(attacks, COLOURS, MARKERS):
        line = rows.filter(attack=attack).sort(along)
        x = line[along]
        axes.fill_between(
            x, line["epsilon_lower"], line["epsilon_upper"].fill_null(top), color=colour,
            alpha=0.15, lw=0,
        )  # fmt: skip
        axes.plot(x, line["epsilon_lower"], marker, ls="-", ms=4, lw=1, color=colour)
        axes.plot(x, line["epsilon_exact_best"], ls=":", lw=1.6, color=colour)
        # For the legend alone.
        axes.plot([], [], marker, ls="-", ms=4, color=colour, label=attack)
    # Only ticks that were measured.
    axes.set_xticks(proof[along].to_list(), [f"{tick:g}" for tick in proof[along]])
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.set_ylim(0, top)
    axes.grid(alpha=0.25)


with job(snakemake):
    table = pl.read_csv(checked(snakemake.input[0]))
    settings = snakemake.params.mechanism
    noise, q = settings["noise_multiplier"], settings["participation"]
    datasets = table["dataset"].unique(maintain_order=True).to_list()
    figure = Figure(figsize=(9, 3.4 * len(datasets) + 0.6), layout="constrained")
    panels = figure.subplots(len(datasets), 2, squeeze=False)
    for (left, right), dataset in zip(panels, datasets):
        rows = table.filter(dataset=dataset)
        panel(left, rows.filter(participation=q), "noise_multiplier")
        panel(right, rows.filter(noise_multiplier=noise), "participation")
        left.set_title(f"{dataset}, q = {q:g}")
        right.set_title(f"{dataset}, σ = {noise:g}")
    left.plot([], [], "k:", lw=1.6, label="exact, best threshold")
    left.plot([], [], "k.-", lw=1, label=f"by {table['trials'][0]:,} trials, 95% band")
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    for path in snakemake.output:
        kind = path.rsplit(".", 1)[1]
        with writing(path) as temporary:
            dated = {"Date": None} if kind == "svg" else {"CreationDate": None}
            figure.savefig(temporary, format=kind, metadata=dated)
