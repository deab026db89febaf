"""δ(ε) of the exact pair where one integral gives it: T = 1, or q = 1 for any T.

With G(z, μ) = Φ̄(z−μ) − e^{μz−μ²/2}·Φ̄(z) and z* the point of loss ε,

    remove     δ = q·G(z*, μ)
    add        δ = −q·e^ε·G(−z*, −μ)
    antipodal  δ = q·(G(z*, μ) − e^ε·G(z*, −μ))
    orthogonal δ = E δ_remove(ε + V),  V = log(1 − q + q·e^{μZ − μ²/2}),  Z standard normal

and with q = 1 the releases are one Gaussian of separation μ√T, μ√(2T) or 2μ√T.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from pe_core.accounting.adjacency import Adjacency
from pe_core.accounting.step import Array, Kind, Step
from pe_core.errors import AccuracyError

# The terms are exponentials of log_ndtr: their logs reach 1e3 and keep 13 digits; the difference
# G costs at most z/μ ≈ 1e3 more.
ROUNDING = 1e-9
# Below this shift G is an integral, in which nothing cancels as μ falls.
_SMALL_SHIFT = 0.1
_GAUSS_X, _GAUSS_W = np.polynomial.legendre.leggauss(8)
# Relative error of a root.
SOLVED = 4e-14
SEPARATION = {
    Adjacency.ADD_REMOVE: 1.0,
    Adjacency.SUBSTITUTE_VOTES: math.sqrt(2.0),
    Adjacency.SUBSTITUTE: 2.0,
}


def _gap(z: Array, mu: float, log_scale: Array | float = 0.0) -> Array:
    """e^scale · G(z, μ).

    With Mills' ratio R, G = φ(z−μ)·(R(z−μ) − R(z)), and R′(t) = t·R(t) − 1.
    """
    if abs(mu) >= _SMALL_SHIFT:
        return np.exp(log_scale + log_ndtr(mu - z)) - np.exp(
            log_scale + mu * z - mu * mu / 2 + log_ndtr(-z)
        )
    start, scale = np.asarray(z - mu)[..., None], np.asarray(log_scale)[..., None]
    t = start + mu / 2 * (1 + _GAUSS_X)
    density = np.exp(scale - start**2 / 2) / math.sqrt(2 * math.pi)
    fall = density - t * np.exp(scale + log_ndtr(-t) + (t - start) * (t + start) / 2)
    return mu / 2 * (fall @ _GAUSS_W)


def gaussian_delta(separation: float, epsilon: float) -> float:
    """δ(ε) of N(0, 1) against N(separation, 1)."""
    z = epsilon / separation + separation / 2
    return float(_gap(np.asarray(z), separation))


def _line_delta(step: Step, epsilon: Array) -> Array:
    q, mu = step.participation, step.shift
    z = step.position(epsilon)
    if step.kind == "add":
        finite = np.isfinite(z)
        value = -q * _gap(np.where(finite, -z, 0.0), -mu, epsilon)
        return np.where(finite, value, 0.0)
    if step.kind == "antipodal":
        return q * (_gap(z, mu) - _gap(z, -mu, epsilon))
    # Below log(1−q), the least loss, the best event is everything.
    finite = np.isfinite(z)
    return np.where(
        finite, q * _gap(np.where(finite, z, 0.0), mu), -np.expm1(np.minimum(epsilon, 0.0))
    )


def _orthogonal_delta(participation: float, noise: float, epsilon: float, spacing: float) -> float:
    remove = Step("remove", participation, noise)
    z = np.arange(-20.0, 20.0 + spacing / 2, spacing)
    weights = np.exp(-z * z / 2) * (spacing / math.sqrt(2 * math.pi))
    return float(weights @ _line_delta(remove, epsilon + remove.loss(z)))


def pair_delta(
    kinds: tuple[Kind, ...], participation: float, noise: float, epsilon: float
) -> float:
    """δ(ε) of one release, 0 < q < 1, to a relative error of ROUNDING.

    Raises:
        AccuracyError: halving the orthogonal pair's mesh changes δ by more than that.
    """
    if len(kinds) == 1:
        step = Step(kinds[0], participation, noise)
        return max(float(_line_delta(step, np.asarray(epsilon))), 0.0)
    spacing = min(0.02, noise / 8)
    coarse = _orthogonal_delta(participation, noise, epsilon, spacing)
    fine = _orthogonal_delta(participation, noise, epsilon, spacing / 2)
    if abs(fine - coarse) > ROUNDING * fine:
        raise AccuracyError(
            f"quadrature of the orthogonal pair at q = {participation}, σ = {noise}, "
            f"ε = {epsilon}: two meshes give δ = {coarse!r} and {fine!r}"
        )
    return max(fine, 0.0)


def solve_epsilon(delta_at: Callable[[float], float], delta: float, scale: float) -> float:
    """The ε ≥ 0 at which a falling δ(ε) equals δ, to SOLVED; 0 where δ(0) is below δ already."""
    if delta_at(0.0) <= delta:
        return 0.0
    high = scale
    while delta_at(high) > delta:
        high *= 2.0

    def excess(epsilon: float) -> float:
        # On a log scale the curve is nearly straight in the tail.
        value = delta_at(epsilon)
        return math.log(value / delta) if value > 0.0 else -800.0

    return float(brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-14, maxiter=1000))
