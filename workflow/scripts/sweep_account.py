"""ε that the proof allows at every point of the sweep.

Output: sweep.json (points: noise multiplier σ, participation q, ε by name, all dimensionless).
"""

import population
from artifacts import save_json
from job import job
from pe_core import accounting

with job(snakemake):
    points = []
    for point in snakemake.params.points:
        mechanism = population.mechanism({**snakemake.params.mechanism, **point}, 1)
        certified = accounting.epsilon(mechanism, "add_remove")
        points.append(
            {
                **point,
                "epsilon_theory": accounting.opacus_prv(mechanism),
                "epsilon_theory_low": certified.low,
                "epsilon_theory_estimate": certified.estimate,
                "epsilon_theory_high": certified.high,
            }
        )
    save_json(snakemake.output[0], {"points": points})
