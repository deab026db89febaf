"""Audit one pair: which of the two was eligible? By trials, and without sampling.

Output: swap.json, as workflow/schemas/swap_audit.schema.yaml describes it.
"""

import numpy as np

import cohort_votes
import contracts
import population
from artifacts import load_arrays, load_json
from job import job
from pe_core import background, bounds, seeds, swap

where, pair = snakemake.wildcards, snakemake.params.pair
evaluation = snakemake.params.evaluation


def measure() -> dict:
    """Return thresholds, counts, rates and every ε."""
    if np.array_equal(first, second):
        # Equal on every inspected position: the score is 0 whatever is released.
        return {
            "threshold": None,
            "counts": None,
            "rates": None,
            "epsilon": dict.fromkeys(NAMES, 0.0),
        }
    model = background.estimate(
        votes.auxiliary, mechanism, evaluation["shrinkage"], evaluation["ridge"]
    )
    score = swap.SwapScore.fit(first, second, model, mechanism)
    args = (first, second, mechanism)
    fixed = swap.calibrate(score, votes.calibration, *args, trials, tail)
    counts = swap.error_counts(
        score,
        votes.test,
        *args,
        fixed,
        trials,
        seeds.sequence(
            snakemake.params.seed, where.dataset, where.bank, where.encoder, where.pair, "swap"
        ),
    )
    test = swap.plane_test(score, votes.test, *args)
    rates = test.rates(fixed)
    lower = bounds.epsilon_lower(
        counts.true_positives, trials, counts.false_positives, trials, mechanism.delta, tail
    )
    best, _ = test.best_epsilon(mechanism.delta)
    return {
        "threshold": fixed,
        "counts": {
            "true_positives": counts.true_positives,
            "false_positives": counts.false_positives,
            "trials": trials,
        },
        "rates": {
            "tpr": float(rates.tpr[0]),
            "fpr": float(rates.fpr[0]),
            "error": rates.error,
        },
        "epsilon": {
            "lower": lower,
            "exact": test.epsilon(fixed, mechanism.delta),
            "exact_best": best,
        },
    }


NAMES = ("lower", "exact", "exact_best")

with job(snakemake) as log:
    cell = load_arrays(snakemake.input.contributions)
    accounts = load_json(snakemake.input.accounts)
    votes = cohort_votes.by_cohort(cell)
    first, second = cell["canaries"]
    mechanism = population.mechanism(snakemake.params.mechanism, len(votes.test))
    trials = snakemake.params.trials
    # The largest bound of an attack's pairs of one kind is to hold: all their ends share α.
    tail = evaluation["alpha"] / (4 * snakemake.params.pairs)
    found = measure()
    norms = np.linalg.norm(cell["canaries"], axis=1)
    product = float(norms.prod())
    contracts.save(
        snakemake.output[0],
        {
            "dataset": where.dataset,
            "bank": where.bank,
            "encoder": where.encoder,
            "pair": where.pair,
            **pair,
            "settings": {
                **snakemake.params.mechanism,
                **evaluation,
                "population": len(votes.test),
                "seed": snakemake.params.seed,
                "share": snakemake.params.share,
                "trials": trials,
                "tail": tail,
            },
            "inspected_positions": len(cell["positions"]),
            "replaced_records": int(cell["replaced"]),
            "norm_ratios": [float(norm / mechanism.clip) for norm in norms],
            "cosine": float(first @ second) / product if product > 0.0 else None,
            **found,
            "accounts": accounts,
        },
        "swap_audit",
    )
    log.info("lower %.4f, best %.4f", found["epsilon"]["lower"], found["epsilon"]["exact_best"])
