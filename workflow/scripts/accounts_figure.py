"""What the proofs allow beside what the attacks measured, a panel for each question.

Output: accounts.svg and accounts.pdf. Filled marks are exact, hollow ones lower bounds by trials.
"""

import matplotlib
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from artifacts import checked, writing
from job import job

# Text stays text, so that a figure can be searched and read aloud.
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "accounts", "font.size": 9})

ACCOUNTS = {
    "add_remove": ("add/remove", "#000000", "-"),
    "substitute_votes": ("substitute, votes", "#0072B2", "-"),
    "substitute": ("substitute, any vectors", "#D55E00", "--"),
    "group": ("group privacy, 2·ε_AR(δ′)", "#999999", ":"),
}
# Inches: a row of a panel, and what a panel needs besides.
ROW, FRAME = 0.24, 0.75


def panel(axes: Axes, rows: pl.DataFrame, several: bool) -> None:
    """Draw one question."""
    axes.set_title(rows["question"][0], loc="left", fontweight="bold")
    for account in rows.filter(source="proved").iter_rows(named=True):
        label, colour, line = ACCOUNTS[account["name"]]
        axes.axvline(account["epsilon"], color=colour, ls=line, lw=1.4, label=label)
    attacks = rows.filter(source="measured")
    names = [
        f"{row['dataset']}: {row['name']}" if several else row["name"]
        for row in attacks.iter_rows(named=True)
    ]
    places = range(len(names))
    axes.hlines(places, attacks["epsilon_low"], attacks["epsilon"], color="#009E73", lw=1)
    axes.plot(attacks["epsilon"], places, "o", color="#009E73", label="measured, exact")
    axes.plot(attacks["epsilon_low"], places, "o", color="#009E73", mfc="white", label="by trials")
    axes.set_yticks(places, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x", alpha=0.25)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))


with job(snakemake):
    table = pl.read_csv(checked(snakemake.input[0]))
    several = table["dataset"].n_unique() > 2
    questions = [rows for _, rows in table.group_by("question", maintain_order=True)]
    heights = [ROW * max(len(rows) - 1, 5) + FRAME for rows in questions]
    figure = Figure(figsize=(9, sum(heights)), layout="constrained")
    panels = figure.subplots(len(questions), 1, sharex=True, height_ratios=heights)
    for axes, rows in zip(panels, questions):
        panel(axes, rows, several)
    panels[-1].set(xlabel=f"ε at δ = {snakemake.params.delta}", xlim=(0, None))
    for path in snakemake.output:
        kind = path.rsplit(".", 1)[1]
        with writing(path) as temporary:
            dated = {"Date": None} if kind == "svg" else {"CreationDate": None}
            figure.savefig(temporary, format=kind, metadata=dated)
