"""Put the parts of a population together again.

Output: contributions.npz as workflow/scripts/probes.py writes it, to the byte.
"""

from scipy import sparse

import cohort_votes
from artifacts import load_arrays, save_arrays
from job import job

with job(snakemake) as log:
    own = load_arrays(snakemake.input.own)
    parts = [cohort_votes.stored(load_arrays(path)) for path in snakemake.input.parts]
    everyone = sparse.vstack([cohort_votes.stored(own), *parts], format="csr")
    # Cohorts begin where they did; the last entry counts everybody.
    first = own["first"]
    first[-1] = everyone.shape[0]
    merged = {**cohort_votes.fields(everyone), "first": first}
    # In the order of `own`, so that the bytes are those of one file made at once.
    save_arrays(snakemake.output[0], **{name: merged.get(name, own[name]) for name in own})
    log.info("%d users in %d parts", everyone.shape[0], 1 + len(parts))
