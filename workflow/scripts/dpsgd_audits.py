"""Write and read the audit.json of a DP-SGD game; its schema is checked on both sides."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import contracts
from pe_core import Mechanism
from pe_core.dpsgd import Scores, audit_scores


def rows(
    scores: Scores, delta: float, checkpoints: Sequence[int], alpha: float
) -> list[dict[str, Any]]:
    """Return the bounds and their counts after each checkpoint."""
    spread = np.sqrt((scores.present.var(axis=0) + scores.replaced.var(axis=0)) / 2)
    gap = scores.present.mean(axis=0) - scores.replaced.mean(axis=0)
    found = []
    for column, steps in enumerate(checkpoints):
        result = audit_scores(scores.present[:, column], scores.replaced[:, column], delta, alpha)
        row = {
            "steps": int(steps),
            "separation": float(gap[column] / spread[column]) if spread[column] > 0 else 0.0,
            "epsilon_lower": result.epsilon,
            "counts": result.counts._asdict(),
            "epsilon_if_gdp": result.epsilon_if_gdp,
            "mu_lower": result.mu_lower,
            "counts_if_gdp": result.counts_if_gdp._asdict(),
        }
        if scores.accuracy.size:
            row["accuracy"] = float(scores.accuracy[column])
        found.append(row)
    return found


def audit(
    model: str,
    scenario: str,
    mechanism: Mechanism,
    runs: int,
    alpha: float,
    found: list[dict[str, Any]],
    pair: Mapping[str, Any],
    warnings: list[str],
    began: float,
) -> dict[str, Any]:
    """Return one audit.json; `began` is the start on `time.perf_counter`'s clock."""
    return {
        "model": model,
        "scenario": scenario,
        "participation": mechanism.participation,
        "noise_multiplier": mechanism.noise_multiplier,
        "clip": mechanism.clip,
        "delta": mechanism.delta,
        "alpha": alpha,
        "runs": runs,
        "pair": dict(pair),
        "warnings": warnings,
        "rows": found,
        "seconds": time.perf_counter() - began,
    }


def save(path: str, found: dict[str, Any]) -> None:
    """Check and write one audit."""
    contracts.save(path, found, "dpsgd_audit")


def load(path: str) -> dict[str, Any]:
    """Read and check one audit."""
    return contracts.load(path, "dpsgd_audit")
