"""Say what the mechanism's proof allows: the paper's accountant and the certified interval.

Output: accounting.json (ε by name, all dimensionless).
"""

from artifacts import save_json
from job import job
from pe_core import Mechanism, accounting

with job(snakemake):
    settings = snakemake.params.mechanism
    # Neither the population nor the clip enters ε.
    mechanism = Mechanism(
        population=1,
        participation=settings["participation"],
        noise_multiplier=settings["noise_multiplier"],
        clip=settings["clip"],
        delta=settings["delta"],
        votes=settings["votes"],
    )
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
