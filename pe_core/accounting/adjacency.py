"""What neighbouring means, what an answer looks like, and the answers that need no computation."""

import math
from dataclasses import dataclass
from enum import StrEnum

from pe_core.errors import InputError
from pe_core.mechanism import Mechanism


class Adjacency(StrEnum):
    """Which two data sets the accountant must not be able to tell apart.

    Invariants, for contributions in a ball of radius C and q, σ, T, δ fixed:
    ε(add_remove) ≤ ε(substitute_votes) ≤ ε(substitute).

    Values:
        ADD_REMOVE: the user takes part (with probability q) or is absent.
        SUBSTITUTE: one user or another; any two vectors of norm C. The pair is antipodal: v′ = −v.
        SUBSTITUTE_VOTES: one user or another, where contributions are never negative, so that
            two of them meet at 90° at most. The pair is orthogonal.

    That no other pair is worse, for any number of releases, is proved in docs/adjacency.md.

    Example:
        >>> Adjacency("substitute") is Adjacency.SUBSTITUTE
        True
    """

    ADD_REMOVE = "add_remove"
    SUBSTITUTE = "substitute"
    SUBSTITUTE_VOTES = "substitute_votes"


@dataclass(frozen=True)
class Interval:
    """A computed number between two ends that hold: low ≤ truth ≤ high.

    Example:
        >>> Interval(1.0, 1.5, 2.0).estimate
        1.5
    """

    low: float
    estimate: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.estimate <= self.high:
            raise InputError(
                f"interval ({self.low!r}, {self.estimate!r}, {self.high!r}): "
                "low ≤ estimate ≤ high is needed"
            )


def checked_adjacency(adjacency: str) -> Adjacency:
    """Return the adjacency of that name; raises InputError for another name.

    Example:
        >>> checked_adjacency("add_remove")
        <Adjacency.ADD_REMOVE: 'add_remove'>
    """
    try:
        return Adjacency(adjacency)
    except ValueError:
        allowed = ", ".join(Adjacency)
        raise InputError(f"adjacency = {adjacency!r}: allowed are {allowed}") from None


def checked_delta(delta: float) -> float:
    """Return δ as a float; raises InputError outside [0, 1].

    Example:
        >>> checked_delta(1e-5)
        1e-05
    """
    if isinstance(delta, bool) or not hasattr(delta, "__float__") or not 0.0 <= delta <= 1.0:
        raise InputError(f"delta = {delta!r}: allowed are values in [0, 1]")
    return float(delta)


def checked_epsilon(epsilon: float) -> float:
    """Return ε as a float; raises InputError where it is negative or NaN.

    Example:
        >>> checked_epsilon(2)
        2.0
    """
    if isinstance(epsilon, bool) or not hasattr(epsilon, "__float__") or not epsilon >= 0.0:
        raise InputError(f"epsilon = {epsilon!r}: allowed are values of at least 0")
    return float(epsilon)


def total_variation_cap(participation: float, releases: int) -> float:
    """Return 1 − (1 − q)^T, the chance that the user takes part at all: a δ that large needs no ε.

    Example:
        >>> total_variation_cap(0.5, 2)
        0.75
    """
    if participation == 1.0:
        return 1.0 if releases else 0.0
    return -math.expm1(releases * math.log1p(-participation))


def defined_epsilon(mechanism: Mechanism, delta: float) -> float | None:
    """Return ε where the design fixes it, None where it must be computed.

    In this order: q = 0, no release, or δ ≥ 1 − (1 − q)^T gives 0 for any σ; then σ = 0 or δ = 0
    gives ∞.

    Example:
        >>> defined_epsilon(Mechanism(10, 0.0, 0.0, 0.1, 1e-5), 1e-5)
        0.0
        >>> defined_epsilon(Mechanism(10, 0.1, 0.0, 0.1, 1e-5), 1e-5)
        inf
    """
    if delta >= total_variation_cap(mechanism.participation, mechanism.releases):
        return 0.0
    if mechanism.noise_multiplier == 0.0 or delta == 0.0:
        return math.inf
    return None


def defined_delta(mechanism: Mechanism, epsilon: float) -> float | None:
    """Return δ(ε) where no computation is needed, None elsewhere.

    Example:
        >>> defined_delta(Mechanism(10, 0.5, 0.0, 0.1, 1e-5, releases=2), 3.0)
        0.75
    """
    cap = total_variation_cap(mechanism.participation, mechanism.releases)
    if cap == 0.0 or mechanism.noise_multiplier == 0.0:
        return cap
    return 0.0 if math.isinf(epsilon) else None
