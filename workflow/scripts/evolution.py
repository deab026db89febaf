"""Usefulness and ε of every run by round.

Output: evolution.csv, one row a run and round from 0, the first bank. A round's ε are those of all
releases up to it, `epsilon_ceiling` what an ideal attack on them is expected to prove by as many
trials; runs without an audit have none. MAUVE is on encoder features.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl

import population
import tables
from artifacts import load_json
from evolve_audits import load_audit
from job import job
from pe_core import planning

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
ceiling = cache(planning.ceiling)


def by_release(audit: dict[str, Any]) -> dict[int, dict[str, float]]:
    """Return every ε of an audited run by the number of releases, from none."""
    settings = audit["settings"]
    mechanism = population.mechanism(settings, 1)
    trials, tail = settings["trials"], settings["tail"]

    def expected(releases: int) -> float:
        return ceiling(replace(mechanism, releases=releases), trials, tail)

    found = {
        prefix["releases"]: {
            **{name: prefix["epsilon"][source] for name, source in EPSILONS.items()},
            "epsilon_ceiling": expected(prefix["releases"]),
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
