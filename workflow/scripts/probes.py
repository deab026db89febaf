"""Choose the probes of one attack on one canary, route everyone through them, and clip.

Output: contributions.npz
    chosen (r,)                   which candidates became probes, in the order of their positions
    vectors (r,d)                 their embeddings, float32
    positions (i,)                inspected bank positions
    canary (i,)                   the canary's contribution on them, float64
    data, indices, indptr, shape  everyone else's, as CSR (auxiliary, calibration, test users)
    first (4,)                    where those cohorts begin
    votes_on_inspected, votes, norm, unclipped_norm   of the canary
"""

from typing import Any

import numpy as np
import polars as pl

import casting
import cohort_votes
import population
from artifacts import checked, load_array, load_arrays, save_arrays
from job import job
from pe_core import background, contribution, probes, routing, seeds
from pe_core.routing import Routes

where = snakemake.wildcards
attack, canary = where.attack, int(where.canary)
family, _, objective = attack.partition("-")


def rows_of(path: str, column: str = "canary") -> np.ndarray:
    """Return the rows of a table of synthetic texts that belong to this canary."""
    table = pl.read_parquet(checked(path), columns=[column])
    return np.flatnonzero(table[column].to_numpy() == canary)


def pool_covariance(base: Routes, vectors: np.ndarray, pool: np.ndarray) -> Any:
    """Return Σ̂_Q: auxiliary users routed on the bank with all candidates of the pool at once."""
    settings = snakemake.params.background
    users = people.users("auxiliary")
    rows = (people.user >= users.start) & (people.user < users.stop)
    size = bank_size + len(pool)
    merged = routing.merge_top_k(
        Routes(base.index[rows], base.squared_distance[rows]),
        np.arange(bank_size, size),
        routing.squared_distances(vectors[rows], pool),
    )
    votes = contribution.contributions(
        merged.index,
        people.user[rows] - users.start,
        users.stop - users.start,
        size,
        snakemake.params.clip,
    )
    mechanism = population.mechanism(settings, snakemake.params.population)
    return background.estimate(
        votes[:, bank_size:], mechanism, settings["shrinkage"], settings["ridge"]
    ).covariance


def choose(base: Routes, own: np.ndarray, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which candidates become probes, and their embeddings."""
    budget = len(reserved)
    if attack == "exact":
        chosen = np.arange(min(budget, len(own)))
        return chosen, own[chosen]
    rows = rows_of(snakemake.input.pool)
    pool = load_array(snakemake.input.pool_embeddings)[rows]
    if attack == "paraphrase":
        table = pl.read_parquet(checked(snakemake.input.pool), columns=["source"])
        chosen = probes.round_robin(table["source"].to_numpy()[rows], budget)
    elif attack == "nonce":
        stream = seeds.generator(
            snakemake.params.seed, where.dataset, where.bank, attack, canary, "probes"
        )
        chosen = probes.uniform(len(pool), budget, stream)
    else:
        covariance = pool_covariance(all_base, records, pool) if objective == "mu_eff" else None
        chosen = probes.select(
            base.squared_distance,
            routing.squared_distances(own, pool),
            budget,
            objective,
            covariance,
            base_index=base.index,
            positions=reserved,
        ).sequence
    return chosen, np.ascontiguousarray(pool[chosen])


with job(snakemake) as log:
    people = population.load(snakemake.input.records)
    routes = load_arrays(snakemake.input.routes)
    reserved = routes["reserved"]
    vectors = load_array(snakemake.input.record_embeddings)
    # Every position is either free or reserved; the free ones are all that routing saw.
    bank_size = int(routes["bank_size"])
    all_base = Routes(routes["base_index"], routes["base_distance"])
    if family == "nonce":
        rows = rows_of(snakemake.input.nonces)
        own = load_array(snakemake.input.nonce_embeddings)[rows]
        own_base = Routes(routes["nonce_index"][rows], routes["nonce_distance"][rows])
    else:
        rows = np.flatnonzero(people.user == people.users("canary").start + canary)
        own = vectors[rows]
        own_base = Routes(all_base.index[rows], all_base.squared_distance[rows])

    if attack == "ordinary":
        chosen, probe_vectors = np.empty(0, np.int64), np.empty((0, vectors.shape[1]), np.float32)
        own_index = routes["original_index"][rows]
        positions = np.unique(own_index)
    else:
        chosen, probe_vectors = choose(own_base, own, vectors)
        positions = reserved[: len(chosen)]
        own_index = routing.merge_top_k(
            own_base, positions, routing.squared_distances(own, probe_vectors)
        ).index

    first = people.first[1:] - people.first[1]
    clip = snakemake.params.clip
    own_votes = contribution.contributions(
        own_index, np.zeros(len(own_index), np.int64), 1, bank_size, clip
    )
    others = people.user >= people.users("auxiliary").start
    others_votes = casting.cast(
        casting.routed(routes, others, vectors, positions, probe_vectors),
        people.user[others] - people.users("auxiliary").start,
        int(first[-1]),
        bank_size,
        positions,
        clip,
    )
    mine = own_votes[:, positions].toarray()[0]
    counts = np.unique(own_index, return_counts=True)[1]
    save_arrays(
        snakemake.output[0],
        chosen=chosen,
        vectors=probe_vectors,
        positions=positions,
        canary=mine,
        **cohort_votes.fields(others_votes),
        first=first,
        votes_on_inspected=np.isin(own_index, positions).sum(),
        votes=own_index.size,
        norm=np.linalg.norm(mine),
        unclipped_norm=np.linalg.norm(counts) / own_index.size,
    )
    log.info("%d probes, canary norm %.6f of %g", len(chosen), np.linalg.norm(mine), clip)
