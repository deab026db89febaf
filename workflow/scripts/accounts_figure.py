"""What the proofs allow beside what the attacks measured, a panel for each question.

Output: accounts.svg and accounts.pdf; ε is dimensionless. Filled marks are exact, hollow ones lower
bounds by trials.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import population
import style
import tables
from artifacts import load_json
from job import job
from pe_core import Mechanism, planning, swap
from pe_core.background import Background
from pe_core.linear_test import Rates
from pe_core.threshold import expected_bound

PROOFS = {
    "add_remove": ("add/remove, certified", {"color": style.SKY, "ls": "-"}),
    "substitute_votes": ("substitute, votes", {"color": style.BLUE, "ls": "-"}),
    "substitute": ("substitute, any vectors", {"color": style.VERMILION, "ls": style.DASHED}),
    "group": ("group privacy, 2·ε_AR(δ′)", {"color": style.GREY, "ls": style.DOTTED}),
}
# Inches: a row of a panel, and what a panel needs besides.
ROW, FRAME = 0.24, 0.75
WIDTH = 2 * style.PANEL_WIDTH


def swap_ceiling(mechanism: Mechanism, trials: int, tail: float) -> float:
    """Return what an ideal attack is expected to prove of two users without a vote in common."""
    first, second = mechanism.clip * np.eye(2)
    noise = (mechanism.clip * mechanism.noise_multiplier) ** 2
    score = swap.SwapScore.fit(first, second, Background(np.zeros(2), noise * np.eye(2)), mechanism)
    nobody = np.zeros((0, 2))
    fixed = swap.calibrate(score, nobody, first, second, mechanism, trials, tail)
    rates = swap.plane_test(score, nobody, first, second, mechanism).rates(fixed)
    whole = Rates(
        rates.fpr, rates.tpr, 1.0 - rates.fpr, 1.0 - rates.tpr, np.full_like(rates.fpr, rates.error)
    )
    return float(expected_bound(whole, trials, mechanism.delta, tail).max())


def ceilings(params: Any, mechanism: Mechanism) -> list[tuple[float, int]]:
    """Return the ceiling and its trials for each question: of membership, then of two users."""
    alpha, trials = params.evaluation["alpha"], params.evaluation["trials"]
    return [
        (planning.ceiling(mechanism, trials, alpha / (4 * params.canaries)), trials),
        (
            swap_ceiling(mechanism, params.swap["trials"], alpha / (4 * params.swap["pairs"])),
            params.swap["trials"],
        ),
    ]


def panel(axes: Axes, rows: pl.DataFrame, several: bool) -> None:
    """Draw one question: its proofs, and a lane for each attack."""
    axes.set_title(rows["question"][0], loc="left", fontweight="bold")
    for account in rows.filter(source="proved").iter_rows(named=True):
        label, look = PROOFS[account["name"]]
        axes.axvline(account["epsilon"], label=label, **look)
    attacks = rows.filter(source="measured")
    names = [
        f"{row['dataset']}: {row['name']}" if several else row["name"]
        for row in attacks.iter_rows(named=True)
    ]
    lanes = range(len(names))
    dots: Mapping[str, Any] = {"ls": "", "marker": "o", "color": style.GREEN}
    axes.hlines(lanes, attacks["epsilon_low"], attacks["epsilon"], color=style.GREEN, lw=1)
    axes.plot(attacks["epsilon"], lanes, label="measured, exact, best threshold", **dots)
    axes.plot(attacks["epsilon_low"], lanes, mfc="white", label="measured, by trials", **dots)
    axes.set_yticks(lanes, names)
    axes.tick_params("y", length=0)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")


with job(snakemake):
    table = tables.read(snakemake.input.table)
    theory = load_json(snakemake.input.accounting)["epsilon_theory"]
    several = table["dataset"].n_unique() > 2
    mechanism = population.mechanism(snakemake.params.mechanism, 0)
    # The question of membership is the first, and the only one where there is no pair to swap.
    questions = [rows for _, rows in table.group_by("question", maintain_order=True)]
    heights = [ROW * max(len(rows) - 1, 7) + FRAME for rows in questions]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    panels = figure.subplots(len(questions), 1, sharex=True, height_ratios=heights)
    for axes, rows in zip(panels, questions, strict=True):
        panel(axes, rows, several)
    panels[0].axvline(theory, label=style.ALLOWED, **style.THEORY)
    for axes, (ceiling, trials) in zip(panels, ceilings(snakemake.params, mechanism), strict=True):
        axes.axvline(ceiling, label=style.ceiling(trials), **style.CEILING)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    panels[-1].set_xlabel(style.epsilon(mechanism.delta))
    panels[-1].set_xlim(0.0, None)
    style.save(figure, snakemake.output, "What proofs allow and attacks measure")
