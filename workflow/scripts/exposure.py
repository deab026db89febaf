"""Everyone as the canary: the exact ε of every test user, against the others, without trials.

Output: {attack}.csv, one row a user of the test cohort: dataset, bank, encoder, attack; user (index
in the cohort; no name and no text), epsilon (at the configured δ), separation (standard
deviations), norm (of the contribution on the inspected positions, at most the clip C),
inspected (bank positions).
"""

from collections.abc import Iterator

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

import population
from artifacts import load_array, load_arrays, writing
from job import job
from pe_core import contribution, exposure, routing
from pe_core.exposure import Exposure
from pe_core.routing import Routes
from progress import progress

where = snakemake.wildcards


def passive() -> Iterator[Exposure]:
    """Yield everyone's exposure on the bank as published."""
    votes = contribution.contributions(
        routes["original_index"][voters], owner, users, size, mechanism.clip
    )
    return exposure.everyone(votes[:auxiliary], votes[auxiliary:], mechanism, **estimator)


def copied() -> Iterator[Exposure]:
    """Yield everyone's exposure where the probes are copies of the user's own first records."""
    vectors = load_array(snakemake.input.embeddings)[voters]
    base = Routes(routes["base_index"][voters], routes["base_distance"][voters])
    for user in range(auxiliary, users):
        copies = np.ascontiguousarray(vectors[owner == user][: len(routes["reserved"])])
        positions = routes["reserved"][: len(copies)]
        merged = routing.merge_top_k(base, positions, routing.squared_distances(vectors, copies))
        votes = contribution.inspected(
            contribution.contributions(merged.index, owner, users, size, mechanism.clip), positions
        )
        others = np.delete(votes[auxiliary:], user - auxiliary, axis=0)
        yield exposure.exposure(votes[user], votes[:auxiliary], others, mechanism, **estimator)


with job(snakemake) as log:
    people = population.load(snakemake.input.records)
    routes = load_arrays(snakemake.input.routes)
    size = int(routes["bank_size"])
    known, tested = people.users("auxiliary"), people.users("test")
    auxiliary = known.stop - known.start
    test = tested.stop - tested.start
    users = auxiliary + test
    # Auxiliary users first, then the cohort; the calibration users between them vote for nothing.
    of_auxiliary = (people.user >= known.start) & (people.user < known.stop)
    voters = np.flatnonzero(of_auxiliary | (people.user >= tested.start))
    owner = people.user[voters]
    owner = np.where(owner < known.stop, owner - known.start, owner - tested.start + auxiliary)
    mechanism = population.mechanism(snakemake.params.mechanism, test - 1)
    estimator = {key: snakemake.params.evaluation[key] for key in ("shrinkage", "ridge")}
    found = passive() if where.attack == "ordinary" else copied()
    rows = []
    # The systems are small: a second thread of BLAS would only wait for the first.
    with (
        threadpool_limits(1),
        progress(f"exposure, {where.attack}, bank {where.bank}", "users") as show,
    ):
        for user, each in enumerate(found):
            rows.append(
                {
                    "dataset": where.dataset,
                    "bank": where.bank,
                    "encoder": where.encoder,
                    "attack": where.attack,
                    "user": user,
                    "epsilon": each.epsilon,
                    "separation": each.separation,
                    "norm": each.norm,
                    "inspected": each.inspected,
                }
            )
            show(user + 1, test)
    with writing(snakemake.output[0]) as path:
        pl.DataFrame(rows).write_csv(path)
    log.info("%d users, largest ε %.4f", test, max(row["epsilon"] for row in rows))
