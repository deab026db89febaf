"""Cut a dataset's users into parts that later jobs work through one by one.

Output: parts/own.parquet, the auditor's own users (canaries, auxiliary, calibration), and
parts/test-{n}.parquet, the test users in as many runs of equal length as there are shards; columns
and order of rows as in records.parquet.
"""

import polars as pl

import population
from artifacts import checked, writing
from job import job

with job(snakemake) as log:
    people = population.load(snakemake.input[0])
    records = pl.read_parquet(checked(snakemake.input[0]))
    own, *tested = snakemake.output
    test = people.users("test")
    cuts = [test.start + n * (test.stop - test.start) // len(tested) for n in range(len(tested))]
    for output, start, stop in zip([own, *tested], [0, *cuts], [*cuts, test.stop], strict=True):
        with writing(output) as path:
            records.filter((people.user >= start) & (people.user < stop)).write_parquet(path)
    log.info(
        "%d own users, %d test users in %d parts", test.start, test.stop - test.start, len(cuts)
    )
