"""Audit one canary under one attack: fit the score, fix the threshold, count the errors, and work
out the same rates without sampling.

Output: audit.json, as workflow/schemas/audit.schema.yaml describes it.
"""

import time

import numpy as np

import cohort_votes
import population
from artifacts import load_arrays, load_json
from audits import save_audit
from job import job
from pe_core import (
    background,
    best,
    bounds,
    exact,
    ladder,
    parametric,
    planning,
    seeds,
    threshold,
    trials,
)
from pe_core.score import LinearScore

where = snakemake.wildcards
# From far below any δ in use to where ε is 0.
DELTAS = [10.0**exponent for exponent in range(-12, 0)]
# Points kept of a trade-off curve: more than a page can show.
POINTS = 65


def curves(test: exact.LinearTest, delta: float) -> dict:
    """Return ε over δ, and the trade-off curve, of a test that tells anything at all."""
    by_delta = best.epsilon_curve(test, [delta, *DELTAS])
    curve = {"delta": DELTAS, "epsilon": [point.epsilon for point in by_delta[1:]]}
    if test.sum is None:
        return {"delta_curve": curve, "trade_off": {"fpr": [0.0, 1.0], "fnr": [1.0, 0.0]}}
    _, rates = best.trade_off(test)
    kept = np.unique(np.linspace(0, len(rates.fpr) - 1, POINTS).round().astype(int))
    return {
        "delta_curve": curve,
        "trade_off": {"fpr": rates.fpr[kept].tolist(), "fnr": rates.fnr[kept].tolist()},
    }


def gaussian_bound(
    score: LinearScore, users: np.ndarray, canary: np.ndarray, stream: np.random.SeedSequence
) -> float:
    """Return the bound that assumes a Gaussian score, at a threshold fixed in advance."""
    if score.separation == 0.0 or mechanism.participation == 0.0:
        return 0.0
    # Two ends of each canary enter.
    ends = evaluation["alpha"] / (2 * snakemake.params.canaries)
    deviations, _ = parametric.moderate_threshold(mechanism, evaluation["trials"], ends)
    # Under the assumption ℓ is normal with deviation μ around −μ²/2 when the canary is absent.
    at = score.separation * deviations - score.separation**2 / 2
    counted = trials.error_counts(score, users, canary, mechanism, at, evaluation["trials"], stream)
    n = counted.trials
    return parametric.epsilon_parametric(
        counted.true_positives, n, counted.false_positives, n, mechanism, ends
    )


with job(snakemake) as log:
    start = time.perf_counter()
    cell = load_arrays(snakemake.input.contributions)
    accounting = load_json(snakemake.input.accounting)
    settings, evaluation = snakemake.params.mechanism, snakemake.params.evaluation
    auxiliary, calibration, test_users = cohort_votes.by_cohort(cell)
    canary = cell["canary"]
    mechanism = population.mechanism(settings, len(test_users))
    tail = evaluation["alpha"] / (4 * snakemake.params.canaries)
    model = background.estimate(auxiliary, mechanism, evaluation["shrinkage"], evaluation["ridge"])
    score = LinearScore.fit(canary, model, mechanism)
    fixed = threshold.calibrate(score, calibration, canary, mechanism, evaluation["trials"], tail)

    names = (where.dataset, where.bank, where.encoder, where.attack, int(where.canary))
    counts = trials.error_counts(
        score,
        test_users,
        canary,
        mechanism,
        fixed,
        evaluation["trials"],
        seeds.sequence(snakemake.params.seed, *names, "trials"),
    )
    n = counts.trials
    lower = bounds.epsilon_lower(
        counts.true_positives, n, counts.false_positives, n, mechanism.delta, tail
    )

    test = exact.linear_test(score, test_users, canary, mechanism)
    rates = test.rates(fixed)
    most = best.best_epsilon(test, mechanism.delta)
    steps = ladder.ladder(
        score,
        test_users,
        canary,
        mechanism,
        fixed,
        n,
        tail,
        lower,
        accounting["epsilon_theory_estimate"],
    )
    save_audit(
        snakemake.output[0],
        {
            **dict(zip(("dataset", "bank", "encoder", "attack", "canary"), names, strict=True)),
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
                "true_positives": counts.true_positives,
                "false_positives": counts.false_positives,
                "trials": n,
            },
            "rates": {
                name: float(getattr(rates, name))
                for name in ("fpr", "tpr", "fnr", "tnr", "relative_error")
            },
            "best": {"threshold": most.threshold, "branch": most.branch},
            "epsilon": {
                "lower": lower,
                "exact": test.epsilon(fixed, mechanism.delta),
                "exact_best": most.epsilon,
                "expected": float(threshold.expected_bound(rates, n, mechanism.delta, tail)),
                "ceiling": planning.ceiling(mechanism, n, tail),
                "parametric": gaussian_bound(
                    score,
                    test_users,
                    canary,
                    seeds.sequence(snakemake.params.seed, *names, "moderate trials"),
                ),
                **accounting,
            },
            "ladder": [
                {"step": step.name, "epsilon": step.epsilon, "change": step.change}
                for step in steps
            ],
            **curves(test, mechanism.delta),
            "seconds": round(time.perf_counter() - start, 3),
        },
    )
    log.info("separation %.4f, lower %.4f, exact %.4f", score.separation, lower, most.epsilon)
