"""The ten candidates with the largest noisy counts of every release, to be read.

Output: candidates.csv, by dataset, bank, encoder, transcript, run, round and rank; `votes` is the
released noisy count in clipped votes, `probe` says that the auditor wrote the entry, `written` in
which round it was written (0: before the first release). Unless the configuration says so, there
are no texts that were made from a canary's records, and no runs without noise.
"""

import numpy as np
import polars as pl

import tables
from artifacts import checked, load_arrays
from audit_card_evidence import synthetic
from job import job

MOST = 10
# Its counts are exact, and so is what they made.
NOISELESS = "noiseless"
WITHHELD = "(made from a canary's records; not shown)"

with job(snakemake):
    show_private = snakemake.params.show_private
    found = []
    for names, bank, release in zip(
        snakemake.params.rounds, snakemake.input.banks, snakemake.input.releases
    ):
        if names["run"] == NOISELESS and not show_private:
            continue
        private = pl.col("reserved") & (not show_private and not synthetic(names["run"]))
        histogram = load_arrays(release)["histogram"]
        top = np.argsort(-histogram, kind="stable")[:MOST]
        rows = pl.read_parquet(checked(bank))[top]
        found.append(
            rows.select(
                *(pl.lit(value).alias(name) for name, value in names.items()),
                pl.int_range(1, len(top) + 1).alias("rank"),
                "position",
                pl.Series("votes", histogram[top]),
                pl.col("reserved").alias("probe"),
                "written",
                "label",
                pl.when(private).then(pl.lit(WITHHELD)).otherwise("text").alias("text"),
            )
        )
    tables.save(snakemake, pl.concat(found), snakemake.output.csv)
