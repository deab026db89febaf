"""Every point of every sweep.

Output: figure1.csv, one row a dataset, attack, noise multiplier σ and participation q; ε are
dimensionless. `epsilon_lower` and `epsilon_upper` are the two ends of the 95% band; an upper end
that nothing bounds is empty.
"""

import polars as pl

import contracts
import tables
from job import job

NAMES = ("dataset", "bank", "encoder", "attack", "canary")

with job(snakemake):
    sweeps = [contracts.load(path, "sweep_audit") for path in snakemake.input]
    rows = [
        {**{name: sweep[name] for name in NAMES}, **point, "trials": sweep["settings"]["trials"]}
        for sweep in sweeps
        for point in sweep["points"]
    ]
    tables.save(snakemake, pl.DataFrame(rows, infer_schema_length=None), snakemake.output.csv)
