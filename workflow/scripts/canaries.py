"""Every canary's own values, the rows from which the tables take their maxima.

Output: canaries.csv, one row a cell; ε are dimensionless, shares are of 1.
"""

import polars as pl

import tables
from audits import load_audit, row_of
from job import job

with job(snakemake):
    rows = [row_of(load_audit(path)) for path in snakemake.input]
    tables.save(snakemake, pl.DataFrame(rows, infer_schema_length=None), snakemake.output.csv)
