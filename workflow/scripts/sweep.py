"""Audit one canary at every point of the sweep, from the contributions of the single audit.

Routing and clipping know neither σ nor q, so what changes is the background, the score, the
threshold and the rates. Output: sweep.json, as workflow/schemas/sweep_audit.schema.yaml has it.
"""

import cohort_votes
import contracts
import population
from artifacts import load_arrays, load_json
from ends import upper_end
from job import job
from pe_core import background, best, bounds, exact, seeds, threshold, trials
from pe_core.score import LinearScore

with job(snakemake) as log:
    cell = load_arrays(snakemake.input.contributions)
    votes = cohort_votes.by_cohort(cell)
    evaluation, settings = snakemake.params.evaluation, snakemake.params.mechanism
    count = snakemake.params.trials
    # One canary, chosen in advance: its four ends share α.
    tail = evaluation["alpha"] / 4
    where = snakemake.wildcards
    names = (where.dataset, where.bank, where.encoder, where.attack, int(where.canary))
    points = []
    for point in load_json(snakemake.input.accounting)["points"]:
        noise, q = point["noise_multiplier"], point["participation"]
        mechanism = population.mechanism(
            {**settings, "noise_multiplier": noise, "participation": q}, len(votes.test)
        )
        model = background.estimate(
            votes.auxiliary, mechanism, evaluation["shrinkage"], evaluation["ridge"]
        )
        score = LinearScore.fit(cell["canary"], model, mechanism)
        fixed = threshold.calibrate(
            score, votes.calibration, cell["canary"], mechanism, count, tail
        )
        counts = trials.error_counts(
            score,
            votes.test,
            cell["canary"],
            mechanism,
            fixed,
            count,
            seeds.sequence(snakemake.params.seed, *names, "sweep", repr(noise), repr(q)),
        )
        test = exact.linear_test(score, votes.test, cell["canary"], mechanism)
        points.append(
            {
                **point,
                "separation": float(score.separation),
                "threshold": float(fixed),
                "true_positives": counts.true_positives,
                "false_positives": counts.false_positives,
                "epsilon_lower": bounds.epsilon_lower(
                    counts.true_positives,
                    count,
                    counts.false_positives,
                    count,
                    mechanism.delta,
                    tail,
                ),
                "epsilon_upper": upper_end(
                    counts.true_positives, counts.false_positives, count, mechanism.delta, tail
                ),
                "epsilon_exact": test.epsilon(fixed, mechanism.delta),
                "epsilon_exact_best": best.best_epsilon(test, mechanism.delta).epsilon,
            }
        )
        log.info("σ = %g, q = %g: separation %.4f", noise, q, score.separation)
    contracts.save(
        snakemake.output[0],
        {
            **dict(zip(("dataset", "bank", "encoder", "attack", "canary"), names, strict=True)),
            "settings": {
                **settings,
                **evaluation,
                "population": len(votes.test),
                "seed": snakemake.params.seed,
                "trials": count,
                "tail": tail,
            },
            "points": points,
        },
        "sweep_audit",
    )
