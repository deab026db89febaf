"""Greedy selection beside a NumPy version that solves anew for every candidate."""

import time
from collections.abc import Callable, Iterator

import numpy as np
from measure import seconds, table

from pe_core.probes import select

RECORDS, VOTES = 64, 5


def core_seconds(work: Callable[[], object], repeats: int) -> float:
    return seconds(work, repeats, clock=time.thread_time)


def problem(candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """Base routes, and distances to a pool that wins about a tenth of the votes."""
    rng = np.random.default_rng(0)
    base = np.sort(0.5 + rng.random((RECORDS, VOTES)), axis=1)
    return base, 0.45 + rng.random((RECORDS, candidates))


def pool_covariance(candidates: int) -> np.ndarray:
    """A covariance of the pool from 500 users whose votes hardly meet."""
    rng = np.random.default_rng(1)
    votes = rng.random((500, candidates)) * (rng.random((500, candidates)) < 320 / 8192)
    votes *= 0.2
    covariance = votes.T @ votes
    covariance[np.diag_indices(candidates)] += 0.01
    return covariance


def numpy_select(
    base: np.ndarray, pool: np.ndarray, budget: int, covariance: np.ndarray | None
) -> list[int]:
    """Routes are kept, and votes counted anew for every candidate, with one solve each."""
    distance, owner = base.copy(), np.full(base.shape, -1)
    chosen: list[int] = []
    for t in range(budget):
        scores = np.full(pool.shape[1], -1.0)
        for c in set(range(pool.shape[1])) - set(chosen):
            votes = _votes(distance, owner, pool[:, c], t)
            if covariance is None:
                scores[c] = votes @ votes
            else:
                picked = [*chosen, c]
                scores[c] = votes @ np.linalg.solve(covariance[np.ix_(picked, picked)], votes)
        best = int(np.flatnonzero(scores >= scores.max() * (1 - 1e-12))[0])
        won = np.flatnonzero(pool[:, best] < distance[:, -1])
        distance[won, -1], owner[won, -1] = pool[won, best], t
        order = np.argsort(distance, axis=1, kind="stable")
        distance = np.take_along_axis(distance, order, axis=1)
        owner = np.take_along_axis(owner, order, axis=1)
        chosen.append(best)
    return chosen


def _votes(distance: np.ndarray, owner: np.ndarray, candidate: np.ndarray, t: int) -> np.ndarray:
    last = np.where(candidate < distance[:, -1], t, owner[:, -1])
    held = np.concatenate((owner[:, :-1].ravel(), last))
    return np.bincount(held[held >= 0], minlength=t + 1).astype(np.float64)


def tables(size: str) -> Iterator[str]:
    rows = []
    base, pool = problem(128)
    covariance = pool_covariance(128)
    for objective, sigma in (("norm", None), ("mu_eff", covariance)):
        assert numpy_select(base, pool, 16, sigma) == list(
            select(base, pool, 16, objective, sigma).sequence
        )
        plain = core_seconds(lambda: numpy_select(base, pool, 16, sigma), 2)  # noqa: B023
        ours = core_seconds(lambda: select(base, pool, 16, objective, sigma), 20)  # noqa: B023
        rows.append([objective, 128, 16, ours * 1e3, plain * 1e3, plain / ours, "-"])
    large = [] if size == "quick" else [(8192, 512, "-", "-")]
    for candidates, budget, norm, mu_eff in [(512, 64, 20, 100), *large]:
        base, pool = problem(candidates)
        covariance = pool_covariance(candidates)
        for objective, sigma, target in (("norm", None, norm), ("mu_eff", covariance, mu_eff)):
            repeats = 3 if candidates > 1000 else 10
            ours = core_seconds(lambda: select(base, pool, budget, objective, sigma), repeats)  # noqa: B023
            rows.append([objective, candidates, budget, ours * 1e3, "-", "-", target])
    yield table(
        f"Greedy selection: milliseconds on one core ({RECORDS} records, {VOTES} votes each)",
        ["objective", "M", "r", "ours", "NumPy", "NumPy/ours", "target"],
        rows,
    )
