"""Find the noise that spends the add/remove budget in all steps at one q.

Output: noise.json (participation q, noise_multiplier σ, steps T, epsilon).
"""

from artifacts import save_json
from job import job
from pe_core import Mechanism, accounting

with job(snakemake) as log:
    settings = snakemake.params.mechanism
    steps = settings["checkpoints"][-1]
    # The population, σ and clip given here do not enter.
    q = snakemake.params.participation
    mechanism = Mechanism(0, q, 1.0, 1.0, settings["delta"], releases=steps)
    sigma = accounting.noise_multiplier_for(settings["epsilon"], mechanism)
    log.info("σ = %s", sigma)
    save_json(
        snakemake.output[0],
        {
            "participation": mechanism.participation,
            "noise_multiplier": sigma,
            "steps": steps,
            "epsilon": settings["epsilon"],
        },
    )
