"""Put a run's probes into the first bank; runs without probes publish it as it is.

Output: bank.parquet, as evolve_bank.py's, and the embeddings in its row order.
"""

import numpy as np
import polars as pl

import population
from artifacts import checked, load_array, load_arrays, save_array, writing
from job import job
from pe_core import InputError

with job(snakemake) as log:
    bank = pl.read_parquet(checked(snakemake.input.bank))
    embeddings = load_array(snakemake.input.embeddings)
    if snakemake.params.probed is not None:
        attack, canary = snakemake.params.probed
        reserved = load_arrays(snakemake.input.routes)["reserved"]
        chosen = load_arrays(snakemake.input.chosen)["chosen"]
        if len(chosen) < len(reserved):
            raise InputError(
                f"{attack}: {len(chosen)} probes for {len(reserved)} reserved positions; in "
                "several rounds each position needs one (evolution.probes)"
            )
        if snakemake.input.pool:
            table = pl.read_parquet(checked(snakemake.input.pool), columns=["canary", "text"])
            rows = np.flatnonzero(table["canary"].to_numpy() == canary)
            vectors = load_array(snakemake.input.pool_embeddings)
        else:
            people = population.load(snakemake.input.records)
            table = pl.read_parquet(checked(snakemake.input.records), columns=["text"])
            rows = np.flatnonzero(people.user == people.users("canary").start + canary)
            vectors = load_array(snakemake.input.record_embeddings)
        texts = bank["text"].to_list()
        for position, row in zip(reserved, rows[chosen]):
            texts[position] = table["text"][int(row)]
            embeddings[position] = vectors[row]
        taken = np.isin(np.arange(len(bank)), reserved)
        bank = bank.with_columns(text=pl.Series(texts), reserved=pl.Series(taken))
        log.info("%s: %d probes", attack, len(reserved))
    with writing(snakemake.output.bank) as path:
        bank.write_parquet(path)
    save_array(snakemake.output.embeddings, embeddings)
