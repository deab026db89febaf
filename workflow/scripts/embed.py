"""Embed the texts of one Parquet file.

Output: float32 unit rows in the file's row order, and a JSON with the encoder's identity and
the versions of packages.
"""

import os

# Read by OpenMP when torch loads it: waiting threads must not spin on a shared core.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from pathlib import Path

import polars as pl

import versions
from artifacts import checked, save_array, save_json
from job import job
from pe_core.text import encoders, store
from progress import progress

with job(snakemake) as log:
    texts = pl.read_parquet(checked(snakemake.input[0]), columns=["text"])["text"].to_list()
    encoder = encoders.load(snakemake.params.encoder)
    known = store.EmbeddingStore(Path(snakemake.params.cache))
    what = f"{snakemake.wildcards.dataset}: {snakemake.wildcards.texts} in {encoder.name}"
    with progress(what, "texts") as report:
        embeddings = known.embed(texts, encoder, report)
    save_array(snakemake.output.embeddings, embeddings)
    save_json(
        snakemake.output.notes,
        {
            "encoder": encoder.name,
            "identity": encoder.identity,
            "texts": len(texts),
            "versions": versions.installed("torch", "transformers", "sentence-transformers"),
        },
    )
    log.info("%d texts, encoder %s", len(texts), encoder.identity)
