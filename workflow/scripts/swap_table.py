"""What a release reveals about which of two users, or of two versions of one, was eligible.

Output: swap.csv, one row a pair; ε are dimensionless. `epsilon_theory` is the certified upper end
for substitution of votes, which bounds these; `cosine` is that of the two contributions,
empty where one of them is zero.
"""

import polars as pl

import contracts
import tables
from job import job

NAMES = ("dataset", "bank", "encoder", "attack", "kind", "first", "second")


def row(audit: dict) -> dict:
    return {
        **{name: audit[name] for name in NAMES},
        "epsilon_lower": audit["epsilon"]["lower"],
        "epsilon_exact": audit["epsilon"]["exact"],
        "epsilon_exact_best": audit["epsilon"]["exact_best"],
        "epsilon_theory": audit["accounts"]["substitute_votes"]["high"],
        "norm_ratio_first": audit["norm_ratios"][0],
        "norm_ratio_second": audit["norm_ratios"][1],
        "cosine": audit["cosine"],
        "replaced_records": audit["replaced_records"],
    }


with job(snakemake):
    rows = [row(contracts.load(path, "swap_audit")) for path in snakemake.input]
    tables.save(snakemake, pl.DataFrame(rows, infer_schema_length=None), snakemake.output.csv)
