"""Say what the mechanism's proof allows: the paper's accountant and the certified interval.

Output: accounting.json (ε by name, all dimensionless).
"""

import population
from artifacts import save_json
from job import job
from pe_core import accounting

with job(snakemake):
    # The population does not enter ε.
    mechanism = population.mechanism(snakemake.params.mechanism, 1)
    certified = accounting.epsilon(mechanism, "add_remove")
    save_json(
        snakemake.output[0],
        {
            "epsilon_theory": accounting.opacus_prv(mechanism),
            "epsilon_theory_low": certified.low,
            "epsilon_theory_estimate": certified.estimate,
            "epsilon_theory_high": certified.high,
        },
    )
