"""Write the pool of every canary's paraphrases, or take it from the user's file.

Output: pools/paraphrase.parquet (canary, index, source, text, and the prompt, seed and similarity
of each text that was written here) and a JSON with the counts of what was refused and why.
"""

import dataclasses
import os

# Read by OpenMP when torch loads it: waiting threads must not spin on a shared core.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from collections import Counter

import polars as pl

import generator
from artifacts import checked, save_json, writing
from job import job
from pe_core.text import acceptance, encoders, files, forms
from pe_core.text import writing as lines
from progress import progress

where = snakemake.wildcards


def written(texts: dict[int, list[str]]) -> tuple[pl.DataFrame, dict]:
    """Return the pools that the generator writes, and the counts over all of them."""
    prompts = snakemake.params.prompts
    settings, size = snakemake.params.generator, snakemake.params.size
    encoder = encoders.load(snakemake.params.encoder)
    tables, total = [], Counter()
    with (
        generator.opened(settings, snakemake.params.cache, snakemake.threads) as client,
        progress(f"{where.dataset}: paraphrases", "texts") as report,
    ):
        for turn, (canary, records) in enumerate(texts.items()):
            rows, counts = lines.paraphrases(
                client,
                encoder,
                records,
                size,
                forms.Form(**prompts["paraphrase"]),
                acceptance.Rules(**settings["rules"]),
                snakemake.params.seed,
                where.dataset,
                canary,
                progress=lambda done, _, turn=turn: report(turn * size + done, len(texts) * size),
            )
            total.update(counts)
            table = pl.DataFrame([dataclasses.asdict(row) for row in rows])
            tables.append(
                table.select(
                    pl.lit(canary).alias("canary"), pl.int_range(pl.len()).alias("index"), pl.all()
                )
            )
    return pl.concat(tables), dict(total)


with job(snakemake) as log:
    records = pl.read_parquet(checked(snakemake.input.records), columns=["user", "cohort", "text"])
    users = records.filter(cohort="canary")["user"].unique(maintain_order=True)
    texts = {
        canary: records.filter(user=users[canary])["text"].to_list()
        for canary in snakemake.params.canaries
    }
    if snakemake.input.own:
        pools, counts = files.pools(snakemake.input.own, texts, snakemake.params.size)
    else:
        pools, counts = written(texts)
    log.info("%s", counts)
    with writing(snakemake.output.pools) as path:
        pools.write_parquet(path)
    save_json(snakemake.output.notes, {"counts": counts})
