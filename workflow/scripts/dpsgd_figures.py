"""The findings on substitute adjacency as figures.

Output, each as svg and pdf: substitute_dpsgd (audited ε against steps, by model and q), and with
its name extended: _worst_case (S1's exact ε beside the proofs, and what the final sum hides), _gdp
(the ε of a Gaussian curve through S1's exact rates, less ε_S), _accuracy (with and without the
canary). ε are dimensionless at the config's δ, accuracies are shares of the test records.
"""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

import style
import tables
from artifacts import load_json
from job import job

SCENARIOS = {
    "S1": style.Look(style.BLACK, "-", "o"),
    "S2": style.Look(style.VERMILION, "-", "s"),
    "S3": style.Look(style.BLUE, "-", "^"),
    "S4": style.Look(style.GREEN, "-", "v"),
    "S5": style.Look(style.PURPLE, "-", "D"),
}
PROOFS = {
    "add_remove": {"color": style.BLACK, "ls": "--", "lw": 1.1, "label": "ε_AR, add/remove"},
    "substitute": {"color": style.BLACK, "ls": "-", "lw": 1.1, "label": "ε_S, substitute"},
    "group": {"color": style.BLACK, "ls": ":", "lw": 1.3, "label": "2 ε_AR(δ′), group privacy"},
}
SHARES = (style.BLUE, style.VERMILION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY)
TITLES = {"worst_case": "worst case"}


def proofs(axes: Axes, rows: pl.DataFrame, shown: tuple[str, ...]) -> None:
    """Draw what the proofs allow, from the rows of one q."""
    rows = rows.unique("steps").sort("steps")
    for adjacency in shown:
        axes.plot(rows["steps"], rows[f"epsilon_{adjacency}"], zorder=2.5, **PROOFS[adjacency])


def steps(axes: Axes, table: pl.DataFrame) -> None:
    """Mark the checkpoints on a logarithmic axis."""
    at = table["steps"].unique().sort().to_list()
    axes.set_xscale("log")
    # Each decade's 1, 2 and 5 leave room for the numbers.
    axes.set_xticks(at, [str(step) for step in at], fontsize=7)
    axes.xaxis.set_minor_locator(NullLocator())


def audits(table: pl.DataFrame, models: list[str], shares: list[float], delta: str) -> Figure:
    """Rows are models, columns are q; filled marks assume a Gaussian curve, hollow ones nothing."""
    figure, axes = style.panels(len(models), len(shares), 2.6)
    for row, model in zip(axes, models):
        for panel, share in zip(row, shares):
            chosen = table.filter(model=model, participation=share)
            for (scenario,), lines in sorted(chosen.group_by("scenario")):
                lines, look = lines.sort("steps"), SCENARIOS[scenario]
                if lines["epsilon_exact"].null_count() == 0:
                    panel.plot(lines["steps"], lines["epsilon_exact"], **style.OWN)
                panel.plot(lines["steps"], lines["epsilon_if_gdp"], look.line, lw=1,
                           marker=look.marker, color=look.colour)  # fmt: skip
                panel.plot(lines["steps"], lines["epsilon_lower"], ls=style.DOTTED, lw=1,
                           marker=look.marker, mfc="white", color=look.colour)  # fmt: skip
            proofs(panel, chosen, ("add_remove", "substitute"))
            steps(panel, table)
            panel.set_title(f"{TITLES.get(model, model)}, q = {share:g}")
            panel.set_ylim(bottom=-0.1)
        row[0].set_ylabel(f"ε at δ = {delta} (dimensionless)")
    for panel in axes[-1]:
        panel.set_xlabel("T (steps)")
    kinds = [
        *(Line2D([], [], **PROOFS[adjacency]) for adjacency in ("add_remove", "substitute")),
        Line2D([], [], **style.OWN, label="S1 without trials"),
        Line2D([], [], color=style.GREY, marker="o", lw=1, label="lower bound if μ-GDP holds"),
        Line2D([], [], color=style.GREY, marker="o", mfc="white", ls=style.DOTTED, lw=1,
               label="lower bound, no assumption"),
    ]  # fmt: skip
    names = [
        Line2D([], [], color=look.colour, marker=look.marker, ls="", label=name)
        for name, look in SCENARIOS.items()
        if name in table["scenario"]
    ]
    style.legend(figure, [*kinds, *names], 5)
    return figure


def worst_case(table: pl.DataFrame, shares: list[float], delta: str) -> Figure:
    """Above, S1's exact ε between the proofs; below, what the final sum hides of ε_S."""
    exact, look = table.filter(scenario="S1"), SCENARIOS["S1"]
    figure, axes = style.panels(2, len(shares), 2.6, share_y=False)
    for column, share in enumerate(shares):
        above, below = axes[0][column], axes[1][column]
        rows = exact.filter(participation=share).sort("steps")
        above.plot(rows["steps"], rows["epsilon_exact"], **style.OWN, label="S1 without trials")
        above.plot(rows["steps"], rows["epsilon_lower"], ls=style.DOTTED, marker=look.marker,
                   mfc="white", color=style.VERMILION,
                   label="S1 by trials, no assumption")  # fmt: skip
        proofs(above, rows, tuple(PROOFS))
        above.set_title(f"q = {share:g}")
        above.set_ylim(bottom=0.0)
        below.plot(rows["steps"], rows["epsilon_substitute"] - rows["epsilon_exact"], "s-",
                   color=style.BLUE, label="hidden by the sum: ε_S − ε of S1")  # fmt: skip
        below.axhline(0.0, color=style.BLACK, lw=0.8)
        below.set_xlabel("T (steps)")
        steps(below, table)
    # One scale for what is hidden, so that panels compare.
    hidden = (exact["epsilon_substitute"] - exact["epsilon_exact"]).max()
    for below in axes[1]:
        below.set_ylim(-0.05 * hidden, 1.1 * hidden)
    axes[0][0].set_ylabel(f"ε at δ = {delta} (dimensionless)")
    axes[1][0].set_ylabel("difference of ε (dimensionless)")
    handles = [line for row in (axes[0][0], axes[1][0]) for line in row.get_lines()]
    style.legend(figure, [line for line in handles if not line.get_label().startswith("_")], 3)
    return figure


def gdp(accounts: list[dict]) -> Figure:
    """The ε of the Gaussian curve through S1's exact point at each FPR, less ε_S; first step."""
    figure, ((axes,),) = style.panels(1, 1, 3.4)
    for account, colour, line in zip(accounts, SHARES, ("-", "--", "-.", ":", "-", "--")):
        first = account["rows"][0]
        points = first["gdp"]
        axes.plot(
            [point["fpr"] for point in points],
            [point["epsilon_if_gdp"] - first["substitute"]["estimate"] for point in points],
            color=colour, ls=line,
            label=f"q = {account['participation']:g}, σ = {account['noise_multiplier']:.3g}",
        )  # fmt: skip
    axes.axhline(0.0, color=style.BLACK, lw=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("false positive rate of the threshold (probability)")
    axes.set_ylabel("ε if μ-GDP − ε_S (dimensionless)")
    axes.set_title(f"S1, T = {first['steps']}: above 0, assuming μ-GDP overstates the leakage",
                   fontsize=8)  # fmt: skip
    style.legend(figure, axes.get_legend_handles_labels()[0], 3)
    return figure


def accuracy(table: pl.DataFrame, models: list[str], shares: list[float]) -> Figure:
    """After the last step, a panel a model: each scenario beside training without the canary."""
    last = table.filter(pl.col("steps") == table["steps"].max(), pl.col("accuracy").is_not_null())
    figure, (axes,) = style.panels(1, len(models), 2.8)
    for panel, model in zip(axes, models):
        for at, share in enumerate(shares):
            chosen = last.filter(model=model, participation=share).sort("scenario")
            panel.plot([at - 0.35, at + 0.35], [chosen["accuracy_without"][0]] * 2, **style.OWN)
            for number, row in enumerate(chosen.iter_rows(named=True)):
                look = SCENARIOS[row["scenario"]]
                panel.plot(at - 0.24 + 0.16 * number, row["accuracy"], look.marker, ms=5,
                           color=look.colour)  # fmt: skip
        panel.set_xticks(range(len(shares)), [f"q = {share:g}" for share in shares])
        panel.set_title(model)
        panel.grid(visible=False, axis="x")
    axes[0].set_ylabel(f"test accuracy after {table['steps'].max()} steps (share)")
    names = [
        Line2D([], [], color=look.colour, marker=look.marker, ls="", label=f"with {name}'s canary")
        for name, look in SCENARIOS.items()
        if name in last["scenario"]
    ]
    style.legend(figure, [Line2D([], [], **style.OWN, label="without the canary"), *names], 5)
    return figure


with job(snakemake):
    table = tables.read(snakemake.input.table)
    accounts = [load_json(path) for path in snakemake.input.accounts]
    models = list(dict.fromkeys(table["model"]))
    shares = list(dict.fromkeys(table["participation"]))
    trained = [model for model in models if model != "worst_case"]
    delta = style.power(table["delta"][0])
    drawn = {
        "audits": (audits(table, models, shares, delta), "Audited ε of DP-SGD against steps"),
        "worst_case": (worst_case(table, shares, delta), "The worst case without trials"),
        "gdp": (gdp(accounts), "Where assuming μ-GDP overstates the leakage"),
        "accuracy": (accuracy(table, trained, shares), "Accuracy with and without the canary"),
    }
    for name, (figure, title) in drawn.items():
        style.save(figure, getattr(snakemake.output, name), title)
