"""The findings on substitute adjacency as figures.

Output: substitute_dpsgd.svg (audited ε against steps, by model and q), and with its name extended:
_worst_case.svg (S1's exact ε beside the proofs, and what the final sum hides), _gdp.svg (the ε of a
Gaussian curve through S1's exact rates, and where it passes the truth), _accuracy.svg (with and
without the canary).
"""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import polars as pl

from artifacts import load_json, writing
from job import job

COLOURS = {"S1": "#444444", "S2": "#d55e00", "S3": "#0072b2", "S4": "#009e73", "S5": "#cc79a7"}
PROOFS = {"add_remove": ("--", "add/remove"), "substitute": ("-", "substitute"),
          "group": (":", "group privacy")}  # fmt: skip
TITLES = {"worst_case": "worst case (S1)"}
plt.rcParams.update(
    {
        # The same file for the same numbers.
        "svg.hashsalt": "substitute_dpsgd",
        "font.size": 8,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)


def save(figure, path):
    """Write one figure without its date."""
    with writing(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def proofs(axis, rows, shown=tuple(PROOFS)):
    """Draw what the proofs allow, from the rows of one q."""
    rows = rows.unique("steps").sort("steps")
    for adjacency in shown:
        style, name = PROOFS[adjacency]
        axis.plot(rows["steps"], rows[f"epsilon_{adjacency}"], style, color="black", lw=1,
                  label=f"ε {name}")  # fmt: skip


def audits(table, models, shares):
    """Rows are models, columns are q; filled marks assume a Gaussian curve, hollow ones nothing."""
    figure, axes = plt.subplots(
        len(models), len(shares), figsize=(3 * len(shares), 2.4 * len(models)),
        sharex=True, sharey=True, squeeze=False,
    )  # fmt: skip
    for row, model in zip(axes, models):
        for axis, share in zip(row, shares):
            chosen = table.filter(model=model, participation=share)
            proofs(axis, chosen, ("add_remove", "substitute"))
            for (scenario,), lines in sorted(chosen.group_by("scenario")):
                lines, colour = lines.sort("steps"), COLOURS[scenario]
                axis.plot(lines["steps"], lines["epsilon_if_gdp"], "o-", ms=3, lw=1, color=colour,
                          label=f"{scenario}, if μ-GDP")  # fmt: skip
                axis.plot(lines["steps"], lines["epsilon_lower"], "o:", ms=3, lw=1, mfc="white",
                          color=colour, label=f"{scenario}, no assumption")  # fmt: skip
                if lines["epsilon_exact"].null_count() == 0:
                    axis.plot(lines["steps"], lines["epsilon_exact"], "-", lw=2, alpha=0.4,
                              color=colour, label=f"{scenario}, exact")  # fmt: skip
            axis.set_xscale("log")
            axis.set_title(f"{TITLES.get(model, model)}, q = {share:g}")
        row[0].set_ylabel("ε")
        row[-1].legend(fontsize=6, loc="center left", bbox_to_anchor=(1.02, 0.5))
    for axis in axes[-1]:
        axis.set_xlabel("steps T")
    return figure


def worst_case(table, shares):
    """Above, S1's exact ε between the proofs; below, what the final sum hides of ε_S."""
    exact = table.filter(scenario="S1")
    figure, axes = plt.subplots(2, len(shares), figsize=(3 * len(shares), 4.8), sharex=True,
                                sharey="row", squeeze=False)  # fmt: skip
    for (above, below), share in zip(axes.T, shares):
        rows = exact.filter(participation=share).sort("steps")
        proofs(above, rows)
        above.plot(rows["steps"], rows["epsilon_exact"], "o-", ms=3, color=COLOURS["S1"],
                   label="S1, exact, final sum")  # fmt: skip
        above.plot(rows["steps"], rows["epsilon_lower"], "o:", ms=3, mfc="white",
                   color=COLOURS["S1"], label="S1, trials, no assumption")  # fmt: skip
        above.set_title(f"q = {share:g}")
        below.plot(rows["steps"], rows["epsilon_substitute"] - rows["epsilon_exact"], "s-", ms=3,
                   color=COLOURS["S2"])  # fmt: skip
        below.set_xlabel("steps T")
        below.set_xscale("log")
    axes[0, 0].set_ylabel("ε")
    axes[1, 0].set_ylabel("ε_S − exact ε of the sum")
    axes[0, -1].legend(fontsize=6, loc="center left", bbox_to_anchor=(1.02, 0.5))
    return figure


def gdp(accounts):
    """The ε of the Gaussian curve through S1's exact point at each FPR, less ε_S; first step."""
    figure, axis = plt.subplots(figsize=(4.5, 3))
    for account in accounts:
        first = account["rows"][0]
        points = first["gdp"]
        axis.plot(
            [point["fpr"] for point in points],
            [point["epsilon_if_gdp"] - first["substitute"]["estimate"] for point in points],
            label=f"q = {account['participation']:g}, T = {first['steps']}",
        )
    axis.axhline(0, color="black", lw=1)
    axis.set_xscale("log")
    axis.set_xlabel("false positive rate of the threshold")
    axis.set_ylabel("ε if μ-GDP − ε_S")
    axis.set_title("above 0, assuming μ-GDP overstates the leakage")
    axis.legend()
    return figure


def accuracy(table, models, shares):
    """After the last step, by model and q: the worst of all scenarios beside training without."""
    last = table.filter(pl.col("steps") == table["steps"].max(), pl.col("accuracy").is_not_null())
    figure, axis = plt.subplots(figsize=(1.2 * len(models) * len(shares), 2.6))
    labels = []
    for at, (model, share) in enumerate((m, q) for m in models for q in shares):
        chosen = last.filter(model=model, participation=share)
        axis.bar(at - 0.2, chosen["accuracy"].min(), 0.4, color=COLOURS["S2"],
                 label="lowest with a canary" if at == 0 else None)  # fmt: skip
        axis.bar(at + 0.2, chosen["accuracy_without"][0], 0.4, color="#999999",
                 label="without" if at == 0 else None)  # fmt: skip
        labels.append(f"{model}\nq = {share:g}")
    axis.set_xticks(range(len(labels)), labels, fontsize=6)
    axis.set_ylabel("test accuracy")
    axis.legend(loc="lower right")
    return figure


with job(snakemake):
    table = pl.read_csv(snakemake.input.table)
    accounts = [load_json(path) for path in snakemake.input.accounts]
    models = list(dict.fromkeys(table["model"]))
    shares = list(dict.fromkeys(table["participation"]))
    trained = [model for model in models if model != "worst_case"]
    save(audits(table, models, shares), snakemake.output.audits)
    save(worst_case(table, shares), snakemake.output.worst_case)
    save(gdp(accounts), snakemake.output.gdp)
    save(accuracy(table, trained, shares), snakemake.output.accuracy)
