"""The exact ε of every cell, from tallies.

Output: streamed.csv, one row a cell (`epsilon_exact_best` is dimensionless).
"""

import polars as pl

from artifacts import load_json, writing
from job import job

with job(snakemake):
    rows = pl.DataFrame([load_json(path) for path in snakemake.input]).drop("seconds")
    with writing(snakemake.output[0]) as path:
        rows.write_csv(path, float_precision=6)
