"""Audit one canary from tallies of contributions, one part of the population in memory at a time.

Output: streamed.json (users, distinct contributions, the separation, and the exact ε at the best
threshold, dimensionless). No trials are drawn: their cost grows with the users, that of the exact
rates with the distinct contributions.
"""

import time
from collections.abc import Iterator

import cohort_votes
import population
from artifacts import load_arrays, save_json
from job import job
from pe_core import background, best, exact, tally
from pe_core.score import LinearScore

with job(snakemake) as log:
    start = time.perf_counter()
    own = load_arrays(snakemake.input.own)
    evaluation = snakemake.params.evaluation

    def counted(part: dict, users: slice = slice(None)) -> tally.Tally:
        return tally.tally(cohort_votes.stored(part)[users])

    def tested() -> Iterator[tally.Tally]:
        for path in snakemake.input.parts:
            yield counted(load_arrays(path))

    auxiliary = counted(own, slice(int(own["first"][0]), int(own["first"][1])))
    test = tally.merge(tested())
    mechanism = population.mechanism(snakemake.params.mechanism, test.users)
    model = background.from_moments(
        *auxiliary.moments(),
        auxiliary.users,
        mechanism,
        evaluation["shrinkage"],
        evaluation["ridge"],
    )
    score = LinearScore.fit(own["canary"], model, mechanism)
    exactly = exact.linear_test(score, test.rows, own["canary"], mechanism, test.counts)
    most = best.best_epsilon(exactly, mechanism.delta)
    save_json(
        snakemake.output[0],
        {
            **dict(snakemake.wildcards.items()),
            "users": test.users,
            "distinct": len(test.counts),
            "separation": float(score.separation),
            "epsilon_exact_best": most.epsilon,
            "seconds": round(time.perf_counter() - start, 3),
        },
    )
    log.info("%d users, %d distinct, exact %.4f", test.users, len(test.counts), most.epsilon)
