"""The largest bound of each attack's canaries, as the paper's table of the same number.

Output: one row a dataset, bank, encoder and attack; ε are dimensionless, shares are of 1.
`paper` is the paper's value, where the row is one of the paper's.
"""

import polars as pl

import tables
from audits import GRID, load_audit, row_of
from job import job

with job(snakemake):
    audits = pl.DataFrame(
        [row_of(load_audit(path)) for path in snakemake.input.audits], infer_schema_length=None
    )
    # A stable sort: ties go to the first canary.
    best = audits.sort("epsilon_lower", descending=True, maintain_order=True).unique(
        GRID, keep="first", maintain_order=True
    )
    order = audits.select(GRID).unique(maintain_order=True).with_row_index("row")
    paper = pl.read_csv(snakemake.input.paper).filter(table=snakemake.wildcards.table)
    table = (
        best.join(order, on=GRID)
        .sort("row")
        .join(
            paper.select(*GRID, paper="epsilon_lower"), on=GRID, how="left", maintain_order="left"
        )
        .drop("row")
    )
    tables.save(snakemake, table, snakemake.output.csv)
