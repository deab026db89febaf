"""How useful each round's bank is: MAUVE against test users' texts, and how varied it is.

Output: utility.json, one entry a bank from round 0 (the first, before any release):
    mauve, mauve_low, mauve_high                      entries outside the reserved positions
    mauve_published, ..._low, ..._high                the bank as published, probes included
    distinct_1, distinct_2, distinct_3                of the former
    nearest                                           mean cosine of a test user's text with the
                                                      nearest of the former: what votes select for
    probe_share                                       of test users' votes in the round's release
All runs leave out the same positions, so that they compare sets of one size.
"""

import os

# Read by OpenMP when faiss loads it: waiting threads must not spin on a shared core.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import polars as pl

import population
from artifacts import checked, load_array, load_arrays, save_json
from job import job
from pe_core import seeds
from pe_core.text import utility

where = snakemake.wildcards

with job(snakemake) as log:
    people = population.load(snakemake.input.records)
    users = people.users("test")
    rows = np.flatnonzero((people.user >= users.start) & (people.user < users.stop))
    drawn = seeds.generator(snakemake.params.seed, where.dataset, "utility reference")
    rows = np.sort(drawn.permutation(rows)[: snakemake.params.reference])
    reference = load_array(snakemake.input.record_embeddings)[rows]
    reserved = load_arrays(snakemake.input.reserved)["reserved"]

    def mauve(name: str, vectors: np.ndarray) -> dict[str, float]:
        # One stream for all banks, so that equal banks have equal intervals.
        stream = seeds.generator(snakemake.params.seed, where.dataset, "utility resamples")
        found = utility.mauve(vectors, reference, snakemake.params.resamples, stream)
        return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}

    banks = []
    for t, (table, embeddings) in enumerate(zip(snakemake.input.banks, snakemake.input.embeddings)):
        texts = pl.read_parquet(checked(table), columns=["text"])["text"]
        vectors = load_array(embeddings)
        free = np.setdiff1d(np.arange(len(texts)), reserved)
        entry = {
            "round": t,
            **mauve("mauve", vectors[free]),
            **mauve("mauve_published", vectors),
            **{f"distinct_{n}": utility.distinct(texts[free].to_list(), n) for n in (1, 2, 3)},
            "nearest": float((reference @ vectors[free].T).max(axis=1).mean()),
        }
        if t:
            votes = load_arrays(snakemake.input.votes[t - 1])
            entry["probe_share"] = float(votes["probe_share"])
        banks.append(entry)
        log.info("round %d: MAUVE %.4f", t, entry["mauve"])
    save_json(
        snakemake.output[0],
        {
            "dataset": where.dataset,
            "bank": where.bank,
            "encoder": where.encoder,
            "transcript": int(where.transcript),
            "run": where.run,
            "reference_texts": len(rows),
            "entries": len(free),
            "banks": banks,
        },
    )
