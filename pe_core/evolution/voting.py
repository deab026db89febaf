"""The private half of a round: from users' contributions to one noisy histogram."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pe_core.errors import InputError
from pe_core.evolution.data import Release
from pe_core.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Voters:
    """The private side: records in the encoder's space, and whose they are.

    Attributes:
        records: (n, d) float32 unit rows.
        user: (n,) integers in 0 … users − 1.
        users: N; users without records contribute zero.
    """

    records: NDArray[np.float32]
    user: NDArray[np.integer]
    users: int


def publish(
    contributions: csr_array,
    mechanism: Mechanism,
    participation: np.random.Generator,
    noise: np.random.Generator,
) -> Release:
    """Sample users, sum their contributions and add noise (equation 2).

    Args:
        contributions: (N, p) float64, clipped, one user a row.
        mechanism: gives N, q, σ and C.
        participation: one uniform a user is drawn from it, whatever q is.
        noise: one normal a position is drawn from it, whatever σ is.

    Returns:
        Σ I_u v_u + σC·Z. A round that nobody takes part in is noise alone.

    Raises:
        InputError: another number of users than the mechanism's population.

    Example:
        >>> mechanism = Mechanism(2, 1.0, 0.0, 1.0, 1e-5)
        >>> votes = csr_array(np.array([[0.5, 0.0], [0.25, 0.25]]))
        >>> publish(votes, mechanism, np.random.default_rng(1), np.random.default_rng(2)).histogram
        array([0.75, 0.25])
    """
    users, p = contributions.shape
    if users != mechanism.population:
        raise InputError(
            f"contributions have {users} users: the mechanism's population is "
            f"{mechanism.population}"
        )
    taking_part = participation.random(users) < mechanism.participation
    total = np.asarray(contributions.T @ taking_part.astype(np.float64))
    return Release(total + mechanism.noise_scale * noise.standard_normal(p))
