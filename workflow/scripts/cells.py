"""The cells of the grid for figures: by dataset and bank, then by attack, then by canary."""

from collections.abc import Iterable
from typing import Any

from audits import load_audit

Audit = dict[str, Any]
Arm = dict[str, list[Audit]]


def arms(paths: Iterable[str]) -> dict[tuple[str, str], Arm]:
    """Read audits of one encoder; the order of datasets, banks and attacks is that of the paths."""
    found: dict[tuple[str, str], Arm] = {}
    for audit in map(load_audit, paths):
        arm = found.setdefault((audit["dataset"], audit["bank"]), {})
        arm.setdefault(audit["attack"], []).append(audit)
    return found


def most_exposed(canaries: list[Audit]) -> Audit:
    """Return the canary with the largest exact ε; the first of equal ones."""
    return max(canaries, key=lambda audit: audit["epsilon"]["exact_best"])


def any_of(arms: dict[tuple[str, str], Arm]) -> Audit:
    """Return one audit, for what all have in common: the mechanism and the evaluation."""
    return next(iter(next(iter(arms.values())).values()))[0]


def layout(arms: dict[tuple[str, str], Arm]) -> tuple[list[str], list[str]]:
    """Return the datasets, a row of panels each, and the banks, a column each."""
    datasets = list(dict.fromkeys(dataset for dataset, _ in arms))
    return datasets, list(dict.fromkeys(bank for _, bank in arms))
