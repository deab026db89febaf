"""Composition on a grid: the privacy loss distribution with both ends certified.

One release's loss is put on a grid of spacing h by the chord rule (Doroshenko et al., PETS 2022,
"Connect the dots"): a loss x in (t, t+h] goes to t+h with probability
b(x) = (1 − e^{t−x})/(1 − e^{−h}) and to t otherwise, which keeps its mass under Q as well as under
P. The result dominates the true pair, so its T-fold convolution gives an upper end.

The lower end couples the two: the rounding errors D of T releases are independent and within h.
With their mean and second moment from the same integration, Bernstein's inequality bounds their
sum: above s with probability at most η, so δ(ε) ≥ δ_grid(ε + s) − η.

The convolution is done under exponential tilting: masses are multiplied by e^{θt}, so that the
region that decides δ is the bulk and floating-point noise stays relative to it, down to δ = 1e-16.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from pe_core.accounting.adjacency import Interval
from pe_core.accounting.step import IGNORED, Array, Step, cumulants
from pe_core.errors import AccuracyError
from pe_core.kernels.loss_tails import tail_sums

# Relative error of the untilting: T·θ·loss is below _MAX_EXPONENT, so it is 1e-8, with room.
ROUNDING = 1e-7
# e^{−45}: what may wrap around the circular convolution, as a share of the tilted mass.
_WRAP = 45.0
# Cells of the composed loss: eight arrays of float64 of this length are 130 MB.
_MAX_CELLS = 2**21
# Cells of one release's loss, whose masses cost a microsecond each.
_STEP_CELLS = 2**18
# Rounding adds up over releases: from here on finer cells are worth their second.
_MANY = 1000
# T times tilt times loss: beyond it a double no longer holds the exponent to 1e-8.
_MAX_EXPONENT = 1e8
_GAUSS_X, _GAUSS_W = np.polynomial.legendre.leggauss(4)


@dataclass(frozen=True)
class Rounded:
    """One factor of one release on the grid."""

    first: int
    masses: Array
    raise_mean: float
    raise_square: float


@dataclass(frozen=True)
class Tail:
    """δ from a composed loss on the grid.

    Attributes:
        losses: ascending grid, cut to where δ is wanted.
        above: P of losses at or above each entry.
        deltas: δ at each entry.
    """

    losses: Array
    above: Array
    deltas: Array

    def delta(self, epsilon: float) -> float:
        """δ(ε)."""
        at = int(np.searchsorted(self.losses, epsilon, side="left"))
        if at == len(self.losses):
            return 0.0
        x = epsilon - self.losses[at]
        return float(math.exp(x) * self.deltas[at] - math.expm1(x) * self.above[at])

    def epsilon(self, delta: float) -> float:
        """The least ε ≥ 0 with δ(ε) ≤ δ."""
        if delta <= 0.0:
            return math.inf
        if self.delta(0.0) <= delta:
            return 0.0
        # δ falls along the grid; the root lies in the cell below the first value at or under it.
        at = int(np.argmax(self.deltas <= delta))
        top, above = float(self.deltas[at]), float(self.above[at])
        return float(self.losses[at]) + math.log1p((top - delta) / (above - top))


@dataclass(frozen=True)
class Composition:
    """T releases on the grid.

    Attributes:
        low, middle, high: the composed loss with its floating-point noise subtracted, as it is,
            and added.
        infinite: P of the losses cut off above, counted at ∞ for the upper end.
        lift: how far the rounding raised the loss on average under the tilt.
        slack: s, how far it may have raised the loss.
        ignored: η, probability that the lower end gives away.
    """

    low: Tail
    middle: Tail
    high: Tail
    infinite: float
    lift: float
    slack: float
    ignored: float

    def delta(self, epsilon: float) -> Interval:
        """δ(ε): ends that hold, and the grid's value less what the rounding adds on average."""
        low = self.low.delta(epsilon + self.slack) * (1 - ROUNDING) - self.ignored
        high = self.high.delta(epsilon) * (1 + ROUNDING) + self.infinite
        low, high = max(low, 0.0), min(high, 1.0)
        return Interval(low, min(max(self.middle.delta(epsilon + self.lift), low), high), high)

    def epsilon(self, delta: float) -> Interval:
        """ε(δ), likewise."""
        low = self.low.epsilon(delta * (1 + ROUNDING) + self.ignored) - self.slack
        high = self.high.epsilon(delta * (1 - ROUNDING) - self.infinite)
        low = max(low, 0.0)
        return Interval(low, min(max(self.middle.epsilon(delta) - self.lift, low), high), high)


def tilt_for_delta(steps: tuple[Step, ...], releases: int, delta: float) -> float:
    """The θ at which Chernoff's bound on P(loss > ε) is δ, with ε the tilted mean."""

    def excess(tilt: float) -> float:
        k, slope, _ = cumulants(steps, tilt)
        return releases * (k - tilt * slope) - math.log(delta)

    return _root(steps, releases, excess)


def tilt_for_epsilon(steps: tuple[Step, ...], releases: int, epsilon: float) -> float:
    """The θ ≥ 0 at which the tilted mean of the composed loss is ε."""
    return _root(steps, releases, lambda tilt: epsilon - releases * cumulants(steps, tilt)[1])


def _root(steps: tuple[Step, ...], releases: int, excess: Callable[[float], float]) -> float:
    # A loss with a hard top may have no root: then any large tilt looks at the top.
    cap = _MAX_EXPONENT / (releases * sum(max(map(abs, step.support)) for step in steps))
    low, high = 0.0, cap * 1e-12
    if excess(low) <= 0.0:
        return 0.0
    while excess(high) > 0.0:
        if high >= cap:
            return cap
        low, high = high, min(4 * high, cap)
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return high


def chernoff_window(steps: tuple[Step, ...], releases: int, tilt: float) -> tuple[float, float]:
    """Where the tilted composed loss lies, but for e^{−45} of its mass at either end (Chernoff)."""
    k, mean, curvature = cumulants(steps, tilt)
    # A loss with a hard top has no spread left under a large tilt.
    scale = math.sqrt(_WRAP / (releases * max(curvature, (1e-9 * mean) ** 2)))
    lows, highs = [], []
    # Normal bulks want an order near the scale; rare huge losses one far from it.
    for factor in 4.0 ** np.arange(-20.0, 6.0):
        order = factor * scale
        up = releases * (cumulants(steps, tilt + order)[0] - k)
        down = releases * (cumulants(steps, tilt - order)[0] - k)
        highs.append((up + _WRAP) / order)
        lows.append(-(down + _WRAP) / order)
    return float(max(lows)), float(min(highs))


def _rounded(step: Step, spacing: float) -> Rounded:
    least, most = step.support
    # One cell of room: a flat loss may fall on a grid point, to the last bit or not.
    first, last = math.floor(least / spacing) - 1, math.floor(most / spacing) + 1
    losses = spacing * np.arange(first, last + 1)
    # Integrate in z over pieces within one cell and short against the density and the loss.
    ends = step.ends
    edges = np.clip(step.position(losses), *ends)
    if not step.increasing:
        edges = edges[::-1]
    short = min(0.1, step.noise_multiplier / 4)
    mesh = np.linspace(edges[0], edges[-1], 2 + int((edges[-1] - edges[0]) / short))
    breaks = np.union1d(edges, mesh)
    width = np.diff(breaks)
    middle = breaks[:-1] + width / 2
    cell = np.clip(np.searchsorted(edges, middle) - 1, 0, len(edges) - 2)
    if not step.increasing:
        cell = len(edges) - 2 - cell
    mass, raised = np.zeros_like(width), np.zeros_like(width)
    raise_mean = raise_square = 0.0
    for node, weight in zip(_GAUSS_X, _GAUSS_W):
        z = middle + node * width / 2
        part = np.exp(step.log_density(z)) * (weight / 2 * width)
        over = np.clip(step.loss(z) - losses[cell], 0.0, spacing)
        up = np.expm1(-over) / math.expm1(-spacing)
        mean = up * spacing - over
        mass += part
        raised += part * up
        raise_mean += part @ mean
        raise_square += part @ (up * (1 - up) * spacing**2 + mean**2)
    if not -2 * step.cut_off - ROUNDING < mass.sum() - 1.0 < ROUNDING:
        raise AccuracyError(
            f"one release's masses at q = {step.participation}, σ = {step.noise_multiplier} "
            f"({step.kind}) add up to {mass.sum()!r}"
        )
    masses = np.zeros(len(losses))
    masses[:-1] += np.bincount(cell, mass - raised, minlength=len(losses) - 1)
    masses[1:] += np.bincount(cell, raised, minlength=len(losses) - 1)
    # The lower tail is raised to the first loss, the upper tail to ∞.
    masses[0] += step.cut_off
    return Rounded(first, masses, float(raise_mean), float(raise_square))


def compose(
    steps: tuple[Step, ...], releases: int, tilt: float, smallest_delta: float
) -> Composition:
    """Compose T releases, accurate where the tilted loss lies.

    Args:
        steps: the factors of one release.
        releases: T ≥ 1.
        tilt: θ ≥ 0; see `tilt_for_delta` and `tilt_for_epsilon`.
        smallest_delta: the δ that truncation must be small against.

    Raises:
        AccuracyError: the masses of one release do not add up to 1.
    """
    supports = [step.support for step in steps]
    low, high = chernoff_window(steps, releases, tilt)
    low = max(low, releases * sum(least for least, _ in supports))
    high = min(high, releases * sum(most for _, most in supports))
    widest = max(most - least for least, most in supports)
    step_cells = _STEP_CELLS if releases < _MANY else 4 * _STEP_CELLS
    # A loss that hardly varies (q = 1e-6) still needs cells that a double can tell apart.
    value = max(abs(end) for support in supports for end in support)
    spacing = max(
        (high - low) / _MAX_CELLS,
        widest / step_cells,
        1e-10 * value,
        1e-12 * max(abs(low), abs(high)),
    )
    factors = [_rounded(step, spacing) for step in steps]
    length = next_fast_len(4 + math.ceil(max(high - low, widest) / spacing), real=True)

    log_mass, transform = 0.0, np.ones(length // 2 + 1, dtype=np.complex128)
    for factor in factors:
        losses = spacing * (factor.first + np.arange(len(factor.masses)))
        with np.errstate(divide="ignore"):
            exponent = np.log(factor.masses) + tilt * losses
        peak = exponent.max()
        tilted = np.exp(exponent - peak)
        total = tilted.sum()
        log_mass += releases * (peak + math.log(total))
        transform *= rfft(tilted / total, length) ** releases
    start = releases * sum(factor.first for factor in factors)
    # The circular result holds index start + j at position j modulo its length.
    begin = math.floor(low / spacing)
    composed = np.roll(irfft(transform, length), -((begin - start) % length))
    losses = spacing * (begin + np.arange(length))
    # ε ≥ 0 needs nothing below 0, and far below the tilted bulk the untilting overflows.
    keep = (losses > -2 * spacing) & (log_mass - tilt * losses < 300.0)
    losses, composed = losses[keep], composed[keep]
    # True masses are not negative: how far below zero the transform went is its noise.
    noise = 4 * max(-float(composed.min()), np.finfo(float).eps * float(composed.max()))
    untilt = np.exp(log_mass - tilt * losses)
    low_tail, middle_tail, high_tail = (
        Tail(losses, *tail_sums(np.maximum(composed + shift, 0.0) * untilt, spacing))
        for shift in (-noise, 0.0, noise)
    )
    cut_off = releases * sum(step.cut_off for step in steps)
    unlucky = IGNORED * smallest_delta / 2
    return Composition(
        low=low_tail,
        middle=middle_tail,
        high=high_tail,
        infinite=cut_off,
        lift=releases * sum(f.raise_mean + tilt / 2 * f.raise_square for f in factors),
        slack=_slack(factors, releases, spacing, unlucky),
        ignored=2 * cut_off + unlucky,
    )


def _slack(factors: list[Rounded], releases: int, spacing: float, probability: float) -> float:
    """What the T roundings raise the loss by, but for the given probability (Bernstein)."""
    mean = releases * sum(factor.raise_mean for factor in factors)
    square = releases * sum(factor.raise_square for factor in factors)
    nats = -math.log(probability)
    linear = spacing * nats / 3
    return mean + linear + math.sqrt(linear**2 + 2 * square * nats)
