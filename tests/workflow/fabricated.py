"""Made-up audits, and what reads the tables and figures made of them."""

import csv
import math
from typing import Any

import artifacts
from tests.workflow.scripted import MECHANISM

STEPS = (
    "mechanism",
    "canary",
    "traffic",
    "estimated weights",
    "calibrated threshold",
    "expected",
    "realised",
)
THEORY, CEILING = 1.695, 0.992
EVALUATION = {"trials": 1_000_000, "alpha": 0.05, "shrinkage": 0.1, "ridge": 1e-9}


def fabricated(bank: str, attack: str, canary: int, rungs: list[float]) -> dict[str, Any]:
    """Return an audit with the given ladder; other values follow from it."""
    above = [rungs[0], *rungs[:-1]]
    deltas = [10.0**exponent for exponent in range(-12, 0)]
    return {
        "dataset": "toy",
        "bank": bank,
        "encoder": "unit",
        "attack": attack,
        "canary": canary,
        "settings": {"population": 12, "tail": 0.0025, **MECHANISM, **EVALUATION},
        "inspected_positions": 3,
        "votes_on_inspected": 10,
        "votes": 40,
        "norm_ratio": 0.8,
        "unclipped_norm": 0.2,
        "separation": 0.8,
        "threshold": 2.0,
        "counts": {"true_positives": 300, "false_positives": 30, "trials": 1_000_000},
        "rates": {"fpr": 3e-5, "tpr": 3e-4, "fnr": 0.9997, "tnr": 0.99997, "relative_error": 1e-9},
        "best": {"threshold": 3.0, "branch": "above"},
        "epsilon": {
            "lower": rungs[6],
            "exact": rungs[4],
            "exact_best": rungs[3],
            "expected": rungs[5],
            "ceiling": CEILING,
            "parametric": 0.5,
            "epsilon_theory": THEORY,
            "epsilon_theory_low": 1.684,
            "epsilon_theory_estimate": 1.6845,
            "epsilon_theory_high": 1.685,
        },
        "ladder": [
            {"step": step, "epsilon": rung, "change": rung - up}
            for step, rung, up in zip(STEPS, rungs, above, strict=True)
        ],
        # Any falling curve, larger for a larger exact ε.
        "delta_curve": {
            "delta": deltas,
            "epsilon": [rungs[3] * -math.log10(delta) / 5.0 for delta in deltas],
        },
        # That of a perfect attack on a mechanism of a smaller separation.
        "trade_off": {
            "fpr": [1.0, 0.5, 0.1, 1e-3, 0.0],
            "fnr": [0.0, 0.5 - rungs[3] / 40, 0.9 - rungs[3] / 40, 0.998, 1.0],
        },
        "seconds": 0.1,
    }


def rows_of(path) -> list[dict[str, str]]:
    with artifacts.checked(path).open(newline="") as file:
        return list(csv.DictReader(file))


def verticals(axes) -> list[float]:
    """Return where lines run across a whole panel."""
    return sorted(line.get_xdata()[0] for line in axes.lines if list(line.get_ydata()) == [0, 1])
