"""One release seen as a pair of distributions on the line: densities, losses and cumulants.

With unit noise, μ = 1/σ, and N the standard normal density, every pair that the accountant needs
is a product of these:

    remove     P = (1−q)·N(z) + q·N(z−μ)   Q = N(z)
    add        the same two, exchanged
    antipodal  P = (1−q)·N(z) + q·N(z−μ)   Q = (1−q)·N(z) + q·N(z+μ)

The orthogonal pair of `substitute_votes` is `remove` on one axis and `add` on the other.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from pe_core.accounting.adjacency import Adjacency

Array = NDArray[np.floating]
Kind = Literal["remove", "add", "antipodal"]

DIRECTIONS: dict[Adjacency, dict[str, tuple[Kind, ...]]] = {
    Adjacency.ADD_REMOVE: {"remove": ("remove",), "add": ("add",)},
    Adjacency.SUBSTITUTE: {"swap": ("antipodal",)},
    Adjacency.SUBSTITUTE_VOTES: {"swap": ("remove", "add")},
}

# Probability that truncations may ignore in all, as a share of δ.
IGNORED = 1e-6
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
# Beyond it e^x − 1 and e^x agree to the last bit, and overflow is near.
_LARGE = 40.0


@dataclass(frozen=True)
class Step:
    """One factor of one release.

    Attributes:
        kind: which pair.
        participation: q in (0, 1].
        noise_multiplier: σ > 0.
        reach: standard deviations beyond the outermost mean at which z is cut off. Without a
            cut the moments that steer the tilt can come from losses that never occur.
    """

    kind: Kind
    participation: float
    noise_multiplier: float
    reach: float = math.inf

    @property
    def shift(self) -> float:
        """μ = 1/σ."""
        return 1.0 / self.noise_multiplier

    @property
    def increasing(self) -> bool:
        """Whether the loss grows with z."""
        return self.kind != "add"

    def _log_mixture(self, exponent: Array) -> Array:
        """log(1 − q + q·e^x), to full relative precision near zero."""
        q = self.participation
        if q == 1.0:
            return exponent
        change = q * np.expm1(np.minimum(exponent, _LARGE))
        # 1 − q(1 − e^x) would leave no digits of its small sum where q is next to 1.
        deep = np.log((1 - q) + q * np.exp(np.minimum(exponent, 0.0)))
        near = np.where(change < -0.5, deep, np.log1p(np.maximum(change, -0.5)))
        far = exponent + np.log(q) + np.log1p((1 - q) / q * np.exp(-np.maximum(exponent, _LARGE)))
        return np.where(exponent < _LARGE, near, far)

    def loss(self, z: Array) -> Array:
        """log P/Q at z."""
        mu = self.shift
        present = self._log_mixture(mu * z - mu * mu / 2)
        if self.kind == "remove":
            return present
        if self.kind == "add":
            return -present
        return present - self._log_mixture(-mu * z - mu * mu / 2)

    def log_density(self, z: Array) -> Array:
        """log P at z."""
        normal = -0.5 * z * z - _LOG_SQRT_2PI
        if self.kind == "add":
            return normal
        mu = self.shift
        return normal + self._log_mixture(mu * z - mu * mu / 2)

    def position(self, loss: Array) -> Array:
        """The z of a loss; ±∞ beyond the losses that occur."""
        q, mu = self.participation, self.shift
        if self.kind == "antipodal":
            half = np.abs(loss) / 2
            with np.errstate(divide="ignore"):
                log_x = (
                    np.log1p(-q)
                    - np.log(q)
                    + mu * mu / 2
                    + np.where(
                        half < 1,
                        np.log(np.sinh(np.minimum(half, 1))),
                        half + np.log1p(-np.exp(-2 * np.maximum(half, 1))) - np.log(2),
                    )
                )
            x = np.exp(np.minimum(log_x, _LARGE))
            size = half + np.where(log_x < _LARGE, np.arcsinh(x), log_x + np.log(2))
            return np.sign(loss) * size / mu
        signed = loss if self.kind == "remove" else -loss
        if q == 1.0:
            return signed / mu + mu / 2
        with np.errstate(divide="ignore"):
            change = np.expm1(np.minimum(signed, _LARGE)) / q
            # Next to the least loss, log(1 − q), by the distance from it.
            above = np.maximum(np.expm1(np.minimum(signed, 0.0) - np.log1p(-q)), 0.0)
            deep = np.log(above) + np.log1p(-q) - np.log(q)
            near = np.where(change < -0.5, deep, np.log1p(np.maximum(change, -0.5)))
        far = signed - np.log(q) + np.log1p(-(1 - q) * np.exp(-np.maximum(signed, _LARGE)))
        return np.where(signed < _LARGE, near, far) / mu + mu / 2

    @property
    def ends(self) -> tuple[float, float]:
        """The z-range kept."""
        return -self.reach, self.reach + (0.0 if self.kind == "add" else self.shift)

    @property
    def cut_off(self) -> float:
        """An upper bound on P beyond either end."""
        return float(ndtr(-self.reach))

    @property
    def support(self) -> tuple[float, float]:
        """The least and the greatest loss kept."""
        losses = self.loss(np.array(self.ends))
        return float(losses.min()), float(losses.max())

    @cached_property
    def nodes(self) -> tuple[Array, Array, Array]:
        """Positions, losses and log-weights (under P) of a trapezoid rule in z.

        The integrands are analytic in a strip of half-width π·σ about the line, so the rule's
        error falls like exp(−2π·πσ/spacing): below 1e-25 at a spacing of σ/3.
        """
        low, high = self.ends
        spacing = min(0.05, self.noise_multiplier / 3)
        z = np.linspace(low, high, int(np.ceil((high - low) / spacing)) + 1)
        return z, self.loss(z), self.log_density(z) + np.log(z[1] - z[0])


def cumulants(steps: tuple[Step, ...], tilt: float) -> tuple[float, float, float]:
    """K(θ) = log E_P e^{θL} of one release, its slope and its curvature."""
    total = np.zeros(3)
    for step in steps:
        _, losses, log_weights = step.nodes
        exponent = log_weights + tilt * losses
        peak = exponent.max()
        weights = np.exp(exponent - peak)
        mass = weights.sum()
        mean = weights @ losses / mass
        total += peak + np.log(mass), mean, weights @ (losses - mean) ** 2 / mass
    return float(total[0]), float(total[1]), float(total[2])


def steps_of(
    kinds: tuple[Kind, ...], participation: float, noise: float, releases: int, delta: float
) -> tuple[Step, ...]:
    """The factors of one release, cut so that T releases ignore IGNORED·δ/2 at most."""
    reach = -float(ndtri(IGNORED * delta / (4 * releases * len(kinds))))
    return tuple(Step(kind, participation, noise, reach) for kind in kinds)
