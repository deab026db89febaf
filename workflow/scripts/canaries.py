"""Every canary's own values, the rows from which the tables take their maxima.

Output: canaries.csv, one row a cell; ε are dimensionless, shares are of 1.
"""

import polars as pl

from artifacts import writing
from audits import load_audit, row_of
from job import job

with job(snakemake):
    rows = [row_of(load_audit(path)) for path in snakemake.input]
    with writing(snakemake.output[0]) as path:
        pl.DataFrame(rows, infer_schema_length=None).write_csv(path, float_precision=6)
