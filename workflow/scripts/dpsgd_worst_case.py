"""Play S1 at one q: the worst-case data set, by trials and exactly.

Output: audit.json (ε dimensionless, one row a checkpoint).
"""

import time
from dataclasses import replace

import dpsgd_audits
import dpsgd_settings
from job import job
from pe_core.dpsgd import play_worst_case, worst_case_epsilon

with job(snakemake) as log:
    began = time.perf_counter()
    params = snakemake.params
    mechanism = dpsgd_settings.mechanism(params.mechanism, snakemake.input.noise)
    checkpoints = tuple(params.mechanism["checkpoints"])
    scores = play_worst_case(
        mechanism, params.runs, checkpoints, params.seed, ("dpsgd", "S1", snakemake.wildcards.share)
    )
    rows = dpsgd_audits.rows(scores, mechanism.delta, checkpoints, params.alpha)
    for row in rows:
        row["epsilon_exact"] = worst_case_epsilon(replace(mechanism, releases=row["steps"]))
    dpsgd_audits.save(
        snakemake.output[0],
        dpsgd_audits.audit(
            "worst_case", "S1", mechanism, params.runs, params.alpha, rows, {}, [], began
        ),
    )
