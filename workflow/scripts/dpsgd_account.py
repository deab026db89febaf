"""Say what each proof allows after each checkpoint at one q, and what μ-GDP would make of S1.

Output: account.json. ε are dimensionless at the config's δ; `group` is group privacy's bound on a
replaced record, 2 ε_AR(δ′). `gdp` holds, for S1's exact rates at each false positive rate, the ε of
the Gaussian trade-off curve through that point.
"""

from dataclasses import asdict, replace

import numpy as np

import dpsgd_settings
from artifacts import save_json
from job import job
from pe_core import accounting
from pe_core.dpsgd import gdp_epsilon, separation, tail_rates, threshold_at

RATES = np.logspace(-9, np.log10(0.5), 60)


def curve(mechanism):
    """The ε that a Gaussian curve through S1's exact point at each false positive rate implies."""
    found = []
    for fpr in RATES.tolist():
        rates = tail_rates(threshold_at(fpr, mechanism), mechanism)
        mu = max(0.0, float(separation(fpr, np.exp(rates.log_fnr))))
        found.append({"fpr": fpr, "epsilon_if_gdp": gdp_epsilon(mu, mechanism.delta)})
    return found


with job(snakemake):
    mechanism = dpsgd_settings.mechanism(snakemake.params.mechanism, snakemake.input[0])
    rows = []
    for steps in snakemake.params.mechanism["checkpoints"]:
        prefix = replace(mechanism, releases=steps)
        rows.append(
            {
                "steps": steps,
                "add_remove": asdict(accounting.epsilon(prefix, "add_remove")),
                "substitute": asdict(accounting.epsilon(prefix, "substitute")),
                "group": asdict(accounting.group_epsilon(prefix)),
                "gdp": curve(prefix),
            }
        )
    save_json(
        snakemake.output[0],
        {
            "participation": mechanism.participation,
            "noise_multiplier": mechanism.noise_multiplier,
            "delta": mechanism.delta,
            "rows": rows,
        },
    )
