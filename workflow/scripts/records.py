"""Load a dataset and draw the cohorts.

Output: records.parquet (user, record, cohort, label, group, text), rows ordered by cohort, user
and record; public.parquet (label, text); records.json (counts of what was read and left out).
"""

import polars as pl

from artifacts import save_json, writing
from job import job
from pe_core.text import cohorts, datasets

with job(snakemake) as log:
    settings = snakemake.params.dataset
    data = datasets.load(settings["loader"], settings.get("options", {}))
    log.info("%s", data.notes)
    records = cohorts.split(
        data.records,
        settings["cohorts"],
        canary_records=snakemake.params.canary_records,
        maximum_records=snakemake.params.maximum_records,
        seed=snakemake.params.seed,
        names=(settings["name"],),
    )
    with writing(snakemake.output.records) as path:
        records.write_parquet(path)
    # Whoever is in no cohort is public too, unless a group ties them to someone who is.
    outside = cohorts.outside(data.records, records).select("label", "text")
    public = pl.concat([data.public.select("label", "text"), outside])
    with writing(snakemake.output.public) as path:
        public.write_parquet(path)
    users = records.group_by("cohort").agg(users="user", texts="text")
    counts = {
        row["cohort"]: {"users": len(set(row["users"])), "records": len(row["texts"])}
        for row in users.iter_rows(named=True)
    }
    save_json(snakemake.output.notes, {"dataset": data.notes, "cohorts": counts})
