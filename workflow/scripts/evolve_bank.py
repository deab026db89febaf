"""Draw the first bank of Private Evolution from an arm's bank.

Output: bank.parquet (position, label, text, reserved, written: the round it was written in, 0), and
the embeddings in its row order.
"""

import numpy as np
import polars as pl

from artifacts import checked, load_array, save_array, writing
from job import job
from pe_core import InputError, seeds

where = snakemake.wildcards

with job(snakemake) as log:
    table = pl.read_parquet(checked(snakemake.input.bank), columns=["label", "text"])
    size = snakemake.params.size
    if size > len(table):
        raise InputError(
            f"evolution.size = {size}: the bank {snakemake.input.bank} has {len(table)} entries"
        )
    stream = seeds.generator(snakemake.params.seed, where.dataset, where.bank, "evolution bank")
    rows = np.sort(stream.permutation(len(table))[:size])
    bank = table[rows].select(
        pl.int_range(size, dtype=pl.Int64).alias("position"),
        "label",
        "text",
        pl.lit(False).alias("reserved"),
        pl.lit(0, pl.Int64).alias("written"),
    )
    with writing(snakemake.output.bank) as path:
        bank.write_parquet(path)
    embeddings = load_array(snakemake.input.embeddings)[rows]
    save_array(snakemake.output.embeddings, np.ascontiguousarray(embeddings))
    log.info("%d of %d entries", size, len(table))
