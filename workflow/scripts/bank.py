"""Write one bank arm, or take it from the user's file.

Output: bank.parquet (position, label, text, and the prompt and seed of each line that was written
here) and a JSON with the counts of what was refused and why.
"""

import dataclasses

import polars as pl

import generator
from artifacts import checked, save_json, writing
from job import job
from pe_core.text import acceptance, files, forms
from pe_core.text import writing as lines
from progress import progress

where = snakemake.wildcards


def written() -> tuple[pl.DataFrame, dict]:
    """Return the bank that the generator writes, and the counts."""
    prompts = snakemake.params.prompts
    words = prompts["labels"]
    known = pl.read_parquet(checked(snakemake.input.records), columns=["label"])["label"]
    labels = sorted(known.unique().to_list())
    public = pl.read_parquet(checked(snakemake.input.public))
    by_label = {
        words.get(label, label): public.filter(label=label)["text"].to_list() for label in labels
    }
    settings = snakemake.params.generator
    what = f"{where.dataset}: bank {where.bank}"
    with (
        generator.opened(settings, snakemake.params.cache, snakemake.threads) as client,
        progress(what, "lines") as report,
    ):
        rows, counts = lines.bank(
            client,
            list(by_label),
            snakemake.params.size,
            where.bank,
            by_label,
            forms.Form(**prompts["bank"]),
            acceptance.Rules(**settings["rules"]),
            snakemake.params.seed,
            where.dataset,
            progress=report,
        )
    # The private side knows a label by its own name, not by the prompt's word for it.
    names = {words.get(label, label): label for label in labels}
    return pl.DataFrame(
        [{**dataclasses.asdict(row), "label": names[row.label]} for row in rows]
    ), counts


with job(snakemake) as log:
    if snakemake.input.own:
        bank, counts = files.bank(snakemake.input.own, snakemake.params.size)
    else:
        bank, counts = written()
    log.info("%s", counts)
    with writing(snakemake.output.bank) as path:
        bank.with_row_index("position").write_parquet(path)
    save_json(snakemake.output.notes, {"counts": counts})
