"""The exact ε of every cell, from tallies.

Output: streamed.csv, one row a cell (`epsilon_exact_best` is dimensionless).
"""

import polars as pl

import tables
from artifacts import load_json
from job import job

with job(snakemake):
    rows = pl.DataFrame([load_json(path) for path in snakemake.input]).drop("seconds")
    tables.save(snakemake, rows, snakemake.output.csv)
