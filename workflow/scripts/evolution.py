"""Usefulness and ε of every run by round.

Output: evolution.csv, one row a run and round from 0, the first bank. A round's ε are those of all
releases up to it, `epsilon_ceiling` what an ideal attack on them is expected to prove by as many
trials; runs without an audit have none. MAUVE is on encoder features.
"""

from functools import cache
from typing import Any

import numpy as np
import polars as pl

import population
import tables
from artifacts import load_json
from evolve_audits import load_audit
from job import job
from pe_core import Mechanism, best
from pe_core.linear_test import Rates
from pe_core.releases import summed_rates
from pe_core.threshold import expected_bound

EPSILONS = {
    "epsilon_lower": "lower",
    "epsilon_exact": "exact",
    "epsilon_exact_best": "exact_best",
    "epsilon_theory": "epsilon_theory",
    "epsilon_theory_low": "epsilon_theory_low",
    "epsilon_theory_high": "epsilon_theory_high",
}
COLUMNS = (*EPSILONS, "epsilon_ceiling")
NAMES = ("dataset", "bank", "encoder", "transcript")
# Thresholds at which the ceiling is looked for, twice.
TRIED = 64


@cache
def ceiling(mechanism: Mechanism, releases: int, trials: int, tail: float) -> float:
    """Return what an ideal attack on so many releases is expected to prove by trials."""
    rates = summed_rates([best.ideal_test(mechanism)] * releases)
    # Where the event is seen with the canary, and its complement without; either error may be so
    # rare that it never is.
    seen = np.flatnonzero(np.minimum(rates.tpr, rates.tnr) * trials > 1.0)
    if seen.size == 0:
        return 0.0
    low, high, found = seen[0], seen[-1], 0.0
    # Over all of them, then between the neighbours of the best.
    for _ in range(2):
        at = np.unique(np.linspace(low, high, TRIED).astype(int))
        tried = Rates(rates.fpr[at], rates.tpr[at], rates.tnr[at], rates.fnr[at], np.zeros(at.size))
        bounds = expected_bound(tried, trials, mechanism.delta, tail)
        best_one = int(np.argmax(bounds))
        low, high = at[max(best_one - 1, 0)], at[min(best_one + 1, at.size - 1)]
        found = max(found, float(bounds[best_one]))
    return found


def by_release(audit: dict[str, Any]) -> dict[int, dict[str, float]]:
    """Return every ε of an audited run by the number of releases, from none."""
    settings = audit["settings"]
    mechanism = population.mechanism(settings, 1)
    trials, tail = settings["trials"], settings["tail"]
    found = {
        prefix["releases"]: {
            **{name: prefix["epsilon"][source] for name, source in EPSILONS.items()},
            "epsilon_ceiling": ceiling(mechanism, prefix["releases"], trials, tail),
        }
        for prefix in audit["prefixes"]
    }
    return {0: dict.fromkeys(COLUMNS, 0.0), **found}


with job(snakemake):
    audited = {}
    for path in snakemake.input.audits:
        audit = load_audit(path)
        run = f"{audit['attack']}-canary-{audit['canary']}"
        audited[(*(audit[name] for name in NAMES), run)] = audit
    rows = []
    for path in snakemake.input.utilities:
        found = load_json(path)
        key = tuple(found[name] for name in NAMES)
        audit = audited.get((*key, found["run"]))
        epsilons = by_release(audit) if audit else {}
        for bank in found["banks"]:
            rows.append(
                {
                    **dict(zip(NAMES, key)),
                    "run": found["run"],
                    **bank,
                    **epsilons.get(bank["round"], dict.fromkeys(COLUMNS)),
                }
            )
    tables.save(snakemake, pl.DataFrame(rows, infer_schema_length=None), snakemake.output.csv)
