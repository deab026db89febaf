"""Route every record once: on the bank as published, and on the bank without the positions that
probes will take.

Output: routes.npz, described in workflow/rules/route.smk; distances are squared, float64.
"""

import numpy as np

from artifacts import load_array, save_arrays
from job import job
from pe_core import routing, seeds
from pe_core.routing import Routes

with job(snakemake) as log:
    bank = load_array(snakemake.input.bank)
    settings, seed, votes = (
        snakemake.params.routing,
        snakemake.params.seed,
        snakemake.params.votes,
    )
    drawn = seeds.generator(
        seed, snakemake.wildcards.dataset, snakemake.wildcards.bank, "reserved"
    ).permutation(len(bank))[: snakemake.params.probes]
    reserved = np.sort(drawn)
    free = np.setdiff1d(np.arange(len(bank)), reserved)
    candidates = np.ascontiguousarray(bank[free])
    approximate = len(bank) > settings["approximate_above"]
    found: dict[str, np.ndarray] = {
        "reserved": reserved,
        "bank_size": np.asarray(len(bank)),
        "method": np.asarray("hnsw" if approximate else "exact"),
    }
    if approximate:
        # Imported here: an optional package that exact routing does without.
        from pe_core.approximate import Index

        graphs = {key: settings[key] for key in ("width", "links", "construction")}
        index = Index.build(candidates, seed=seed, **graphs)
        log.info("HNSW on %d candidates: %s", len(free), graphs)

    def route(name: str, texts: np.ndarray) -> Routes:
        if approximate:
            near = index.top_k(texts, votes, recall=settings["recall"], search=settings["search"])
            routes = near.routes
            found[f"{name}_recall"] = np.asarray(near.recall)
            found[f"{name}_sampled"] = np.asarray(near.sampled)
            log.info(
                "%s: recall@%d %.4f over %d sampled records", name, votes, near.recall, near.sampled
            )
        else:
            routes = routing.top_k(texts, candidates, votes)
        log.info("%s: %d records on %d candidates", name, len(texts), len(free))
        return routes.relabel(free)

    def keep(name: str, routes: Routes) -> None:
        found[f"{name}_index"] = routes.index
        found[f"{name}_distance"] = routes.squared_distance

    records = load_array(snakemake.input.records)
    base = route("base", records)
    keep("base", base)
    if len(reserved):
        # The published bank is the free entries and those at the reserved positions.
        published = np.ascontiguousarray(bank[reserved])
        base = routing.merge_top_k(base, reserved, routing.squared_distances(records, published))
    keep("original", base)
    if snakemake.input.nonces:
        keep("nonce", route("nonce", load_array(snakemake.input.nonces)))
    save_arrays(snakemake.output[0], **found)
