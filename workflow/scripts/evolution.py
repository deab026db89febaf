"""Usefulness and ε of every run by round.

Output: evolution.csv, one row a run and round from 0, the first bank. A round's ε are those of all
releases up to it; runs without an audit have none. MAUVE is on encoder features.
"""

import polars as pl

import tables
from artifacts import load_json
from evolve_audits import load_audit
from job import job

EPSILONS = {
    "epsilon_lower": "lower",
    "epsilon_exact": "exact",
    "epsilon_exact_best": "exact_best",
    "epsilon_theory": "epsilon_theory",
    "epsilon_theory_low": "epsilon_theory_low",
    "epsilon_theory_high": "epsilon_theory_high",
}
NAMES = ("dataset", "bank", "encoder", "transcript")

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
        prefixes = audited.get((*key, found["run"]), {"prefixes": []})["prefixes"]
        by_round = {prefix["releases"]: prefix["epsilon"] for prefix in prefixes}
        if prefixes:
            # Nothing has been released when the first bank is published.
            by_round[0] = dict.fromkeys(EPSILONS.values(), 0.0)
        for bank in found["banks"]:
            epsilons = by_round.get(bank["round"], {})
            rows.append(
                {
                    **dict(zip(NAMES, key)),
                    "run": found["run"],
                    **bank,
                    **{name: epsilons.get(source) for name, source in EPSILONS.items()},
                }
            )
    tables.save(snakemake, pl.DataFrame(rows, infer_schema_length=None), snakemake.output.csv)
