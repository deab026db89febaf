"""Say what the proof allows after each round: the paper's accountant and the certified interval.

Output: accounting-evolution.json, one entry a number of releases (ε by name, dimensionless).
"""

from dataclasses import replace

import population
from artifacts import save_json
from job import job
from pe_core import accounting

with job(snakemake):
    # The population does not enter ε.
    one = population.mechanism(snakemake.params.mechanism, 1)
    prefixes = []
    for releases in range(1, snakemake.params.rounds + 1):
        mechanism = replace(one, releases=releases)
        certified = accounting.epsilon(mechanism, "add_remove")
        prefixes.append(
            {
                "releases": releases,
                "epsilon_theory": accounting.opacus_prv(mechanism),
                "epsilon_theory_low": certified.low,
                "epsilon_theory_estimate": certified.estimate,
                "epsilon_theory_high": certified.high,
            }
        )
    save_json(snakemake.output[0], {"prefixes": prefixes})
