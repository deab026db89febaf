"""Upper tails of a weighted Poisson-binomial sum plus Gaussian noise, by Fourier inversion.

For X = Σ t_i B_i + Z and K(z) = log E exp(zX), every θ > 0 gives

    P[X > x] = (1/2π) ∫ exp(K(θ+is) − (θ+is)x) / (θ+is) ds.

The trapezoidal sum with step h = 2π/L equals Σ_m exp(θmL)·P[X > x + mL] over all integers m
(Poisson summation), so that its error is the terms m ≠ 0, which Chernoff's inequality bounds. What
is left out beyond the last node is below the Gaussian's own factor exp(−s²/2). docs/method.md has
the derivation.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from pe_core.errors import AccuracyError
from pe_core.kernels import characteristic as kernels

Floats = npt.NDArray[np.float64]

UNIT = 2.0**-53
# Logarithm of the least probability that is resolved. Rates are promised down to 1e-300
# (log −690.8), as sums of two tails, so each tail is followed a little further.
FLOOR = -800.0
# K'' ≥ 1, so K(θ) − θK'(θ) ≤ −θ²/2: a saddle beyond this tilt belongs to a rate below the floor.
TOP_TILT = math.sqrt(-2.0 * FLOOR)
# The noise's factor is below 2e-17 from here on.
REACH = 8.8
NEGLIGIBLE = 1e-24
MOST_NODES = 1 << 21
# Distances in standard deviations of the tilted sum at which Chernoff bounds are tried.
STEPS = np.array([1.0, 2.0, 4.0, 7.0])


class UpperTail:
    """P[X > x] for X = Σ t_i B_i + Z, B_i ~ Binomial(m_i, q), Z standard normal.

    Windows, each one tilt with its nodes, are kept: later points near them cost next to nothing.

    Args:
        weights: t, float64 (n,), distinct and not 0.
        counts: m, int64 (n,), at least 1.
        participation: q in (0, 1/2], not used without weights.
        shift_error: bound on the total error of Σ m|t|, in units of the noise.

    Example:
        >>> tail = UpperTail(np.array([1.0]), np.array([3]), 0.1, 0.0)
        >>> tail.quantile(np.log(1e-3)) > tail.quantile(np.log(1e-2))
        True
    """

    def __init__(
        self,
        weights: Floats,
        counts: npt.NDArray[np.int64],
        participation: float,
        shift_error: float,
    ) -> None:
        self.weights = weights
        self.counts = counts
        self.participation = participation
        self.shift_error = shift_error
        start, top = self.cumulants(np.array([0.0, TOP_TILT]))
        self.mean, self.deviation = start[1], math.sqrt(start[2])
        self.ceiling = top[1]
        self.least_tilt = self._least_tilt()
        self._windows: list[_Window] = []

    def cumulants(self, tilts: Floats) -> Floats:
        """Return K, K', K'' and the size of K's terms at tilts ≥ 0, one row a tilt."""
        rows = kernels.cumulants(tilts, self.weights, self.counts, self.participation)
        rows[:, 0] += 0.5 * tilts**2
        rows[:, 1] += tilts
        rows[:, 2] += 1.0
        rows[:, 3] += 0.5 * tilts**2
        return rows

    def saddle(self, point: float) -> tuple[float, float]:
        """Return the tilt whose mean is `point` to 0.05 deviations, and K'' there.

        The least tilt stands for all below it, which come too near to the pole.
        """
        low, high = self.least_tilt, TOP_TILT
        tilt = min(max(low, (point - self.mean) / self.deviation**2), TOP_TILT)
        while True:
            _, mean, variance, _ = self.cumulants(np.array([tilt]))[0]
            off = point - mean
            if off <= 0.0 and tilt == low:
                return tilt, variance
            low, high = (tilt, high) if off > 0.0 else (low, tilt)
            if abs(off) <= 0.05 * math.sqrt(variance) or high - low <= 1e-9 * high:
                return tilt, variance
            tilt += off / variance
            if not low < tilt < high:
                tilt = 0.5 * (low + high)

    def quantile(self, log_rate: float) -> float:
        """Return a point beyond which the rate is at most exp(log_rate), by Chernoff's bound."""
        low, high = 0.0, TOP_TILT
        tilt = min(math.sqrt(-2.0 * log_rate) / self.deviation, TOP_TILT)
        while True:
            value, mean, variance, _ = self.cumulants(np.array([tilt]))[0]
            log_bound = value - tilt * mean
            low, high = (tilt, high) if log_bound > log_rate else (low, tilt)
            if log_rate - 0.2 <= log_bound <= log_rate or high - low <= 1e-9 * high:
                return float(mean)
            tilt += (log_bound - log_rate + 0.1) / (tilt * variance)
            if not low < tilt < high:
                tilt = 0.5 * (low + high)

    def _least_tilt(self) -> float:
        """The tilt for points near the mean: well off the pole at 0, but near enough to it that
        rare and large weights do not take the sum over."""
        tilt = 1.5 / self.deviation
        while True:
            value = self.cumulants(np.array([tilt]))[0, 0]
            if value - tilt * self.mean <= 2.0:
                return tilt
            tilt *= 0.7

    def log_rate(
        self, points: Floats, point_error: Floats, tolerance: float
    ) -> tuple[Floats, Floats]:
        """Return log P[X > x] and a bound on the relative error of P, for every x.

        A rate below exp(FLOOR) is −∞ with error 0. Errors above `tolerance` (infinite where
        nothing is known) are left for the caller to judge.
        """
        slack = point_error + self.shift_error
        if self.weights.size == 0:
            return _gaussian(points, slack)
        values = np.full(points.size, -np.inf)
        errors = np.full(points.size, np.inf)
        for window in self._windows:
            _improve(window, points, slack, np.flatnonzero(errors > tolerance), values, errors)
        todo = np.flatnonzero(errors > tolerance)
        if todo.size == 0:
            return values, errors
        todo = todo[np.argsort(points[todo], kind="stable")]
        beyond = points[todo] - slack[todo] >= self.ceiling
        errors[todo[beyond]] = 0.0
        todo = todo[~beyond]
        while todo.size:
            first, last = points[todo[0]], points[todo[-1]]
            radius = self._radius(tolerance)
            _, variance = self.saddle(first)
            centre = min(first + radius * math.sqrt(variance), 0.5 * (first + last))
            window = self._window(centre, first)
            served = todo[points[todo] <= window.last]
            _improve(window, points, slack, served, values, errors)
            for j in served[errors[served] > tolerance]:
                own = self._window(points[j], points[j])
                _improve(own, points, slack, np.array([j]), values, errors)
            todo = todo[served.size :]
        return values, errors

    def _radius(self, tolerance: float) -> float:
        """Half width of a window, in deviations, over which rounding stays within tolerance."""
        many = float(self.counts[self.counts < kernels.POWER].sum()) + 100.0
        ratio = tolerance / (100.0 * UNIT * many)
        return float(np.sqrt(2.0 * np.log(np.clip(ratio, 1.2, 3000.0))))

    def _window(self, centre: float, first: float) -> "_Window":
        tilt, _ = self.saddle(centre)
        window = _Window(self, tilt, first)
        self._windows.append(window)
        return window


class _Window:
    """The nodes of one tilt."""

    def __init__(self, tail: UpperTail, tilt: float, first: float) -> None:
        value, mean, variance, size = tail.cumulants(np.array([tilt]))[0]
        deviation = math.sqrt(variance)
        below = tilt - STEPS / deviation
        others = np.concatenate([[0.0], below[below > 0.0], tilt + STEPS / deviation])
        self.tilt, self.value, self.size, self.centre = tilt, value, size, mean
        self.first = min(first, mean)
        self.last = max(first, mean + max(mean - self.first, 0.3 * deviation))
        self.other_tilts = others
        self.other_values = tail.cumulants(others)[:, 0]
        self.period = self._choose_period(deviation)
        nodes = math.ceil(REACH * self.period / (2.0 * math.pi)) + 1
        nodes = kernels.LANES * math.ceil(nodes / kernels.LANES)
        if nodes > MOST_NODES:
            raise AccuracyError(
                f"the weights spread over {deviation:.3g} standard deviations of the noise: "
                f"{nodes} nodes are needed, at most {MOST_NODES} are allowed"
            )
        # Nodes are filled up to a whole block by a finer step.
        self.step = REACH / (nodes - 1)
        self.period = 2.0 * math.pi / self.step
        self._transform(tail, nodes)

    def _choose_period(self, deviation: float) -> float:
        """The shortest period whose aliases are negligible from the first point to the last."""
        spread = (self.last - self.first) / (2.0 * deviation)
        allowed = -30.0 - 0.5 * spread**2 - math.log1p(2.5 * self.tilt * deviation)
        gap = self.other_tilts - self.tilt
        worst = np.where(gap < 0.0, self.last, self.first)
        needed = (self.other_values - self.value - gap * worst - allowed) / np.abs(gap)
        return float(max(needed[gap < 0.0].min(), needed[gap > 0.0].min(), 1.0))

    def _transform(self, tail: UpperTail, nodes: int) -> None:
        weights, counts = tail.weights, tail.counts
        present, absent = kernels.tilted_probabilities(self.tilt, weights, tail.participation)
        at = np.arange(nodes) * self.step
        noise = np.exp(-0.5 * at**2)
        real, imag, smallest = noise.copy(), np.zeros(nodes), np.ones(nodes)
        self.live = kernels.characteristic(
            weights, counts, present, absent, self.step, real, imag, smallest, NEGLIGIBLE
        )
        modulus = np.hypot(real, imag)
        # Rounding of one factor: 10 units for its two terms and the product, and on the part that
        # turns, 24 units for sine, cosine and the products that share them, 2 for the angle. Of a
        # power: 60 units for its exponential and the product, 16 on its logarithm, which is at
        # most twice p·|exp(ist) − 1| over the modulus.
        expected, powers = counts * present, counts >= kernels.POWER
        turning = at * float(expected @ np.abs(weights))
        single = UNIT * (
            10.0 * float(counts[~powers].sum()) + 24.0 * float(expected[~powers].sum())
        )
        raised = UNIT * (
            2.0 * turning
            + 60.0 * float(powers.sum())
            + 32.0 * np.minimum(turning, 2.0 * float(expected[powers].sum()))
        )
        # An error in one factor meets the product of all others: at most |product| / |least
        # factor|, and at most the noise's factor.
        least = np.maximum(np.sqrt(smallest), 1e-100)
        rounding = np.minimum(noise, modulus / least) * single
        rounding += np.minimum(noise, modulus / least**2) * raised
        shift = self.tilt - self.centre
        node_error = 1.01 * rounding + modulus * UNIT * (4.0 + 2.0 * at * abs(shift))
        pole = self.tilt + 1j * at
        scale = self.step / math.pi / np.abs(pole)
        scale[0] *= 0.5
        dead = np.ones(nodes, dtype=bool)
        dead.reshape(-1, kernels.LANES)[self.live] = False
        beyond = REACH + self.step
        self.node_error = float(
            scale @ np.where(dead, 1.01 * modulus, node_error)
            + math.exp(-0.5 * beyond**2) * (self.step / beyond + 1.0 / beyond**2) / math.pi
        )
        factor = (real + 1j * imag) * np.exp(1j * at * shift) / pole * (self.step / math.pi)
        factor[0] *= 0.5
        factor[dead] = 0.0
        self.real, self.imag = np.ascontiguousarray(factor.real), np.ascontiguousarray(factor.imag)
        size = np.abs(factor)
        self.sum_size, self.sum_slope = float(size.sum()), float(size @ at)
        # ∫ of the characteristic function's modulus: bounds the density at every point.
        self.density = self.step / math.pi * float(modulus.sum()) + math.exp(-0.5 * REACH**2)

    def evaluate(self, points: Floats, slack: Floats) -> tuple[Floats, Floats]:
        """Return log P[X > x] and the bound on its relative error, for any points."""
        away = points - self.centre
        total = kernels.invert(self.real, self.imag, self.live, self.step, away)
        error = (
            self.node_error
            + UNIT * (30.0 * self.sum_size + 2.0 * np.abs(away) * self.sum_slope)
            + self._aliases(points)
            + slack * self.density * np.exp(np.minimum(self.tilt * slack, 700.0))
        )
        good = total > 2.0 * error
        safe = np.where(good, total, 1.0)
        exponent = self.value - self.tilt * points
        prefactor = UNIT * (16.0 * self.size + 4.0 * np.abs(self.tilt * points) + 8.0)
        relative = np.where(good, error / (safe - np.where(good, error, 0.0)), np.inf) + prefactor
        return np.where(good, np.minimum(exponent + np.log(safe), 0.0), -np.inf), relative

    def _aliases(self, points: Floats) -> Floats:
        """Bound on Σ_{m≠0} exp(θmL)·P[X > x + mL], in units of exp(K(θ) − θx)."""
        gap = self.other_tilts - self.tilt
        log_ratio = -np.abs(gap) * self.period
        # Σ_{m≥1} ratio^m, with nothing said where the ratio is above a half.
        small = log_ratio < -0.7
        log_ratio = np.where(small, log_ratio, -1.0)
        log_sum = np.where(small, log_ratio - np.log1p(-np.exp(log_ratio)), np.inf)
        exponent = (self.other_values - self.value)[:, None] - gap[:, None] * points
        bounds = np.exp(np.minimum(exponent + log_sum[:, None], 700.0))
        return bounds[gap < 0.0].min(axis=0) + bounds[gap > 0.0].min(axis=0)


def _improve(
    window: _Window,
    points: Floats,
    slack: Floats,
    where: npt.NDArray[np.intp],
    values: Floats,
    errors: Floats,
) -> None:
    """Take the window's answer at `points[where]` wherever its error bound is the smaller."""
    if where.size == 0:
        return
    value, error = window.evaluate(points[where], slack[where])
    better = error < errors[where]
    values[where[better]] = value[better]
    errors[where[better]] = error[better]


def _gaussian(points: Floats, slack: Floats) -> tuple[Floats, Floats]:
    """The tail of the noise alone."""
    values = special.log_ndtr(-points)
    hazard = np.clip(points, 0.0, 1e3) + 1.0
    errors = hazard * slack * np.exp(np.minimum(hazard * slack, 700.0)) + UNIT * (
        32.0 + 4.0 * np.abs(values)
    )
    below = special.log_ndtr(slack - points) < FLOOR
    return np.where(below, -np.inf, values), np.where(below, 0.0, errors)
