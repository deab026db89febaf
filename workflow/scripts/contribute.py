"""Route the users of one part through the chosen probes, and clip.

Output: parts/{part}.npz, the part's contributions on the inspected positions as CSR (data, indices,
indptr, shape).
"""

import numpy as np

import casting
import cohort_votes
import population
from artifacts import load_array, load_arrays, save_arrays
from job import job

with job(snakemake) as log:
    user = population.load(snakemake.input.records).user
    routes = load_arrays(snakemake.input.routes)
    own = load_arrays(snakemake.input.own)
    index = casting.routed(
        routes,
        np.ones(len(user), bool),
        load_array(snakemake.input.record_embeddings),
        own["positions"],
        own["vectors"],
    )
    users = int(user[-1]) + 1
    votes = casting.cast(
        index, user, users, int(routes["bank_size"]), own["positions"], snakemake.params.clip
    )
    save_arrays(snakemake.output[0], **cohort_votes.fields(votes))
    log.info("%d users, %d entries", users, votes.nnz)
