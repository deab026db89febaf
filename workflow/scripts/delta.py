"""What each attack gives away at other δ, beside what the mechanism itself gives away.

Output: delta.svg and delta.pdf, a panel for every dataset and bank; δ is a probability, ε is
dimensionless. A line is the most exposed canary of an attack at the configured δ.
"""

from matplotlib.axes import Axes

import cells
import population
import style
from job import job
from pe_core import best


def mechanism_curve(audit: cells.Audit) -> list[float]:
    """Return the mechanism's own ε at the δ of an audit's curve."""
    mechanism = population.mechanism(audit["settings"], audit["settings"]["population"])
    points = best.epsilon_curve(best.ideal_test(mechanism), audit["delta_curve"]["delta"])
    return [point.epsilon for point in points]


def draw(axes: Axes, arm: cells.Arm) -> None:
    """Draw one panel."""
    for attack, canaries in arm.items():
        look, curve = style.ATTACKS[attack], cells.most_exposed(canaries)["delta_curve"]
        axes.plot(curve["delta"], curve["epsilon"], color=look.colour, ls=look.line,
                  marker=look.marker, ms=3.5, label=attack)  # fmt: skip


with job(snakemake):
    arms = cells.arms(snakemake.input.audits)
    one = cells.any_of(arms)
    delta, epsilon, trials = one["settings"]["delta"], one["epsilon"], one["counts"]["trials"]
    allowed = mechanism_curve(one)
    datasets, banks = cells.layout(arms)
    figure, axes = style.panels(len(datasets), len(banks), 3.4)
    for (dataset, bank), arm in arms.items():
        panel = axes[datasets.index(dataset)][banks.index(bank)]
        panel.plot(one["delta_curve"]["delta"], allowed, label="the mechanism's own", **style.OWN)
        draw(panel, arm)
        if delta > 0.0:
            for name, mark, label in (
                ("epsilon_theory", "*", f"ε_theory at δ = {style.power(delta)}"),
                ("ceiling", "_", style.ceiling(trials)),
            ):
                panel.plot(
                    delta, epsilon[name], mark, ms=9, mew=1.4, color=style.BLACK, label=label
                )
        panel.set(title=f"{dataset}, bank {bank}", xscale="log", ylim=(0, None))
    for row in axes:
        row[0].set_ylabel("exact ε (dimensionless)")
    for panel in axes[-1]:
        panel.set_xlabel("δ (probability)")
    style.legend(figure, axes[0][0].get_legend_handles_labels()[0], 3)
    style.save(figure, snakemake.output, "ε over δ")
