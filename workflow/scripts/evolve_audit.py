"""Audit every prefix of a run's releases, conditional on the run's transcript.

Output: audit.json: the settings, each round's separation and norm ratio of the canary on the
probes, and for every number of releases the counts and every ε by its name.
"""

import time

import numpy as np

import cohort_votes
import population
from artifacts import load_arrays, load_json
from evolve_audits import save_audit
from job import job
from pe_core import background, seeds
from pe_core.evolution.prefixes import RoundTest, audit
from pe_core.score import LinearScore

where = snakemake.wildcards
attack, canary = snakemake.params.probed


def stream(t: int) -> np.random.SeedSequence:
    """The trials of one round; the first round's are the single release's."""
    names = (where.dataset, where.bank, where.encoder, attack, canary, "trials")
    later = (int(where.transcript), t) if t > 1 else ()
    return seeds.sequence(snakemake.params.seed, *names, *later)


with job(snakemake) as log:
    start = time.perf_counter()
    evaluation = snakemake.params.evaluation
    proofs = load_json(snakemake.input.accounting)["prefixes"]
    tests, rounds = [], []
    for path in snakemake.input.votes:
        votes = load_arrays(path)
        auxiliary, calibration, test = cohort_votes.by_cohort(votes)
        mechanism = population.mechanism(snakemake.params.mechanism, len(test))
        model = background.estimate(
            auxiliary, mechanism, evaluation["shrinkage"], evaluation["ridge"]
        )
        score = LinearScore.fit(votes["canary"], model, mechanism)
        tests.append(RoundTest(score, calibration, test, votes["canary"]))
        rounds.append(
            {
                "separation": float(score.separation),
                "norm_ratio": float(np.linalg.norm(votes["canary"]) / mechanism.clip),
                "probe_share": float(votes["probe_share"]),
                "participants": int(votes["participants"]),
            }
        )
        log.info("round %d: separation %.4f", len(rounds), score.separation)
    tail = evaluation["alpha"] / (4 * snakemake.params.canaries)
    streams = [stream(t) for t in range(1, len(tests) + 1)]
    found = audit(tests, mechanism, evaluation["trials"], tail, streams)
    save_audit(
        snakemake.output[0],
        {
            "dataset": where.dataset,
            "bank": where.bank,
            "encoder": where.encoder,
            "transcript": int(where.transcript),
            "attack": attack,
            "canary": canary,
            "settings": {
                "population": mechanism.population,
                "auxiliary_users": len(auxiliary),
                "calibration_users": len(calibration),
                "seed": snakemake.params.seed,
                "canaries": snakemake.params.canaries,
                "tail": tail,
                **snakemake.params.mechanism,
                **evaluation,
            },
            "rounds": rounds,
            "prefixes": [
                {
                    "releases": each.releases,
                    "threshold": each.threshold,
                    "counts": {
                        "true_positives": each.counts.true_positives,
                        "false_positives": each.counts.false_positives,
                        "trials": each.counts.trials,
                    },
                    "epsilon": {
                        "lower": each.lower,
                        "exact": each.exact,
                        "exact_best": each.exact_best,
                        **{name: value for name, value in proof.items() if name != "releases"},
                    },
                }
                for each, proof in zip(found, proofs)
            ],
            "seconds": round(time.perf_counter() - start, 3),
        },
    )
