"""Choose probes for both canaries of a pair, route everyone through them, and clip.

A pair is two canaries (`users`), or one canary and the same one with a share of its records
replaced by another's (`attribute`). Half the budget goes to each side, and of an attribute pair
only the records that differ get probes: the others tell the versions apart in nothing.

Output: contributions.npz
    positions (i,)                inspected bank positions
    canaries (2, i)               both contributions on them, float64
    replaced                      records in which the two sides differ
    data, indices, indptr, shape  everyone else's, as CSR (auxiliary, calibration, test users)
    first (4,)                    where those cohorts begin
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

import casting
import cohort_votes
import population
from artifacts import checked, load_array, load_arrays, save_arrays
from job import job
from pe_core import probes, routing, seeds
from pe_core.errors import InputError
from pe_core.routing import Routes

where = snakemake.wildcards
pair = snakemake.params.pair
attack, kind = pair["attack"], pair["kind"]
family, _, objective = attack.partition("-")


@dataclass(frozen=True)
class Side:
    """One of the two versions.

    Attributes:
        owner: the canary whose pool holds candidates for `asked`.
        rows: rows of the embeddings and routes, one a record.
        asked: which of the owner's records get probes, ascending.
    """

    owner: int
    rows: np.ndarray
    asked: np.ndarray


def records_of(canary: int) -> np.ndarray:
    """Return the rows of a canary's records, in their order."""
    if family == "nonce":
        table = pl.read_parquet(checked(snakemake.input.nonces), columns=["canary"])
        return np.flatnonzero(table["canary"].to_numpy() == canary)
    return np.flatnonzero(people.user == people.users("canary").start + canary)


def sides() -> tuple[Side, Side]:
    """Return both versions of the pair."""
    one, other = (records_of(pair[name]) for name in ("first", "second"))
    if kind == "users":
        return (
            Side(pair["first"], one, np.arange(len(one))),
            Side(pair["second"], other, np.arange(len(other))),
        )
    if len(one) != len(other):
        raise InputError(f"pair {where.pair}: {len(one)} and {len(other)} records differ in number")
    count = int(np.ceil(snakemake.params.share * len(one)))
    stream = seeds.generator(snakemake.params.seed, where.dataset, where.pair, "replaced")
    replaced = np.sort(stream.permutation(len(one))[:count])
    version = one.copy()
    version[replaced] = other[replaced]
    return Side(pair["first"], one, replaced), Side(pair["second"], version, replaced)


def choose(side: Side, budget: int, positions: np.ndarray) -> np.ndarray:
    """Return the embeddings of one side's probes."""
    own = vectors[side.rows[side.asked]]
    if attack == "exact":
        return own[:budget]
    columns = pl.read_parquet(checked(snakemake.input.pool))
    mine = columns["canary"].to_numpy() == side.owner
    if "source" in columns.columns:
        mine &= np.isin(columns["source"].to_numpy(), side.asked)
    pool = load_array(snakemake.input.pool_embeddings)[mine]
    if len(pool) < budget:
        raise InputError(
            f"pair {where.pair}: canary {side.owner} has {len(pool)} candidates, {budget} are "
            "needed; raise pool.size or swap.share"
        )
    if attack == "paraphrase":
        chosen = probes.round_robin(columns["source"].to_numpy()[mine], budget)
    elif attack == "nonce":
        names = (where.dataset, where.bank, where.pair, side.owner, "probes")
        chosen = probes.uniform(len(pool), budget, seeds.generator(snakemake.params.seed, *names))
    else:
        rows = side.rows[side.asked]
        chosen = probes.select(
            distance[rows],
            routing.squared_distances(own, pool),
            budget,
            objective,
            base_index=index[rows],
            positions=positions,
        ).sequence
    return pool[chosen]


with job(snakemake) as log:
    people = population.load(snakemake.input.records)
    routes = load_arrays(snakemake.input.routes)
    reserved, bank_size = routes["reserved"], int(routes["bank_size"])
    everyone = load_array(snakemake.input.record_embeddings)
    space = "original" if attack == "ordinary" else "base"
    if family == "nonce":
        vectors = load_array(snakemake.input.nonce_embeddings)
        index, distance = routes["nonce_index"], routes["nonce_distance"]
    else:
        vectors = everyone
        index, distance = routes[f"{space}_index"], routes[f"{space}_distance"]
    both = sides()
    if attack == "ordinary":
        written = np.empty((0, everyone.shape[1]), np.float32)
        own_index = [index[side.rows] for side in both]
        positions = np.unique(np.concatenate(own_index))
    else:
        half = len(reserved) // 2
        if half == 0:
            raise InputError(f"bank.probes = {len(reserved)}: two are needed, one a side")
        chosen = [choose(side, half, reserved[at : at + half]) for side, at in zip(both, (0, half))]
        written = np.ascontiguousarray(np.concatenate(chosen))
        positions = reserved[: len(written)]
        own_index = [
            routing.merge_top_k(
                Routes(index[side.rows], distance[side.rows]),
                positions,
                routing.squared_distances(vectors[side.rows], written),
            ).index
            for side in both
        ]

    others = people.user >= people.users("auxiliary").start
    first = people.first[1:] - people.first[1]
    onto = (bank_size, positions, snakemake.params.clip)
    canaries = np.concatenate(
        [casting.cast(own, np.zeros(len(own), np.int64), 1, *onto).toarray() for own in own_index]
    )
    rest = casting.cast(
        casting.routed(routes, others, everyone, positions, written),
        people.user[others] - people.users("auxiliary").start,
        int(first[-1]),
        *onto,
    )
    save_arrays(
        snakemake.output[0],
        positions=positions,
        canaries=canaries,
        replaced=len(both[0].asked),
        **cohort_votes.fields(rest),
        first=first,
    )
    log.info("norms %s of %g", np.linalg.norm(canaries, axis=1), snakemake.params.clip)
