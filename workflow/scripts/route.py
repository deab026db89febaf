"""Route every record once: on the bank as published, and on the bank without the positions that
probes will take.

Output: routes.npz, described in workflow/rules/route.smk; distances are squared, float64.
"""

import numpy as np

from artifacts import load_array, save_arrays
from job import job
from pe_core import routing, seeds

with job(snakemake) as log:
    bank = load_array(snakemake.input.bank)
    votes = snakemake.params.votes
    drawn = seeds.generator(
        snakemake.params.seed, snakemake.wildcards.dataset, snakemake.wildcards.bank, "reserved"
    ).permutation(len(bank))[: snakemake.params.probes]
    reserved = np.sort(drawn)
    free = np.setdiff1d(np.arange(len(bank)), reserved)
    found: dict[str, np.ndarray] = {"reserved": reserved, "bank_size": np.asarray(len(bank))}

    def route(name: str, texts: np.ndarray, positions: np.ndarray) -> None:
        candidates = np.ascontiguousarray(bank[positions])
        routes = routing.top_k(texts, candidates, votes).relabel(positions)
        found[f"{name}_index"] = routes.index
        found[f"{name}_distance"] = routes.squared_distance
        log.info("%s: %d records on %d candidates", name, len(texts), len(positions))

    records = load_array(snakemake.input.records)
    route("original", records, np.arange(len(bank)))
    route("base", records, free)
    if snakemake.input.nonces:
        route("nonce", load_array(snakemake.input.nonces), free)
    save_arrays(snakemake.output[0], **found)
