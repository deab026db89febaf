"""Say what the mechanism's proof allows under each neighbouring relation.

Output: adjacency.json (by adjacency, and `group` for what add/remove implies for a swap: the two
ends that hold and the estimate between them, all ε, dimensionless).
"""

from dataclasses import asdict

import population
from artifacts import save_json
from job import job
from pe_core import accounting

with job(snakemake):
    mechanism = population.mechanism(snakemake.params.mechanism, 1)
    found = {str(each): accounting.epsilon(mechanism, each) for each in accounting.Adjacency}
    found["group"] = accounting.group_epsilon(mechanism)
    save_json(snakemake.output[0], {name: asdict(each) for name, each in found.items()})
