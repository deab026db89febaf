"""Audit one canary under one attack: fit the score, fix the threshold, count the errors.

Output: audit.json, as workflow/schemas/audit.schema.yaml describes it.
"""

import time

import numpy as np
from scipy import sparse

import population
from artifacts import load_arrays, load_json
from audits import save_audit
from job import job
from pe_core import background, bounds, seeds, threshold, trials
from pe_core.score import LinearScore

where = snakemake.wildcards

with job(snakemake) as log:
    start = time.perf_counter()
    cell = load_arrays(snakemake.input.contributions)
    accounting = load_json(snakemake.input.accounting)
    settings, evaluation = snakemake.params.mechanism, snakemake.params.evaluation
    everyone = sparse.csr_array(
        (cell["data"], cell["indices"], cell["indptr"]), shape=tuple(cell["shape"])
    ).toarray()
    auxiliary, calibration, test = np.split(everyone, cell["first"][1:3])
    canary = cell["canary"]
    mechanism = population.mechanism(settings, len(test))
    tail = evaluation["alpha"] / (4 * snakemake.params.canaries)
    model = background.estimate(auxiliary, mechanism, evaluation["shrinkage"], evaluation["ridge"])
    score = LinearScore.fit(canary, model, mechanism)
    fixed = threshold.calibrate(score, calibration, canary, mechanism, evaluation["trials"], tail)
    stream = seeds.sequence(
        snakemake.params.seed,
        *(where.dataset, where.bank, where.encoder, where.attack, int(where.canary), "trials"),
    )
    counts = trials.error_counts(
        score, test, canary, mechanism, fixed, evaluation["trials"], stream
    )
    lower = bounds.epsilon_lower(
        counts.true_positives,
        counts.trials,
        counts.false_positives,
        counts.trials,
        mechanism.delta,
        tail,
    )
    save_audit(
        snakemake.output[0],
        {
            "dataset": where.dataset,
            "bank": where.bank,
            "encoder": where.encoder,
            "attack": where.attack,
            "canary": int(where.canary),
            "settings": {
                "population": mechanism.population,
                "auxiliary_users": len(auxiliary),
                "calibration_users": len(calibration),
                "seed": snakemake.params.seed,
                "tail": tail,
                **settings,
                **evaluation,
            },
            "inspected_positions": len(cell["positions"]),
            "votes_on_inspected": int(cell["votes_on_inspected"]),
            "votes": int(cell["votes"]),
            "norm_ratio": float(cell["norm"] / mechanism.clip),
            "unclipped_norm": float(cell["unclipped_norm"]),
            "separation": float(score.separation),
            "threshold": float(fixed),
            "counts": {
                "true_positives": int(counts.true_positives),
                "false_positives": int(counts.false_positives),
                "trials": int(counts.trials),
            },
            "epsilon": {"lower": lower, **accounting},
            "seconds": round(time.perf_counter() - start, 3),
        },
    )
    log.info("separation %.4f, epsilon_lower %.4f", score.separation, lower)
