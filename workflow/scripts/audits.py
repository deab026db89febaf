"""Write and read audit.json; its schema is checked on both sides."""

from typing import Any

import contracts


def save_audit(path: str, audit: dict[str, Any]) -> None:
    """Check and write one audit."""
    contracts.save(path, audit, "audit")


def load_audit(path: str) -> dict[str, Any]:
    """Read and check one audit."""
    return contracts.load(path, "audit")


GRID = ["dataset", "bank", "encoder", "attack"]


def row_of(audit: dict[str, Any]) -> dict[str, Any]:
    """Return what the tables show of one audit, in the order of their columns."""
    epsilon = audit["epsilon"]
    return {
        **{name: audit[name] for name in GRID},
        "epsilon_lower": epsilon["lower"],
        "epsilon_exact": epsilon["exact"],
        "epsilon_exact_best": epsilon["exact_best"],
        "epsilon_expected": epsilon["expected"],
        "epsilon_ceiling": epsilon["ceiling"],
        "epsilon_parametric": epsilon["parametric"],
        "canary": audit["canary"],
        "separation": audit["separation"],
        "norm_ratio": audit["norm_ratio"],
        "votes_on_inspected": audit["votes_on_inspected"] / audit["votes"],
        "epsilon_theory": epsilon["epsilon_theory"],
        "epsilon_theory_tight": epsilon["epsilon_theory_high"],
    }
