"""Every point of every sweep.

Output: figure1.csv, one row a dataset, attack, noise multiplier σ and participation q; ε are
dimensionless. `epsilon_lower` and `epsilon_upper` are the two ends of the 95% band; an upper end
that nothing bounds is empty. `epsilon_ceiling` is what an ideal attack is expected to prove by as
many trials.
"""

from functools import cache
from typing import Any

import polars as pl

import contracts
import population
import tables
from job import job
from pe_core import planning

NAMES = ("dataset", "bank", "encoder", "attack", "canary")


# Attacks share their points.
ceiling = cache(planning.ceiling)


def row(sweep: dict[str, Any], point: dict[str, Any]) -> dict[str, Any]:
    settings = sweep["settings"]
    # The population does not enter: an ideal attack meets no traffic.
    mechanism = population.mechanism({**settings, **point}, 1)
    return {
        **{name: sweep[name] for name in NAMES},
        **point,
        "epsilon_ceiling": ceiling(mechanism, settings["trials"], settings["tail"]),
        "trials": settings["trials"],
    }


with job(snakemake):
    sweeps = [contracts.load(path, "sweep_audit") for path in snakemake.input]
    rows = [row(sweep, point) for sweep in sweeps for point in sweep["points"]]
    tables.save(snakemake, pl.DataFrame(rows, infer_schema_length=None), snakemake.output.csv)
