"""Make the synthetic canaries and their pools: 64 hexadecimal characters from keyed streams.

Output: nonces.parquet (canary, record, text) and pools/nonce.parquet (canary, index, text).
"""

import polars as pl

from artifacts import writing
from job import job
from pe_core.text import nonce


def table(column: str, count: int, purpose: str) -> pl.DataFrame:
    name = snakemake.wildcards.dataset
    return pl.concat(
        pl.DataFrame(
            {
                "canary": [canary] * count,
                column: range(count),
                "text": nonce.strings(count, snakemake.params.seed, name, purpose, canary),
            },
            schema={"canary": pl.Int64, column: pl.Int64, "text": pl.String},
        )
        for canary in snakemake.params.canaries
    )


with job(snakemake):
    with writing(snakemake.output.records) as path:
        table("record", snakemake.params.records, "nonce records").write_parquet(path)
    with writing(snakemake.output.pools) as path:
        table("index", snakemake.params.size, "nonce pool").write_parquet(path)
