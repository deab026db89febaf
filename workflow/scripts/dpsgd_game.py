"""Play one scenario of S2 to S5 with one model at one q.

Output: audit.json (ε dimensionless, accuracies as shares, one row a checkpoint).
"""

import time

import dpsgd_audits
import dpsgd_settings
from artifacts import load_arrays, load_json
from job import job
from pe_core.dpsgd import GradientPair, InputPair, play

with job(snakemake) as log:
    began = time.perf_counter()
    params, scenario = snakemake.params, snakemake.wildcards.scenario
    names = (params.model["name"], scenario, snakemake.wildcards.share)
    game = dpsgd_settings.game(snakemake.input, params, names)
    notes = load_json(snakemake.input.notes)
    pair = notes["pairs"][scenario]
    if scenario == "S2":
        scores = play(game, GradientPair(**pair))
    else:
        stored = load_arrays(snakemake.input.canaries)
        records = stored[f"{scenario}_features"], stored[f"{scenario}_labels"]
        scores = play(game, InputPair(*records, **pair))
    mechanism = game.training.mechanism
    rows = dpsgd_audits.rows(scores, mechanism.delta, game.checkpoints, params.alpha)
    dpsgd_audits.save(
        snakemake.output[0],
        dpsgd_audits.audit(
            params.model["name"], scenario, mechanism, params.runs, params.alpha, rows, pair,
            notes["warnings"], began,
        ),
    )  # fmt: skip
