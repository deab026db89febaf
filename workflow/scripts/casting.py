"""Votes of many users on the inspected positions, once the probes are known."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pe_core import contribution, routing
from pe_core.routing import Routes


def routed(
    routes: Mapping[str, npt.NDArray[Any]],
    rows: npt.NDArray[np.bool_],
    vectors: npt.NDArray[np.float32],
    positions: npt.NDArray[np.integer],
    probes: npt.NDArray[np.float32],
) -> npt.NDArray[np.int32]:
    """Return what some records vote for: on the bank as published where there are no probes.

    Args:
        routes: of routes.npz.
        rows: which records, (n,).
        vectors: embeddings of all records, (n, d).
        positions, probes: of the bank entries that became probes, and their embeddings (r, d).
    """
    if not len(probes):
        return routes["original_index"][rows]
    base = Routes(routes["base_index"][rows], routes["base_distance"][rows])
    distances = routing.squared_distances(vectors[rows], probes)
    return routing.merge_top_k(base, positions, distances).index


def cast(
    index: npt.NDArray[np.int32],
    user: npt.NDArray[np.int64],
    users: int,
    bank_size: int,
    positions: npt.NDArray[np.integer],
    clip: float,
) -> sparse.csr_array:
    """Return the users' clipped contributions on the inspected positions, float64 (users, r)."""
    votes = contribution.contributions(index, user, users, bank_size, clip)
    return sparse.csr_array(votes[:, positions])
