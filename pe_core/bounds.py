"""From error rates, counted or exact, to a lower bound on ε (equations 28-30)."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from pe_core.errors import InputError


class Ends(NamedTuple):
    """One-sided Clopper-Pearson ends: each holds alone at confidence 1 − tail."""

    lower: Any
    upper: Any


def clopper_pearson(successes: npt.ArrayLike, trials: npt.ArrayLike, tail: float) -> Ends:
    """Return the one-sided exact ends of a binomial proportion (equation 28).

    Args:
        successes: x, whole numbers in [0, trials]; a number or an array.
        trials: n ≥ 0, whole numbers; broadcast against `successes`.
        tail: γ in (0, 1), the chance with which each end alone may miss the proportion.

    Returns:
        (lower, upper), float64 of the broadcast shape: the γ quantile of Beta(x, n − x + 1) and
        the upper γ quantile of Beta(x + 1, n − x). The lower end of x = 0 is 0 and the upper end
        of x = n is 1. Both are inverted in their own tail: 1 − γ is never formed, which would be 1
        for γ below 1e-16.

    Raises:
        InputError: counts that are not whole, negative or above `trials`; a tail outside (0, 1).

    Example:
        >>> ends = clopper_pearson(0, 1_000_000, 1e-17)
        >>> float(ends.lower), round(float(ends.upper), 9)
        (0.0, 3.9143e-05)
    """
    x, n = np.broadcast_arrays(_counts("successes", successes), _counts("trials", trials))
    if np.any(x > n):
        at = int(np.argmax((x > n).ravel()))
        raise InputError(
            f"successes = {x.ravel()[at]} of trials = {n.ravel()[at]}: at most all can succeed"
        )
    check_tail(tail)
    return ends(x.astype(np.float64), n.astype(np.float64), tail)


def ends(successes: Any, trials: Any, tail: float) -> Ends:
    """Return `clopper_pearson` of float64 counts known to be valid.

    Example:
        >>> round(float(ends(0.0, 1000.0, 0.05).upper), 6) == round(1.0 - 0.05**0.001, 6)
        True
    """
    failures = trials - successes
    # A placeholder of 1 keeps the quantile defined where the end is known.
    lower = special.betaincinv(np.maximum(successes, 1.0), failures + 1.0, tail)
    upper = special.betainccinv(successes + 1.0, np.maximum(failures, 1.0), tail)
    return Ends(np.where(successes == 0, 0.0, lower)[()], np.where(failures == 0, 1.0, upper)[()])


def epsilon_lower(
    true_positives: int,
    present_trials: int,
    false_positives: int,
    absent_trials: int,
    delta: float,
    tail: float,
) -> float:
    """Return the lower confidence bound on ε from counted errors (equations 28-30).

    The larger of log((TPR_L − δ) / FPR_U) and log((TNR_L − δ) / FNR_U), never below 0; a branch
    whose numerator is not above δ gives nothing. The event must not depend on the counts: a
    threshold chosen on the same trials makes this no bound at all.

    Args:
        true_positives: trials with the canary whose score passed the threshold.
        present_trials: trials with the canary.
        false_positives: trials without the canary whose score passed.
        absent_trials: trials without the canary.
        delta: δ in [0, 1].
        tail: γ of each of the four Clopper-Pearson ends; α / (4 · canaries) keeps the largest
            bound of several canaries valid at confidence 1 − α.

    Raises:
        InputError: impossible counts, δ outside [0, 1], a tail outside (0, 1).

    Example:
        >>> round(epsilon_lower(300, 1_000_000, 30, 1_000_000, 1e-5, 0.0025), 3)
        1.606
        >>> epsilon_lower(3, 1_000_000, 30, 1_000_000, 1e-5, 0.0025)
        0.0
    """
    check_delta(delta)
    tpr = clopper_pearson(true_positives, present_trials, tail)
    fpr = clopper_pearson(false_positives, absent_trials, tail)
    # Counted from their own end, so that a rate next to 1 keeps its complement's digits.
    fnr = ends(np.float64(present_trials - true_positives), np.float64(present_trials), tail)
    tnr = ends(np.float64(absent_trials - false_positives), np.float64(absent_trials), tail)
    return float(
        np.maximum(
            branch(tpr.lower, fpr.upper, delta),
            branch(tnr.lower, fnr.upper, delta),
        )
    )


def epsilon_from_rates(
    fpr: float,
    tpr: float,
    delta: float,
    relative_error: float = 0.0,
    *,
    tnr: float | None = None,
    fnr: float | None = None,
) -> float:
    """Return the ε that known error rates of one event prove, both branches (equation 30).

    Args:
        fpr: probability of the event without the canary, in [0, 1].
        tpr: probability of the event with the canary, in [0, 1].
        delta: δ in [0, 1].
        relative_error: bound on the relative error of every given rate; all rates are moved by it
            in the direction that lowers ε.
        tnr: 1 − fpr, where it is known to more digits than the subtraction leaves.
        fnr: 1 − tpr, likewise.

    Returns:
        ε ≥ 0; infinite where an event is possible under one hypothesis only.

    Raises:
        InputError: a rate or δ outside [0, 1], a relative error outside [0, 1).

    Example:
        >>> round(epsilon_from_rates(1e-5, 1.1e-4, 1e-5), 6)
        2.302585
        >>> epsilon_from_rates(0.0, 0.0, 0.0)
        0.0
    """
    check_delta(delta)
    if not 0.0 <= relative_error < 1.0:
        raise InputError(f"relative_error = {relative_error!r}: allowed is [0, 1)")
    for name, rate in (("fpr", fpr), ("tpr", tpr), ("tnr", tnr), ("fnr", fnr)):
        if rate is not None and not 0.0 <= rate <= 1.0:
            raise InputError(f"{name} = {rate!r}: a rate lies in [0, 1]")
    down, up = 1.0 - relative_error, 1.0 + relative_error
    tnr_lower = max(0.0, 1.0 - fpr * up) if tnr is None else tnr * down
    fnr_upper = 1.0 - tpr * down if fnr is None else fnr * up
    return float(
        np.maximum(
            branch(tpr * down, min(1.0, fpr * up), delta),
            branch(tnr_lower, min(1.0, fnr_upper), delta),
        )
    )


def branch(numerator: Any, denominator: Any, delta: float) -> Any:
    """Return max(0, log((numerator − δ) / denominator)), and 0 where numerator ≤ δ.

    Example:
        >>> float(branch(0.5, 0.25, 0.0)) == float(np.log(2.0)), float(branch(0.1, 0.2, 0.0))
        (True, 0.0)
    """
    above = np.asarray(numerator, np.float64) - delta
    below = np.asarray(denominator, np.float64)
    proves = above > np.maximum(below, 0.0)
    with np.errstate(divide="ignore"):
        # Two logarithms: the quotient of a rate by a subnormal one overflows.
        value = np.log(np.where(proves, above, 1.0)) - np.log(np.where(proves, below, 1.0))
    return value[()]


def check_delta(delta: float) -> None:
    """Refuse a δ outside [0, 1].

    Example:
        >>> check_delta(1.5)
        Traceback (most recent call last):
        pe_core.errors.InputError: delta = 1.5: allowed is [0, 1]
    """
    if not 0.0 <= delta <= 1.0:
        raise InputError(f"delta = {delta!r}: allowed is [0, 1]")


def check_tail(tail: float) -> None:
    """Refuse a tail outside (0, 1).

    Example:
        >>> check_tail(0.0)
        Traceback (most recent call last):
        pe_core.errors.InputError: tail = 0.0: a probability above 0 and below 1 is needed
    """
    if not 0.0 < tail < 1.0:
        raise InputError(f"tail = {tail!r}: a probability above 0 and below 1 is needed")


def _counts(name: str, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    counts = np.asarray(values)
    if not np.issubdtype(counts.dtype, np.integer):
        raise InputError(f"{name} of type {counts.dtype}: whole numbers are needed")
    if np.any(counts < 0):
        raise InputError(f"{name} = {counts.min()}: a count is at least 0")
    return counts.astype(np.int64)
