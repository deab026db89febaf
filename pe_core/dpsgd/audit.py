"""From the scores of a substitution game to lower bounds on ε.

Two bounds stand side by side, each on counts that its threshold has not seen. One assumes nothing
about the mechanism. The other, the paper's, assumes that the trade-off curve is Gaussian (μ-GDP):
it is larger, and where the assumption fails it may pass the true ε.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from pe_core.bounds import branch, check_delta, check_tail, clopper_pearson, epsilon_lower
from pe_core.errors import InputError

# The share of each hypothesis's runs that fixes the threshold; the others are counted.
THRESHOLD_SHARE = 0.25


class Counts(NamedTuple):
    """Events score > threshold among the runs that the threshold has not seen."""

    threshold: float
    true_positives: int
    present_runs: int
    false_positives: int
    replaced_runs: int


class Audit(NamedTuple):
    """What the scores of one game prove.

    Attributes:
        epsilon: lower bound on ε that holds at confidence 1 − α for any mechanism.
        counts: the counts behind it.
        epsilon_if_gdp: ε(δ) of μ-GDP at `mu_lower`; a lower bound only if the game's trade-off
            curve is a Gaussian one.
        mu_lower: Φ⁻¹(1 − FPR_U) − Φ⁻¹(FNR_U), never below 0.
        counts_if_gdp: the counts behind it, at its own threshold.
    """

    epsilon: float
    counts: Counts
    epsilon_if_gdp: float
    mu_lower: float
    counts_if_gdp: Counts


def audit_scores(
    present: npt.ArrayLike, replaced: npt.ArrayLike, delta: float, alpha: float
) -> Audit:
    """Return both lower bounds on ε from the scores of a game.

    The first quarter of each hypothesis's runs fixes one threshold a bound, the one with the
    largest bound on the quarter's own counts; the other runs are then counted. (Rates of the
    quarter taken for those of all runs would favour thresholds beyond which the quarter happens to
    have no run: the ends of its own counts know how little that says.)
    Both Clopper-Pearson ends, FPR_U and FNR_U, are at tail α/2. TPR_L and TNR_L are their
    complements, so both branches hold together at confidence 1 − α.

    Args:
        present: scores of the runs trained with z, (R₁,), in the order they were played.
        replaced: scores of the runs trained with z′, (R₀,). Larger must mean z.
        delta: δ in [0, 1].
        alpha: α in (0, 1), the chance with which each bound may fail.

    Raises:
        InputError: fewer than 8 runs of a hypothesis, a score that is NaN, δ or α out of range.

    Example:
        >>> result = audit_scores(np.arange(100.0) + 1000, np.arange(100.0), 1e-5, 0.05)
        >>> round(result.epsilon, 3), result.counts.true_positives  # log((0.952 − δ) / 0.048)
        (2.987, 75)
    """
    check_delta(delta)
    check_tail(alpha)
    with_z, without = _scores("present", present), _scores("replaced", replaced)
    tail = alpha / 2
    held_z, held = int(with_z.size * THRESHOLD_SHARE), int(without.size * THRESHOLD_SHARE)
    candidates, fpr, fnr = _ends(with_z[:held_z], without[:held], tail)
    free = np.maximum(branch(1 - fnr, fpr, delta), branch(1 - fpr, fnr, delta))
    counts = _count(_best(candidates, free), with_z[held_z:], without[held:])
    if_gdp = _count(_best(candidates, separation(fpr, fnr)), with_z[held_z:], without[held:])
    fpr_upper = clopper_pearson(if_gdp.false_positives, if_gdp.replaced_runs, tail).upper
    misses = if_gdp.present_runs - if_gdp.true_positives
    fnr_upper = clopper_pearson(misses, if_gdp.present_runs, tail).upper
    mu_lower = max(0.0, float(separation(fpr_upper, fnr_upper)))
    return Audit(
        epsilon_lower(*counts[1:], delta, tail),
        counts,
        gdp_epsilon(mu_lower, delta),
        mu_lower,
        if_gdp,
    )


def separation(fpr: npt.ArrayLike, fnr: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return μ = Φ⁻¹(1 − fpr) − Φ⁻¹(fnr), the Gaussian curve through one point of a trade-off.

    Example:
        >>> round(float(separation(0.158655254, 0.158655254)), 6)
        2.0
    """
    return -special.ndtri(np.asarray(fpr, np.float64)) - special.ndtri(np.asarray(fnr, np.float64))


def gdp_delta(mu: float, epsilon: float) -> float:
    """Return δ(ε) of μ-GDP: Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2).

    Args:
        mu: μ ≥ 0, finite.
        epsilon: ε ≥ 0, finite.

    Raises:
        InputError: a value out of range.

    Example:
        >>> round(gdp_delta(2.0, 0.0), 6)  # 2Φ(1) − 1
        0.682689
    """
    for name, value in (("mu", mu), ("epsilon", epsilon)):
        if not (math.isfinite(value) and value >= 0.0):
            raise InputError(f"{name} = {value!r}: a finite number of at least 0 is needed")
    if mu == 0.0:
        return 0.0
    upper = float(special.log_ndtr(-epsilon / mu + mu / 2))
    lower = epsilon + float(special.log_ndtr(-epsilon / mu - mu / 2))
    return max(0.0, math.exp(upper) * -math.expm1(min(0.0, lower - upper)))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Return the ε of μ-GDP at δ: the inverse of `gdp_delta`, 0 where δ(0) ≤ δ, ∞ for δ = 0.

    Raises:
        InputError: μ negative or not finite, δ outside [0, 1].

    Example:
        >>> round(gdp_epsilon(1.0, 1e-5), 5)
        4.37718
    """
    check_delta(delta)
    if gdp_delta(mu, 0.0) <= delta:
        return 0.0
    if delta == 0.0:
        return math.inf
    # δ(ε) ≤ Φ(−ε/μ + μ/2), so ε lies below the root of that bound.
    high = mu * (mu / 2 - float(special.ndtri(delta)))
    return optimize.brentq(lambda epsilon: gdp_delta(mu, epsilon) - delta, 0.0, high, xtol=1e-13)


def _ends(
    present: npt.NDArray[np.float64], replaced: npt.NDArray[np.float64], tail: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return candidate thresholds and the Clopper-Pearson ends FPR_U, FNR_U of their counts."""
    scores = np.unique(np.concatenate([present, replaced]))
    # Between two scores, so that a score next to the threshold may move and not cross it.
    candidates = np.concatenate([scores[:1] - 1.0, (scores[1:] + scores[:-1]) / 2, scores[-1:]])
    misses = np.searchsorted(np.sort(present), candidates, side="right")
    alarms = replaced.size - np.searchsorted(np.sort(replaced), candidates, side="right")
    fpr = clopper_pearson(alarms, replaced.size, tail).upper
    fnr = clopper_pearson(misses, present.size, tail).upper
    return candidates, fpr, fnr


def _best(candidates: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> float:
    """Return the middle of the thresholds that share the largest value."""
    largest = values.max()
    ties = candidates[values >= largest - 1e-12 * abs(largest)]
    return float(ties[ties.size // 2])


def _count(
    threshold: float, present: npt.NDArray[np.float64], replaced: npt.NDArray[np.float64]
) -> Counts:
    return Counts(
        threshold,
        int(np.count_nonzero(present > threshold)),
        present.size,
        int(np.count_nonzero(replaced > threshold)),
        replaced.size,
    )


def _scores(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or array.size < 8:
        raise InputError(
            f"{name}: shape {array.shape}; a score for each of at least 8 runs is needed"
        )
    if not np.all(np.isfinite(array)):
        raise InputError(f"{name}: score {int(np.argmin(np.isfinite(array)))} is not finite")
    return array
