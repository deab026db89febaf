"""From a budget back to the mechanism: the noise, the number of releases, the size of a group."""

import math
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from scipy.optimize import brentq

from pe_core.accounting.account import ends, epsilon
from pe_core.accounting.adjacency import (
    Adjacency,
    Interval,
    checked_adjacency,
    checked_delta,
    checked_epsilon,
    defined_epsilon,
)
from pe_core.accounting.opacus import opacus_prv
from pe_core.errors import InputError
from pe_core.mechanism import Mechanism

# The range of σ that the accountant is tested on.
LEAST_NOISE, MOST_NOISE = 0.02, 100.0
MOST_RELEASES = 100_000


class Accountant(StrEnum):
    """Whose ε must stay within the budget.

    Values:
        CERTIFIED: the upper end of `epsilon`.
        OPACUS: the paper's, `opacus_prv`, for add/remove only.

    Example:
        >>> Accountant("opacus").value
        'opacus'
    """

    CERTIFIED = "certified"
    OPACUS = "opacus"


def _spender(adjacency: str, accountant: str) -> Callable[[Mechanism], float]:
    """The function that says how much a mechanism spends."""
    adjacency = checked_adjacency(adjacency)
    try:
        accountant = Accountant(accountant)
    except ValueError:
        allowed = ", ".join(Accountant)
        raise InputError(f"accountant = {accountant!r}: allowed are {allowed}") from None
    if accountant is Accountant.CERTIFIED:
        return lambda mechanism: ends(mechanism, adjacency, float(mechanism.delta))[1]
    if adjacency is not Adjacency.ADD_REMOVE:
        raise InputError(f"accountant = 'opacus' answers for add_remove only, not {adjacency}")
    return opacus_prv


def noise_multiplier_for(
    budget: float,
    mechanism: Mechanism,
    adjacency: str = Adjacency.ADD_REMOVE,
    accountant: str = Accountant.CERTIFIED,
) -> float:
    """Return the least σ, to a relative 1e-6, whose ε is not above the budget.

    Args:
        budget: ε ≥ 0.
        mechanism: q, T and δ are used; its σ is not.
        adjacency: as in `epsilon`.
        accountant: `certified`, or `opacus` for the paper's.

    Returns:
        σ in [0.02, 100]; 0 where any σ will do. A budget that 0.02 already meets gives 0.02.

    Raises:
        InputError: no σ up to 100 meets the budget; an unknown adjacency or accountant; a negative
            or NaN budget.
        AccuracyError: the accountant cannot answer for a σ on the way.

    Example:
        >>> plain = Mechanism(1000, 1.0, 1.0, 0.1, 1e-5)
        >>> round(noise_multiplier_for(4.37718, plain), 4)
        1.0
    """
    budget = checked_epsilon(budget)
    spend = _spender(adjacency, accountant)

    def at(log_noise: float) -> float:
        return spend(replace(mechanism, noise_multiplier=math.exp(log_noise)))

    if spend(replace(mechanism, noise_multiplier=0.0)) <= budget:
        return 0.0
    low, high = math.log(LEAST_NOISE), math.log(MOST_NOISE)
    # Start from σ = 1 and widen: the ends are the slowest to account for.
    right, left = 0.0, 0.0
    while at(right) > budget:
        if right >= high:
            raise InputError(
                f"epsilon = {budget}: out of reach at q = {mechanism.participation}, "
                f"T = {mechanism.releases}, δ = {mechanism.delta}; "
                f"σ = {MOST_NOISE} still spends {at(high)}"
            )
        left, right = right, min(right + math.log(2), high)
    while left == right or at(left) <= budget:
        if left <= low:
            return LEAST_NOISE
        right, left = left, max(left - math.log(2), low)

    def excess(log_noise: float) -> float:
        return math.log(max(at(log_noise), 1e-300) / budget) if budget > 0 else at(log_noise) - 1e-9

    found = brentq(excess, left, right, xtol=1e-7)
    nudge = 1e-7
    while at(found) > budget:
        found = min(found + nudge, right)
        nudge *= 2
    return math.exp(found)


def releases_for(
    budget: float,
    mechanism: Mechanism,
    adjacency: str = Adjacency.ADD_REMOVE,
    accountant: str = Accountant.CERTIFIED,
    most: int = MOST_RELEASES,
) -> int:
    """Return how many releases the budget allows, at most `most`.

    Args:
        budget: ε ≥ 0.
        mechanism: q, σ and δ are used; its T is not.
        adjacency: as in `epsilon`.
        accountant: as in `noise_multiplier_for`.
        most: where the search ends.

    Raises:
        InputError: not even one release stays within the budget; otherwise as
            `noise_multiplier_for`.
        AccuracyError: the accountant cannot answer for a T on the way.

    Example:
        >>> releases_for(10.0, Mechanism(1000, 1.0, 1.0, 0.1, 1e-5))
        4
    """
    budget = checked_epsilon(budget)
    if isinstance(most, bool) or not hasattr(most, "__index__") or most < 1:
        raise InputError(f"most = {most!r}: a whole number of at least 1 is needed")
    spend = _spender(adjacency, accountant)

    def within(releases: int) -> bool:
        return spend(replace(mechanism, releases=releases)) <= budget

    if not within(1):
        raise InputError(
            f"epsilon = {budget}: not even one release stays within it at "
            f"q = {mechanism.participation}, σ = {mechanism.noise_multiplier}, "
            f"δ = {mechanism.delta}"
        )
    good, bad = 1, 2
    while bad <= most and within(bad):
        good, bad = bad, 2 * bad
    bad = min(bad, most + 1)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if within(middle) else (good, middle)
    return good


def group_epsilon(mechanism: Mechanism, delta: float | None = None) -> Interval:
    """Return what add/remove ε implies for two users at once: 2·ε_AR(δ′).

    δ′ solves (1 + e^{ε_AR(δ′)})·δ′ = δ with the upper end of ε_AR, so the guarantee holds. A
    substitution is two such changes: this is what a reader of add/remove ε alone can conclude.

    Args:
        mechanism: q, σ, T and δ are used.
        delta: replaces the mechanism's δ.

    Raises:
        InputError: δ outside [0, 1].
        AccuracyError: back ends differ by more than their errors.

    Example:
        >>> round(group_epsilon(Mechanism(1000, 1.0, 1.0, 0.1, 1e-5)).estimate, 2)
        11.05
    """
    delta = float(mechanism.delta) if delta is None else checked_delta(delta)
    defined = defined_epsilon(mechanism, delta)
    if defined is not None:
        return Interval(defined, defined, defined)

    def excess(log_share: float, end: int = 1) -> float:
        spent = ends(mechanism, Adjacency.ADD_REMOVE, math.exp(log_share))[end]
        return log_share + spent + math.log1p(math.exp(-spent)) - math.log(delta)

    high = math.log(delta / 2)
    if excess(high) <= 0.0:
        found = high
    else:
        low = high - 2.0
        while excess(low) > 0.0:
            # The sum would need a δ′ below what a double can hold.
            if low < -600.0:
                return Interval(0.0, math.inf, math.inf)
            low = 2 * low
        found = brentq(excess, low, high, xtol=1e-9)
        while excess(found) > 0.0:
            found -= 1e-9
    # The other end: a share that is too large even with the lower end of ε_AR. The sum's
    # logarithm grows by at most as much as the share's, so what it lacks is stepped over twice.
    above = found
    while above < high and (short := -excess(above, end=0)) > 0.0:
        above = min(above + 2 * short + 1e-12, high)
    low, _ = ends(mechanism, Adjacency.ADD_REMOVE, math.exp(above))
    one = epsilon(mechanism, Adjacency.ADD_REMOVE, math.exp(found))
    return Interval(2 * low, 2 * one.estimate, 2 * one.high)
