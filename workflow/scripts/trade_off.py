"""Both error rates of each attack over all thresholds, beside the mechanism's own curve.

Output: trade_off.svg and trade_off.pdf, a row for every dataset and bank. On the left the trade-off
curve; on the right the same curves where the false positive rate is small, as true over false
positives, whose logarithm is an ε. Rates are probabilities. A curve is the most exposed canary of
an attack.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

import cells
import population
import style
from job import job
from pe_core import best

# Where the right panel begins: rarer events than this say nothing at δ of use.
RARE = 1e-6


def draw(left: Axes, right: Axes, fpr: np.ndarray, fnr: np.ndarray, **look: object) -> None:
    """Draw one curve in both panels."""
    left.plot(fpr, fnr, **look)
    seen = (fpr >= RARE) & (fpr < 1.0)
    right.plot(fpr[seen], (1.0 - fnr[seen]) / fpr[seen], **look)


def allowed(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest FNR that (ε, δ) allows at each FPR."""
    fpr = np.geomspace(RARE, 1.0, 401)
    fnr = np.maximum(1.0 - delta - np.exp(epsilon) * fpr, np.exp(-epsilon) * (1.0 - delta - fpr))
    return fpr, np.maximum(fnr, 0.0)


with job(snakemake):
    arms = cells.arms(snakemake.input.audits)
    one = cells.any_of(arms)
    settings = one["settings"]
    mechanism = population.mechanism(settings, settings["population"])
    _, own = best.trade_off(best.ideal_test(mechanism), RARE)
    theory = one["epsilon"]["epsilon_theory"]
    figure, axes = style.panels(len(arms), 2, 3.4, share_x=False, share_y=False)
    for (left, right), ((dataset, bank), arm) in zip(axes, arms.items(), strict=True):
        draw(left, right, *allowed(theory, settings["delta"]), **style.THEORY,
             label=f"allowed by ε_theory at δ = {style.power(settings['delta'])}")  # fmt: skip
        draw(left, right, own.fpr, own.fnr, **style.OWN, label="the mechanism's own")
        for attack, canaries in arm.items():
            look, curve = style.ATTACKS[attack], cells.most_exposed(canaries)["trade_off"]
            draw(left, right, np.array(curve["fpr"]), np.array(curve["fnr"]),
                 color=look.colour, ls=look.line, label=attack)  # fmt: skip
        left.set(title=f"{dataset}, bank {bank}", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        left.set_ylabel("false negative rate (probability)")
        right.set(title=f"{dataset}, bank {bank}: rare false positives", xscale="log", yscale="log")
        right.set_ylabel("true ÷ false positive rate (ratio)")
        right.set_xlim(RARE, 1.0)
        right.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        right.yaxis.set_major_formatter("{x:g}")
        right.yaxis.set_minor_locator(NullLocator())
    for panel in axes[-1]:
        panel.set_xlabel("false positive rate (probability)")
    style.legend(figure, axes[0][0].get_legend_handles_labels()[0], 3)
    style.save(figure, snakemake.output, "Error rates of each attack")
