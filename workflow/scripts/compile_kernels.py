"""Compile the kernels of the single-release audit once, by an audit of a few random vectors, before
many jobs ask for them at the same time.

Output: kernels.json (seconds it took, and the folder of the compiled kernels).
"""

import os
import time

import numpy as np

from artifacts import save_json
from job import job
from pe_core import (
    Mechanism,
    background,
    best,
    contribution,
    exact,
    ladder,
    probes,
    routing,
    seeds,
    threshold,
    trials,
)
from pe_core.score import LinearScore

USERS, RECORDS, BANK, POOL, BUDGET = 24, 4, 32, 8, 3
TRIALS, TAIL, EPSILON_THEORY = 1000, 0.01, 1.7
mechanism = Mechanism(USERS, 0.1, 1.0, 0.1, 1e-5)


def unit(rows: int, purpose: str) -> np.ndarray:
    """Return unit vectors in the number format of embeddings."""
    drawn = seeds.generator(0, "kernels", purpose).standard_normal((rows, 8), np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


with job(snakemake):
    began = time.perf_counter()
    records, bank, pool = unit(USERS * RECORDS, "records"), unit(BANK, "bank"), unit(POOL, "pool")
    reserved = np.arange(BUDGET)
    base = routing.top_k(records, bank[BUDGET:], mechanism.votes).relabel(np.arange(BUDGET, BANK))
    own = slice(0, RECORDS)
    own_base = routing.Routes(base.index[own], base.squared_distance[own])
    for objective in ("norm", "mu_eff"):
        chosen = probes.select(
            own_base.squared_distance,
            routing.squared_distances(records[own], pool),
            BUDGET,
            objective,
            np.eye(POOL) if objective == "mu_eff" else None,
            base_index=own_base.index,
            positions=reserved,
        ).sequence
    merged = routing.merge_top_k(
        base, reserved, routing.squared_distances(records, np.ascontiguousarray(pool[chosen]))
    )
    users = np.repeat(np.arange(USERS), RECORDS)
    votes = contribution.contributions(merged.index, users, USERS, BANK, mechanism.clip)
    seen = votes[:, reserved].toarray()
    canary = seen[0]
    score = LinearScore.fit(canary, background.estimate(seen, mechanism), mechanism)
    at = threshold.calibrate(score, seen, canary, mechanism, TRIALS, TAIL)
    trials.error_counts(score, seen, canary, mechanism, at, TRIALS, seeds.sequence(0, "kernels"))
    test = exact.linear_test(score, seen, canary, mechanism)
    best.epsilon_curve(test, [mechanism.delta])
    best.trade_off(test)
    ladder.ladder(score, seen, canary, mechanism, at, TRIALS, TAIL, 0.0, EPSILON_THEORY)
    save_json(
        snakemake.output[0],
        {
            "seconds": round(time.perf_counter() - began, 3),
            "folder": os.environ.get("NUMBA_CACHE_DIR", "beside the kernels' sources"),
        },
    )
