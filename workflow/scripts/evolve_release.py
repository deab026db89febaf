"""The private half of a round: route everybody on the bank, clip, sample, sum, add noise.

Output:
    routes.npz    index, distance (n, k): the records of auxiliary, calibration and test users in
                  their order, then the canary's, on the published bank
    votes.npz     contributions on the probes, by the names of probes.py, and of the test users'
                  votes the share that probes won (probe_share), and who took part (participants)
    release.npz   histogram (p,): all that becomes public
"""

import numpy as np
import polars as pl
from scipy import sparse

import cohort_votes
import population
from artifacts import checked, load_array, load_arrays, save_arrays
from job import job
from pe_core import contribution, evolution, routing, seeds
from pe_core.routing import Routes

where = snakemake.wildcards


def own_rows(canary: int, synthetic: bool, people: population.Population) -> np.ndarray:
    """Return the canary's rows among the records, or among the synthetic ones."""
    if synthetic:
        table = pl.read_parquet(checked(snakemake.input.nonces), columns=["canary"])
        return np.flatnonzero(table["canary"].to_numpy() == canary)
    return np.flatnonzero(people.user == people.users("canary").start + canary)


def first_routes(
    found: dict[str, np.ndarray], others: np.ndarray, own: np.ndarray, own_name: str
) -> Routes:
    """Route on the first bank as the single release does: the base's routes and the probes."""
    name = "base" if len(reserved) else "original"
    base = Routes(
        np.concatenate([found[f"{name}_index"][others], found[f"{own_name}_index"][own]]),
        np.concatenate([found[f"{name}_distance"][others], found[f"{own_name}_distance"][own]]),
    )
    if not len(reserved):
        return base
    return routing.merge_top_k(
        base,
        reserved,
        routing.squared_distances(voters, np.ascontiguousarray(embeddings[reserved])),
    )


with job(snakemake) as log:
    people = population.load(snakemake.input.records)
    table = pl.read_parquet(checked(snakemake.input.bank), columns=["reserved", "written"])
    embeddings = load_array(snakemake.input.embeddings)
    vectors = load_array(snakemake.input.record_embeddings)
    reserved = np.flatnonzero(table["reserved"].to_numpy())
    others = np.flatnonzero(people.user >= people.users("auxiliary").start)
    own, own_name, own_vectors = np.empty(0, np.int64), "base", vectors[:0]
    if snakemake.params.probed is not None:
        attack, canary = snakemake.params.probed
        synthetic = attack.startswith("nonce")
        own = own_rows(canary, synthetic, people)
        own_name = "nonce" if synthetic else "base"
        source = load_array(snakemake.input.nonce_embeddings) if synthetic else vectors
        own_vectors = source[own]
    voters = np.concatenate([vectors[others], own_vectors])

    before = load_arrays(snakemake.input.routes)
    changed = np.flatnonzero(table["written"].to_numpy() == int(where.round) - 1)
    if where.round == "1":
        routes = first_routes(before, others, own, own_name)
    else:
        routes = Routes(before["index"], before["distance"])
        if len(changed):
            routes = evolution.reroute(routes, voters, embeddings, changed)

    # The canary is one user behind the last of the others.
    first = people.first[1:] - people.first[1]
    users, p = int(first[-1]), len(table)
    user = np.concatenate(
        [people.user[others] - people.users("auxiliary").start, np.full(len(own), users)]
    )
    votes = contribution.contributions(
        routes.index, user, users + 1, p, snakemake.params.mechanism["clip"]
    )
    tested = slice(int(first[2]), users)
    mechanism = population.mechanism(snakemake.params.mechanism, tested.stop - tested.start)

    def stream(purpose: str) -> np.random.Generator:
        return seeds.generator(
            snakemake.params.seed,
            *(where.dataset, where.bank, where.encoder, "evolution"),
            *(int(where.transcript), purpose, int(where.round)),
        )

    release = evolution.publish(votes[tested], mechanism, stream("participation"), stream("noise"))
    theirs = routes.index[(user >= tested.start) & (user < tested.stop)]
    share = float(np.isin(theirs, reserved).mean())
    on_probes = sparse.csr_array(votes[:users][:, reserved])
    save_arrays(snakemake.output.routes, index=routes.index, distance=routes.squared_distance)
    save_arrays(
        snakemake.output.votes,
        positions=reserved,
        canary=votes[[users]][:, reserved].toarray()[0],
        **cohort_votes.fields(on_probes),
        first=first,
        probe_share=share,
        participants=(
            stream("participation").random(mechanism.population) < mechanism.participation
        ).sum(),
    )
    save_arrays(snakemake.output.release, histogram=release.histogram)
    log.info("%d records on %d entries, probes won %.4f of the votes", len(voters), p, share)
