"""ε(δ) and δ(ε) by adjacency: a certified interval, and a second opinion that must agree."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pe_core.accounting.adjacency import (
    Adjacency,
    Interval,
    checked_adjacency,
    checked_delta,
    checked_epsilon,
    defined_delta,
    defined_epsilon,
)
from pe_core.accounting.contour import contour_delta
from pe_core.accounting.grid import (
    Composition,
    chernoff_window,
    compose,
    tilt_for_delta,
    tilt_for_epsilon,
)
from pe_core.accounting.library import library_delta, reaches
from pe_core.accounting.quadrature import (
    ROUNDING,
    SEPARATION,
    SOLVED,
    gaussian_delta,
    pair_delta,
    solve_epsilon,
)
from pe_core.accounting.step import DIRECTIONS, Kind, Step, cumulants, steps_of
from pe_core.errors import AccuracyError
from pe_core.mechanism import Mechanism

# ε is a double: nothing tells δ(ε) from δ at its neighbours.
_NEIGHBOUR = 1e-15
_LEAST_DELTA = 1e-290


@dataclass(frozen=True)
class Account:
    """What the accountant found.

    Attributes:
        adjacency: which neighbours.
        delta: δ.
        epsilon: the ε that holds in every direction.
        directions: ε of each ordered pair: `remove` (present against absent) and `add`, or `swap`.
        dominant: the direction with the greatest ε.
        back_ends: what was compared; empty where the answer is defined without computing.
    """

    adjacency: Adjacency
    delta: float
    epsilon: Interval
    directions: dict[str, Interval]
    dominant: str
    back_ends: tuple[str, ...]


@dataclass(frozen=True)
class _Pair:
    """One ordered pair: δ(ε) from the closed form where there is one, else from the grid."""

    steps: tuple[Step, ...]
    releases: int
    exact: Callable[[float], float] | None
    delta: float

    @cached_property
    def tilt(self) -> float:
        return tilt_for_delta(self.steps, self.releases, self.delta)

    def composition(self) -> Composition:
        return compose(self.steps, self.releases, self.tilt, self.delta)

    def curve(self, composition: Composition | None) -> Callable[[float], Interval]:
        """δ(ε) of the first back end."""
        exact = self.exact
        if exact is None:
            assert composition is not None
            return composition.delta
        return lambda epsilon: _around(exact(epsilon))

    def epsilon(self, composition: Composition | None) -> Interval:
        """ε(δ) of the first back end."""
        if self.exact is None:
            assert composition is not None
            return composition.epsilon(self.delta)
        scale = 1e-3 * max(abs(end) for step in self.steps for end in step.support)
        low, middle, high = (
            solve_epsilon(self.exact, self.delta * factor, scale)
            for factor in (1 + ROUNDING, 1.0, 1 - ROUNDING)
        )
        return Interval(min(low, middle) * (1 - SOLVED), middle, max(high, middle) * (1 + SOLVED))

    def check(self, composition: Composition, epsilon: float) -> None:
        """Compare the first back end at ε with the other; raises AccuracyError."""
        low = composition.delta(epsilon * (1 + _NEIGHBOUR)).low
        high = composition.delta(epsilon * (1 - _NEIGHBOUR)).high
        grid = Interval(low, min(max(composition.delta(epsilon).estimate, low), high), high)
        if self.exact is not None:
            other, name = _around(self.exact(epsilon)), "quadrature"
        else:
            other = contour_delta(self.steps, self.releases, self.tilt, epsilon, self.delta)
            name = "contour"
        _agree(self.steps[0], self.releases, epsilon, {"grid": grid, name: other})


def _around(delta: float) -> Interval:
    return Interval(delta * (1 - ROUNDING), delta, delta * (1 + ROUNDING))


def _agree(step: Step, releases: int, epsilon: float, found: dict[str, Interval]) -> None:
    if max(each.low for each in found.values()) > min(each.high for each in found.values()):
        said = "; ".join(f"{name} [{each.low!r}, {each.high!r}]" for name, each in found.items())
        raise AccuracyError(
            f"accountants disagree on δ at ε = {epsilon!r}, q = {step.participation}, "
            f"σ = {step.noise_multiplier}, T = {releases}: {said}"
        )


def _pair(
    adjacency: Adjacency, kinds: tuple[Kind, ...], mechanism: Mechanism, delta: float
) -> _Pair:
    q, sigma = float(mechanism.participation), float(mechanism.noise_multiplier)
    releases = int(mechanism.releases)
    exact: Callable[[float], float] | None = None
    if q == 1.0:
        separation = SEPARATION[adjacency] * math.sqrt(releases) / sigma

        def exact(epsilon: float) -> float:
            return gaussian_delta(separation, epsilon)

    elif releases == 1:

        def exact(epsilon: float) -> float:
            return pair_delta(kinds, q, sigma, epsilon)

    steps = steps_of(kinds, q, sigma, releases, delta)
    return _Pair(steps, releases, exact, delta)


def account(
    mechanism: Mechanism, adjacency: str = Adjacency.ADD_REMOVE, delta: float | None = None
) -> Account:
    """Account for the mechanism: ε at δ, in every direction, by two or three back ends.

    With one release, or q = 1, ε comes from quadrature of the exact pair and is checked on the
    grid; otherwise it comes from the grid, whose ends are certified, and is checked by a contour
    integral. Where dp-accounting reaches (T ≤ 1000, δ ≥ 1e-9) it is asked as well.

    Args:
        mechanism: q, σ, T and δ are used.
        adjacency: `add_remove`, `substitute` or `substitute_votes`.
        delta: replaces the mechanism's δ.

    Raises:
        InputError: an unknown adjacency, or δ outside [0, 1].
        AccuracyError: back ends differ by more than their errors.

    Example:
        >>> found = account(Mechanism(1000, 0.1, 1.0, 0.1, 1e-5))
        >>> found.dominant, round(found.epsilon.estimate, 7)
        ('remove', 1.6845438)
    """
    adjacency = checked_adjacency(adjacency)
    delta = float(mechanism.delta) if delta is None else checked_delta(delta)
    directions = DIRECTIONS[adjacency]
    defined = defined_epsilon(mechanism, delta)
    if defined is not None:
        same = Interval(defined, defined, defined)
        names = list(directions)
        return Account(adjacency, delta, same, dict.fromkeys(names, same), names[0], ())

    pairs = {name: _pair(adjacency, kinds, mechanism, delta) for name, kinds in directions.items()}
    compositions = {name: pair.composition() for name, pair in pairs.items()}
    found = {name: pair.epsilon(compositions[name]) for name, pair in pairs.items()}
    for name, pair in pairs.items():
        pair.check(compositions[name], found[name].estimate)
    dominant = max(found, key=lambda name: found[name].estimate)
    whole = Interval(*(max(getattr(e, end) for e in found.values()) for end in _ENDS))

    first = next(iter(pairs.values()))
    back_ends = ["grid", "contour" if first.exact is None else "quadrature"]
    if reaches(first.releases, delta):
        at = whole.estimate
        curves = [pair.curve(compositions[name])(at) for name, pair in pairs.items()]
        ours = Interval(*(max(getattr(each, end) for each in curves) for end in _ENDS))
        windows = [chernoff_window(p.steps, p.releases, p.tilt) for p in pairs.values()]
        window = min(low for low, _ in windows), max(high for _, high in windows)
        theirs = library_delta(adjacency, first.steps, first.releases, window, at)
        _agree(first.steps[0], first.releases, at, {"own": ours, "dp-accounting": theirs})
        back_ends.append("dp-accounting")
    return Account(adjacency, delta, whole, found, dominant, tuple(back_ends))


_ENDS = ("low", "estimate", "high")


def epsilon(
    mechanism: Mechanism, adjacency: str = Adjacency.ADD_REMOVE, delta: float | None = None
) -> Interval:
    """Return ε at δ between two ends that hold; see `account`, which says more.

    Example:
        >>> found = epsilon(Mechanism(1000, 0.1, 1.0, 0.1, 1e-5), "substitute")
        >>> round(found.estimate, 7)
        1.7891546
    """
    return account(mechanism, adjacency, delta).epsilon


def epsilon_curve(
    mechanism: Mechanism, deltas: Sequence[float], adjacency: str = Adjacency.ADD_REMOVE
) -> list[Interval]:
    """Return ε at each δ; see `account`.

    Example:
        >>> [round(e.estimate, 4) for e in epsilon_curve(Mechanism(9, 1.0, 1.0, 0.1, 0.0), [1e-5])]
        [4.3772]
    """
    return [epsilon(mechanism, adjacency, delta) for delta in deltas]


def delta_of(
    mechanism: Mechanism, epsilon: float, adjacency: str = Adjacency.ADD_REMOVE
) -> Interval:
    """Return δ at ε between two ends that hold: the curve read the other way.

    q = 0, no release, or ε = ∞ with noise gives 0; otherwise σ = 0 gives 1 − (1 − q)^T.

    Args:
        mechanism: q, σ and T are used.
        epsilon: ε ≥ 0, possibly ∞.
        adjacency: as in `account`.

    Raises:
        InputError: an unknown adjacency, or a negative or NaN ε.
        AccuracyError: back ends differ by more than their errors.

    Example:
        >>> round(delta_of(Mechanism(1000, 0.1, 1.0, 0.1, 1e-5), 1.6845438).estimate, 9)
        1e-05
    """
    adjacency = checked_adjacency(adjacency)
    epsilon = checked_epsilon(epsilon)
    defined = defined_delta(mechanism, epsilon)
    if defined is not None:
        return Interval(defined, defined, defined)
    found = []
    for kinds in DIRECTIONS[adjacency].values():
        rough = _pair(adjacency, kinds, mechanism, 1e-16)
        tilt = tilt_for_epsilon(rough.steps, rough.releases, epsilon)
        log_bound = rough.releases * cumulants(rough.steps, tilt)[0] - tilt * epsilon
        # Chernoff's bound lies above δ, in the tails by a factor of some hundreds.
        delta = min(max(1e-3 * math.exp(max(log_bound, -660.0)), _LEAST_DELTA), 0.5)
        pair = _pair(adjacency, kinds, mechanism, delta)
        composition = compose(pair.steps, pair.releases, tilt, delta)
        pair.check(composition, epsilon)
        found.append(pair.curve(composition)(epsilon))
    return Interval(*(max(getattr(each, end) for each in found) for end in _ENDS))


def ends(mechanism: Mechanism, adjacency: Adjacency, delta: float) -> tuple[float, float]:
    """The certified ends of ε alone, without a second opinion: for searches."""
    defined = defined_epsilon(mechanism, delta)
    if defined is not None:
        return defined, defined
    found = []
    for kinds in DIRECTIONS[adjacency].values():
        pair = _pair(adjacency, kinds, mechanism, delta)
        found.append(pair.epsilon(pair.composition() if pair.exact is None else None))
    return max(each.low for each in found), max(each.high for each in found)
