"""True error rates of the swap score, by Fourier inversion in the plane.

s depends on the release only through its projection on the span of the two weight vectors. In an
orthonormal basis of it, in units of σC, the noise is standard normal, so the background's
characteristic function Π_u (1 − q + q·e^{i t·s_u})·e^{−|t|²/2} is nothing beyond |t| = 9 and a grid
of frequencies holds all of it. The first axis runs along w/|w| − w′/|w′|: s rises along it, so the
event s > a is x₁ > b(x₂), its integral in x₁ is exact mode by mode, and the trapezoid rule does x₂.

The stated error is absolute: what Chernoff's bound leaves outside the window (it wraps around), the
difference of the rule on even and on odd nodes, and rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from pe_core.bounds import epsilon_from_rates
from pe_core.errors import AccuracyError, InputError
from pe_core.kernels.swap import plane_transform
from pe_core.mechanism import Mechanism
from pe_core.score import mixture
from pe_core.swap.score import Floats, SwapScore, checked_canary, checked_users, projections

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_REACH = 9.0
_OUTSIDE = 1e-16
# Rounding of a rate but for that of the characteristic function, which grows with the users: each
# factor and its product lose up to five units, and angles eight units of |t| times their length.
_ROUNDING = 1e-13
_UNIT = 2.0**-53
_MAX_CELLS = 2**22
_MAX_WORK = 2e10


@dataclass(frozen=True)
class SwapRates:
    """P(s > threshold) with z eligible (tpr) and with z′ eligible (fpr), float64 (t,).

    Attributes:
        error: bound on the absolute error of every rate.
    """

    tpr: Floats
    fpr: Floats
    error: float


@dataclass(frozen=True, eq=False)
class PlaneTest:
    """A swap score against fixed users, ready to be evaluated at any threshold.

    Attributes:
        slopes: (2, 2): ℓ_k = slopes[k]·x + levels[k] in the plane's coordinates.
        levels: (2,).
        participation: q.
        frequencies: (m₁,) of the first axis.
        nodes: (n₂,) of the second axis.
        modes: (2, m₁, n₂) complex128, the release's first-axis modes at each node, under z and z′.
        start, width: window of the first axis.
        outside: bound on the probability outside the window.
        rounding: bound on what rounding moves any rate by.

    Example:
        >>> from pe_core.background import Background
        >>> mechanism = Mechanism(0, 0.1, 1.0, 0.1, 1e-5)
        >>> z, other = np.array([0.1, 0.0]), np.array([0.0, 0.1])
        >>> score = SwapScore.fit(z, other, Background(np.zeros(2), 0.01 * np.eye(2)), mechanism)
        >>> test = plane_test(score, np.zeros((0, 2)), z, other, mechanism)
        >>> round(test.best_epsilon(1e-5)[0], 3)
        1.708
    """

    slopes: Floats
    levels: Floats
    participation: float
    frequencies: Floats
    nodes: Floats
    modes: NDArray[np.complex128]
    start: float
    width: float
    outside: float
    rounding: float

    def score(self, x: Floats, y: Floats) -> Floats:
        """s at points of the plane."""
        ells = (s[0] * x + s[1] * y + c for s, c in zip(self.slopes, self.levels))
        one, other = (mixture(ell, self.participation) for ell in ells)
        return one - other

    def _boundary(self, threshold: float) -> Floats:
        """x₁ at which s reaches the threshold, at every node; clipped to the window."""
        low = np.full_like(self.nodes, self.start)
        high = low + self.width
        # Bisection down to the last bits: s may be flat over most of the window.
        for _ in range(60):
            middle = (low + high) / 2
            above = self.score(middle, self.nodes) > threshold
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return (low + high) / 2

    def rates(self, thresholds: Floats | float) -> SwapRates:
        """Both rates of s > threshold.

        Args:
            thresholds: finite numbers (t,), or one.

        Raises:
            InputError: a threshold that is not finite.
            AccuracyError: the rule in x₂ has not converged.
        """
        limits = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
        if not np.isfinite(limits).all():
            raise InputError("thresholds are not all finite")
        rates = np.empty((2, limits.size))
        error = 0.0
        end = self.start + self.width
        spacing = self.nodes[1] - self.nodes[0]
        t = self.frequencies[:, None]
        safe = np.where(t == 0.0, 1.0, t)
        for k, limit in enumerate(limits):
            b = self._boundary(float(limit))
            integral = np.where(
                t == 0.0, end - b, (np.exp(-1j * safe * b) - np.exp(-1j * safe * end)) / (1j * safe)
            )
            # The negative frequencies are the conjugates of the positive ones.
            parts = np.einsum("mn,hmn->hn", integral, self.modes).real
            even, odd = (2 * spacing * parts[:, k::2].sum(axis=1) for k in (0, 1))
            rates[:, k] = np.clip((even + odd) / 2, 0.0, 1.0)
            error = max(error, float(np.abs(even - odd).max()))
        error += 2 * self.outside + self.rounding
        if error > 1e-6:
            raise AccuracyError(f"the swap score's rates are known to {error:.1e} only")
        return SwapRates(rates[0], rates[1], error)

    def epsilon(self, threshold: float, delta: float) -> float:
        """ε that the true rates prove at one threshold, both branches, less the stated error."""
        rates = self.rates(threshold)
        fpr, tpr, error = float(rates.fpr[0]), float(rates.tpr[0]), rates.error
        return epsilon_from_rates(
            min(fpr + error, 1.0),
            max(tpr - error, 0.0),
            delta,
            tnr=max(1.0 - fpr - error, 0.0),
            fnr=min(1.0 - tpr + error, 1.0),
        )

    def best_epsilon(self, delta: float) -> tuple[float, float]:
        """The greatest ε over thresholds, and its threshold: the rates are not estimated."""
        corner = self.start + np.array([0.0, self.width])
        ends = self.score(corner[:, None], self.nodes)
        grid = np.linspace(float(ends.min()), float(ends.max()), 66)[1:-1]
        values = [self.epsilon(float(limit), delta) for limit in grid]
        at = int(np.argmax(values))
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, grid.size - 1)]
        found = minimize_scalar(
            lambda limit: -self.epsilon(float(limit), delta),
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-6},
        )
        return max((values[at], float(grid[at])), (-float(found.fun), float(found.x)))


def plane_test(
    score: SwapScore,
    contributions: Floats | csr_array,
    first: Floats,
    second: Floats,
    mechanism: Mechanism,
) -> PlaneTest:
    """Prepare the exact evaluation of one swap score against fixed users.

    Args:
        score, contributions, first, second, mechanism: as for `swap.error_counts`.

    Raises:
        InputError: shapes that disagree, wrong dtypes, entries not finite, σ = 0, or a score
            that is constant.
        AccuracyError: the users' sums spread too widely for the grid (small σ, many users).

    Example:
        >>> from pe_core.background import Background
        >>> mechanism = Mechanism(0, 0.1, 1.0, 0.1, 1e-5)
        >>> z, other = np.array([0.1, 0.0]), np.array([0.0, 0.1])
        >>> score = SwapScore.fit(z, other, Background(np.zeros(2), 0.01 * np.eye(2)), mechanism)
        >>> test = plane_test(score, np.zeros((0, 2)), z, other, mechanism)
        >>> round(test.best_epsilon(1e-5)[0], 4)
        1.7082
    """
    rows = checked_users(contributions, score, mechanism)
    canaries = np.stack(
        [checked_canary("first", first, score), checked_canary("second", second, score)]
    )
    if mechanism.noise_scale == 0.0:
        raise InputError("noise_multiplier = 0: the plane needs noise")
    q = float(mechanism.participation)
    scale = float(mechanism.noise_scale)
    basis = _basis(score.first.weights, score.second.weights)
    shifts = projections(rows, basis) / scale
    shifts, counts = np.unique(shifts[shifts.any(axis=1)], axis=0, return_counts=True)
    moved = canaries @ basis / scale
    slopes = np.stack([score.first.weights, score.second.weights]) @ basis * scale
    levels = -np.array([score.first.offset, score.second.offset])

    # s is analytic where |Im ℓ| < π; the rule on every other node must do, hence the half.
    steepest = max(float(np.abs(slopes[:, 1]).max()), 1e-300)
    spacings = 0.3, min(0.3, 2 * math.pi**2 / (40 * steepest)) / 2
    axes = []
    for k in (0, 1):
        low, high = _window(shifts[:, k], counts, q, moved[:, k])
        # An even number of cells, so that even and odd nodes are rules of their own.
        cells = 2 * math.ceil((high - low) / spacings[k] / 2) + 2
        axes.append((low, high, cells))
    reach = [
        min((n - 1) // 2, math.ceil(_REACH * (high - low) / (2 * math.pi))) for low, high, n in axes
    ]
    cells = axes[0][2] * axes[1][2]
    work = float(len(shifts)) * reach[0] * 2 * reach[1]
    if cells > _MAX_CELLS or work > _MAX_WORK:
        raise AccuracyError(
            f"the swap audit's plane needs {cells:.2g} cells and {work:.2g} products: allowed are "
            f"{_MAX_CELLS:.2g} and {_MAX_WORK:.2g}; raise σ or inspect fewer users"
        )
    (low1, high1, _), (low2, high2, n2) = axes
    t1 = np.arange(reach[0] + 1, dtype=np.float64) * (2 * math.pi / (high1 - low1))
    k2 = np.arange(-reach[1], reach[1] + 1)
    t2 = k2.astype(np.float64) * (2 * math.pi / (high2 - low2))
    background = plane_transform(shifts, counts, q, t1, t2, _REACH)
    lengths = float(counts @ np.hypot(shifts[:, 0], shifts[:, 1]))
    ends = max(abs(low1), abs(high1), abs(low2), abs(high2))
    rounding = _ROUNDING + _UNIT * (5.0 * counts.sum() + 8.0 * _REACH * (lengths + ends)) * (
        _sensitivity(background, t1, high1 - low1)
    )
    nodes = low2 + np.arange(n2, dtype=np.float64) * ((high2 - low2) / n2)
    modes = np.empty((2, t1.size, n2), dtype=np.complex128)
    for h in (0, 1):
        phase = np.exp(1j * (t1[:, None] * moved[h, 0] + t2 * moved[h, 1]))
        release = background * (1 - q + q * phase) * np.exp(-1j * t2 * low2)
        spread = np.zeros((t1.size, n2), dtype=np.complex128)
        spread[:, k2 % n2] = release
        modes[h] = np.fft.fft(spread, axis=1) / (high2 - low2)
    modes *= 2 / (high1 - low1)
    modes[:, 0] /= 2
    return PlaneTest(
        slopes, levels, q, t1, nodes, modes, low1, high1 - low1, 8 * _OUTSIDE, float(rounding)
    )


def error_rates(
    score: SwapScore,
    contributions: Floats | csr_array,
    first: Floats,
    second: Floats,
    mechanism: Mechanism,
    thresholds: Floats,
) -> SwapRates:
    """Return both true rates of s > threshold, with their absolute error; see `plane_test`.

    Example:
        >>> from pe_core.background import Background
        >>> mechanism = Mechanism(0, 0.5, 1.0, 0.1, 1e-5)
        >>> z, other = np.array([0.1, 0.0]), np.array([0.0, 0.1])
        >>> score = SwapScore.fit(z, other, Background(np.zeros(2), 0.01 * np.eye(2)), mechanism)
        >>> rates = error_rates(score, np.zeros((0, 2)), z, other, mechanism, np.zeros(1))
        >>> bool(abs(rates.tpr[0] + rates.fpr[0] - 1.0) < 1e-10)
        True
    """
    return plane_test(score, contributions, first, second, mechanism).rates(thresholds)


def _sensitivity(transform: NDArray[np.complex128], t1: Floats, width: float) -> float:
    """By how much a relative error of every entry of the transform may move a rate.

    Mode by mode in x₁: an interval's transform is at most the width and 2/|t|, and the moduli over
    x₂ add up to the 2-norm over the frequencies at most (Cauchy, Parseval).
    """
    most = np.minimum(width, 2.0 / np.maximum(t1, 1e-300)) * 2.0 / width
    most[0] = 1.0
    return float(most @ np.sqrt((np.abs(transform) ** 2).sum(axis=1)))


def _basis(first: Floats, second: Floats) -> Floats:
    """Orthonormal (r, 2); along the first column ℓ_z rises, or stays, and ℓ_z′ falls, or stays."""
    lengths = np.linalg.norm(first), np.linalg.norm(second)
    if max(lengths) == 0.0:
        raise InputError("neither canary votes on the inspected coordinates: the score is constant")
    units = [w / n if n > 0.0 else w for w, n in zip((first, second), lengths)]
    along, across = units[0] - units[1], units[0] + units[1]
    if np.linalg.norm(along) < 1e-9:
        # Parallel weights: s is a function of one number, monotone or not.
        raise InputError("the canaries' weights are parallel: the two statistics are one")
    along = along / np.linalg.norm(along)
    across = across - along * (along @ across)
    length = np.linalg.norm(across)
    if length < 1e-9:
        # Opposite weights, or one canary without votes: any second direction will do.
        pick = np.zeros_like(along)
        pick[int(np.argmin(np.abs(along)))] = 1.0
        across = pick - along * (along @ pick)
        length = np.linalg.norm(across)
    if length == 0.0:
        return np.stack([along, np.zeros_like(along)], axis=1)
    return np.stack([along, across / length], axis=1)


def _window(
    shifts: Floats, counts: NDArray[np.int64], q: float, moved: Floats
) -> tuple[float, float]:
    """Where one axis of the release lies but for _OUTSIDE at either end (Chernoff)."""
    nats = -math.log(_OUTSIDE)
    spread = math.sqrt(1.0 + q * (1 - q) * float(counts @ shifts**2) + 1e-300)
    ends = []
    for sign in (-1.0, 1.0):
        reached = math.inf
        for order in np.geomspace(0.05, 20.0, 60) * math.sqrt(2 * nats) / spread:
            exponent = order * sign * shifts
            grown = np.logaddexp(np.log1p(-q), np.log(q) + exponent) if 0 < q < 1 else q * exponent
            reached = min(reached, (float(counts @ grown) + order**2 / 2 + nats) / order)
        ends.append(sign * reached)
    return ends[0] + min(0.0, float(moved.min())), ends[1] + max(0.0, float(moved.max()))
