"""The public half of a round: keep the best entries, and write and embed new ones for the rest.

Output: bank.parquet, as evolve_start.py's; the embeddings in its row order; round.json (survivors
from the largest noisy count down, how many texts were written, answers refused by reason, the
generator and the encoder).

Nothing here reads a user's text, vote or vector: the inputs are the bank, its public embeddings,
the released histogram and the texts of people who are in no cohort.
"""

import os

# Read by OpenMP when torch loads it: waiting threads must not spin on a shared core.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

import generator
from artifacts import checked, load_array, load_arrays, save_array, save_json, writing
from job import job
from pe_core import InputError, evolution, seeds
from pe_core.text import acceptance, encoders, store, successors
from progress import progress

where = snakemake.wildcards
settings = snakemake.params


def stream(purpose: str) -> np.random.Generator:
    return seeds.generator(
        settings.seed,
        *(where.dataset, where.bank, where.encoder, "evolution"),
        *(int(where.transcript), purpose, int(where.round)),
    )


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in counts.items())


with job(snakemake) as log:
    if settings.generator["source"] == "file":
        raise InputError(
            "generator.source = file: several rounds need a generator that writes new texts, gguf "
            "or openai"
        )
    table = pl.read_parquet(checked(snakemake.input.bank))
    embeddings = load_array(snakemake.input.embeddings)
    public = pl.read_parquet(checked(snakemake.input.public), columns=["text"])["text"]
    bank = evolution.Bank(
        tuple(table["text"]),
        tuple(table["label"]),
        tuple(np.flatnonzero(table["reserved"].to_numpy()).tolist()),
    )
    rules = evolution.Rules(**settings.rules)
    release = evolution.Release(load_arrays(snakemake.input.release)["histogram"])
    survivors = evolution.select(bank, release, rules, stream("selection"))
    asked = evolution.requests(bank, release, survivors, rules, stream("feedback"))
    what = f"{where.run}: round {where.round}"
    with (
        generator.opened(
            settings.generator, f"{settings.cache}/responses", snakemake.threads
        ) as client,
        progress(f"{what}, new candidates", "texts") as report,
    ):
        write = successors.Successors(
            client,
            successors.form_of(rules.feedback, settings.prompts),
            acceptance.Rules(**settings.generator["rules"]),
            acceptance.Public(public.to_list()),
            settings.prompts["labels"],
            report,
        )
        try:
            following, refused = evolution.renew(bank, asked, write, rules)
        except InputError as error:
            raise InputError(f"{error}; all answers: {_said(write.counts)}") from error
    positions = [each.position for each in asked]
    encoder = encoders.load(settings.encoder)
    known = store.EmbeddingStore(Path(settings.cache) / "embeddings")
    with progress(f"{what}, embeddings", "texts") as report:
        embeddings[positions] = known.embed(
            [following.texts[position] for position in positions], encoder, report
        )
    written = table["written"].to_numpy().copy()
    written[positions] = int(where.round)
    with writing(snakemake.output.bank) as path:
        table.with_columns(
            label=pl.Series(following.labels),
            text=pl.Series(following.texts),
            written=pl.Series(written),
        ).write_parquet(path)
    save_array(snakemake.output.embeddings, embeddings)
    save_json(
        snakemake.output.notes,
        {
            "survivors": survivors.tolist(),
            "written": len(positions),
            "answers": dict(write.counts),
            "refused": dict(refused),
            "generator": client.model,
            "encoder": encoder.identity,
        },
    )
    log.info("%d survivors, %d written, %s", len(survivors), len(positions), _said(write.counts))
