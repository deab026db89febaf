"""Scenario S1, the worst-case data set: what the sum of all steps gives away, without trials.

All other gradients are zero and the canary's are +C with z, −C with z′, so the final model shows
S = ±C·K + √T·σC·Z with K ~ Binomial(T, q): two mirrored mixtures of Gaussians. Their log-ratio
grows with S, since it is log M(S) − log M(−S) for an M that is a sum of growing exponentials. So
every best event is S > a, and δ(ε) is P(S > a | z) − e^ε P(S > a | z′) at the a where the
log-ratio is ε.

Sums are in units of the clip throughout.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from pe_core.bounds import check_delta
from pe_core.errors import InputError
from pe_core.kernels import dpsgd as kernels
from pe_core.mechanism import Mechanism


class TailRates(NamedTuple):
    """Natural logarithms of the error rates and their complements of the event S > threshold."""

    log_fpr: npt.NDArray[np.float64]
    log_tnr: npt.NDArray[np.float64]
    log_tpr: npt.NDArray[np.float64]
    log_fnr: npt.NDArray[np.float64]


def log_ratio(sums: npt.ArrayLike, mechanism: Mechanism) -> npt.NDArray[np.float64]:
    """Return the log-ratio of the two mixtures, the best score of S1.

    Args:
        sums: the sum of all noisy steps in units of the clip, any shape.
        mechanism: q, σ > 0 and T = `releases` ≥ 1 are used.

    Returns:
        float64 of the shape of `sums`: positive speaks for z. Odd and increasing in the sum.

    Raises:
        InputError: σ = 0, T = 0, or a sum that is not finite.

    Example:
        >>> mechanism = Mechanism(0, 1.0, 2.0, 1.0, 1e-5, releases=4)
        >>> log_ratio([-1.0, 0.0, 1.0], mechanism).round(12).tolist()  # 2·S/σ²
        [-0.5, 0.0, 0.5]
    """
    values = _finite("sums", sums)
    weights, variance = _mixture(mechanism)
    return kernels.mixture_log_ratio(values.ravel(), weights, variance).reshape(values.shape)


def tail_rates(thresholds: npt.ArrayLike, mechanism: Mechanism) -> TailRates:
    """Return the exact error rates of the event S > threshold.

    Args:
        thresholds: sums in units of the clip, any shape.
        mechanism: q, σ > 0 and T = `releases` ≥ 1 are used.

    Returns:
        Four float64 arrays of the shape of `thresholds`, as logarithms, so that neither a rate
        near 0 nor one near 1 loses digits.

    Raises:
        InputError: as `log_ratio`.

    Example:
        >>> rates = tail_rates(0.0, Mechanism(0, 1.0, 1.0, 1.0, 1e-5))
        >>> round(float(np.exp(rates.log_fpr)), 6)  # 1 − Φ(1)
        0.158655
    """
    values = _finite("thresholds", thresholds)
    weights, variance = _mixture(mechanism)
    step, deviation = np.arange(weights.size), math.sqrt(variance)
    above, below = values[..., None] - step, values[..., None] + step

    def total(argument: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return special.logsumexp(weights + special.log_ndtr(argument / deviation), axis=-1)

    return TailRates(total(-below), total(below), total(-above), total(above))


def threshold_at(fpr: float, mechanism: Mechanism) -> float:
    """Return the threshold a with P(S > a | z′) = `fpr`, in units of the clip.

    Raises:
        InputError: a rate outside (0, 1); σ = 0 or T = 0.

    Example:
        >>> round(threshold_at(0.5, Mechanism(0, 1.0, 1.0, 1.0, 1e-5)), 9)
        -1.0
    """
    if not 0.0 < fpr < 1.0:
        raise InputError(f"fpr = {fpr!r}: a rate above 0 and below 1 is needed")
    _, variance = _mixture(mechanism)
    wanted = math.log(fpr)
    # S lies between −T·C and 0 plus noise, whose quantile bounds that of the sum.
    reach = -float(special.ndtri_exp(wanted)) * math.sqrt(variance)
    low, high = reach - mechanism.releases - 1.0, reach + 1.0
    return optimize.brentq(
        lambda at: float(tail_rates(at, mechanism).log_fpr) - wanted, low, high, xtol=1e-13
    )


def worst_case_epsilon(mechanism: Mechanism, delta: float | None = None) -> float:
    """Return the exact ε of S1 at δ, of the final sum only.

    Equal to the accountant's substitute ε for q = 1 or T = 1. Otherwise below it: the accountant's
    adversary sees every step, and here the sum hides which steps held the canary.

    Args:
        mechanism: q, σ, T = `releases` and δ are used.
        delta: replaces the mechanism's δ.

    Returns:
        ε ≥ 0. In this order: q = 0, T = 0 or δ ≥ 1 − (1 − q)^T give 0; σ = 0 or δ = 0 give ∞.

    Raises:
        InputError: δ outside [0, 1].

    Example:
        >>> round(worst_case_epsilon(Mechanism(0, 0.1, 1.0, 1.0, 1e-5)), 5)
        1.78915
    """
    delta = mechanism.delta if delta is None else delta
    check_delta(delta)
    q, steps = mechanism.participation, mechanism.releases
    if q == 0.0 or steps == 0 or (q < 1.0 and delta >= -math.expm1(steps * math.log1p(-q))):
        return 0.0
    if delta >= 1.0:
        return 0.0
    if mechanism.noise_multiplier == 0.0 or delta == 0.0:
        return math.inf

    def excess(at: float) -> float:
        """log δ(a) − log δ, decreasing in a."""
        rates = tail_rates(at, mechanism)
        ratio = float(log_ratio(at, mechanism) + rates.log_fpr - rates.log_tpr)
        if ratio >= 0.0:
            return -math.inf
        return float(rates.log_tpr) + math.log(-math.expm1(ratio)) - math.log(delta)

    if excess(0.0) <= 0.0:
        return 0.0
    _, variance = _mixture(mechanism)
    high = math.sqrt(variance)
    while excess(high) > 0.0:
        high *= 2.0
    at = optimize.bisect(excess, 0.0, high, xtol=1e-13 * high)
    return float(log_ratio(at, mechanism))


def _mixture(mechanism: Mechanism) -> tuple[npt.NDArray[np.float64], float]:
    """Return log Bin(k; T, q) for k = 0 … T and the variance Tσ²."""
    if mechanism.noise_multiplier == 0.0 or mechanism.releases == 0:
        raise InputError(
            f"noise_multiplier = {mechanism.noise_multiplier!r}, releases = "
            f"{mechanism.releases}: scores need noise and at least one step"
        )
    steps, q = mechanism.releases, mechanism.participation
    k = np.arange(steps + 1.0)
    choose = special.gammaln(steps + 1.0) - special.gammaln(k + 1) - special.gammaln(steps - k + 1)
    weights = choose + special.xlogy(k, q) + special.xlog1py(steps - k, -q)
    return weights, steps * mechanism.noise_multiplier**2


def _finite(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(values, np.float64)
    if not np.all(np.isfinite(array)):
        raise InputError(f"{name}: finite numbers are needed")
    return array
