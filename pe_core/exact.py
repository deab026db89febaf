"""True error rates of a linear score, without sampling.

For fixed users, bank and mechanism the score of a release is Σ I_u s_u + τZ minus its offset, with
s_u = wᵀc_u and τ = σC‖w‖. Both tails of that sum follow from its characteristic function
(docs/method.md), so that an ε from them carries no sampling error and needs no confidence level.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from pe_core.errors import InputError
from pe_core.inversion import UNIT
from pe_core.kernels import dot
from pe_core.linear_test import LinearTest, Rates
from pe_core.mechanism import Mechanism
from pe_core.score import LinearScore

Floats = npt.NDArray[np.float64]


def linear_test(
    score: LinearScore,
    contributions: Floats | csr_array,
    canary: Floats,
    mechanism: Mechanism,
    counts: npt.NDArray[np.int64] | None = None,
) -> LinearTest:
    """Prepare the exact evaluation of one score against fixed users.

    Args:
        score: `weights` (r,) and `offset`; ℓ(y) = weights·y − offset.
        contributions: of the N other users on the inspected coordinates, float64 (N, r), dense or
            CSR; N is the mechanism's population.
        canary: v, float64 (r,).
        mechanism: gives N, q and σC.
        counts: how many users each row stands for, int64 (rows,), summing to N; by default one.

    Raises:
        InputError: shapes that do not fit, entries that are not finite, σ = 0 with a score that
            is not constant.

    Example:
        >>> from pe_core.background import Background
        >>> mechanism = Mechanism(0, 0.1, 1.0, 0.1, 1e-5)
        >>> canary = np.array([0.1])
        >>> score = LinearScore.fit(canary, Background(np.zeros(1), np.eye(1) * 0.01), mechanism)
        >>> test = linear_test(score, np.zeros((0, 1)), canary, mechanism)
        >>> round(test.epsilon(3.9, 1e-5), 3)
        1.663
    """
    n = contributions.shape[0] if contributions.ndim == 2 else -1
    if counts is None:
        counts = np.ones(max(n, 0), dtype=np.int64)
    elif counts.shape != (n,) or counts.dtype != np.int64 or counts.min(initial=0) < 0:
        raise InputError(
            f"counts are {counts.dtype} of shape {counts.shape}: int64, one of at least 0 for each "
            f"of {n} rows is needed"
        )
    users = int(counts.sum())
    if n < 0 or users != mechanism.population:
        raise InputError(
            f"contributions have shape {contributions.shape}, of {users} users: the mechanism's "
            f"population of {mechanism.population} is needed"
        )
    return _test(score, contributions, counts, canary, mechanism)


def cycled_test(
    score: LinearScore,
    contributions: Floats | csr_array,
    canary: Floats,
    mechanism: Mechanism,
) -> LinearTest:
    """Prepare the evaluation against a cohort cycled in order and cut at the population.

    Arguments and errors are those of `linear_test`, for any number of rows (at least one where
    the population is above 0).

    Example:
        >>> from pe_core.background import Background
        >>> mechanism = Mechanism(5, 0.1, 1.0, 0.1, 1e-5)
        >>> canary = np.array([0.1])
        >>> score = LinearScore.fit(canary, Background(np.zeros(1), np.eye(1) * 0.01), mechanism)
        >>> two = np.array([[0.05], [0.02]])
        >>> cycled = cycled_test(score, two, canary, mechanism)
        >>> same = linear_test(score, two[[0, 1, 0, 1, 0]], canary, mechanism)
        >>> bool(np.isclose(cycled.rates(2.0).fpr, same.rates(2.0).fpr, rtol=1e-8))
        True
    """
    n = contributions.shape[0] if contributions.ndim == 2 else -1
    population = mechanism.population
    if n < 0 or (n == 0 and population > 0):
        raise InputError(
            f"contributions have shape {contributions.shape}: at least one row is needed to cycle"
        )
    counts = np.zeros(n, dtype=np.int64)
    if n:
        counts += population // n
        counts[: population % n] += 1
    return _test(score, contributions, counts, canary, mechanism)


def error_rates(
    score: LinearScore,
    contributions: Floats | csr_array,
    canary: Floats,
    mechanism: Mechanism,
    thresholds: npt.ArrayLike,
) -> Rates:
    """Return both error rates of ℓ > threshold for a trial of one release.

    Without the canary the rate is F̄(a), with it (1 − q)·F̄(a) + q·F̄(a − wᵀv), where F̄ is the tail
    of Σ I_u s_u + τZ and a the threshold plus the score's offset.

    Args:
        score, contributions, canary, mechanism: as for `linear_test`.
        thresholds: finite, any shape.

    Raises:
        InputError: see `linear_test`.
        AccuracyError: a relative error of 1e-8 that cannot be promised.

    Example:
        >>> from pe_core.background import Background
        >>> mechanism = Mechanism(0, 0.1, 1.0, 0.1, 1e-5)
        >>> canary = np.array([0.1])
        >>> score = LinearScore.fit(canary, Background(np.zeros(1), np.eye(1) * 0.01), mechanism)
        >>> rates = error_rates(score, np.zeros((0, 1)), canary, mechanism, [-0.5, 0.5])
        >>> rates.fpr.round(6), rates.tpr.round(6)
        (array([0.5     , 0.158655]), array([0.534134, 0.19279 ]))
    """
    return linear_test(score, contributions, canary, mechanism).rates(thresholds)


def rates_of_sum(
    shifts: npt.ArrayLike,
    participation: float,
    noise: float,
    canary_shift: float,
    thresholds: npt.ArrayLike,
) -> Rates:
    """Return the rates of Σ I_u s_u + τZ (+ b with probability q) > threshold.

    Args:
        shifts: s, (N,), finite; taken as exact.
        participation: q in [0, 1], 0 or at least 1e-100.
        noise: τ ≥ 0; 0 only where all shifts and b are 0.
        canary_shift: b.
        thresholds: finite, any shape.

    Raises:
        InputError: values outside these ranges.
        AccuracyError: a relative error of 1e-8 that cannot be promised.

    Example:
        >>> rates = rates_of_sum([1.0, 1.0], 0.5, 1.0, 0.0, 1.0)
        >>> round(float(rates.fpr), 12), float(rates.tpr) == float(rates.fpr)
        (0.5, True)
    """
    s = np.asarray(shifts, dtype=np.float64)
    if s.ndim != 1 or not np.isfinite(s).all():
        raise InputError(f"shifts of shape {s.shape}: one axis of finite numbers is needed")
    for name, value in (("noise", noise), ("canary_shift", canary_shift)):
        if not np.isfinite(value) or (name == "noise" and value < 0.0):
            raise InputError(f"{name} = {value!r}: a finite number is needed, noise at least 0")
    check_participation(participation)
    ones = np.ones(s.size, dtype=np.int64)
    test = LinearTest(s, ones, participation, noise, canary_shift, 0.0, 0.0)
    return test.rates(thresholds)


def check_participation(participation: float) -> None:
    """Refuse a q that is not a probability, or too small to divide by.

    Example:
        >>> check_participation(1.5)
        Traceback (most recent call last):
        pe_core.errors.InputError: participation = 1.5: allowed are 0 and [1e-100, 1]
    """
    if not (participation == 0.0 or 1e-100 <= participation <= 1.0):
        raise InputError(f"participation = {participation!r}: allowed are 0 and [1e-100, 1]")


def _test(
    score: LinearScore,
    contributions: Floats | csr_array,
    counts: npt.NDArray[np.int64],
    canary: Floats,
    mechanism: Mechanism,
) -> LinearTest:
    weights = np.ascontiguousarray(score.weights, dtype=np.float64)
    v = np.ascontiguousarray(canary, dtype=np.float64)
    if weights.ndim != 1 or v.shape != weights.shape or contributions.shape[1:] != weights.shape:
        raise InputError(
            f"the score has weights of shape {weights.shape}, the canary {v.shape}, contributions "
            f"{contributions.shape}: r, r and (N, r) are needed"
        )
    values: Any = contributions.data if isinstance(contributions, csr_array) else contributions
    for name, array in (("weights", weights), ("canary", v), ("contributions", values)):
        if not np.isfinite(array).all():
            raise InputError(f"{name} are not all finite")
    if not np.isfinite(score.offset):
        raise InputError(f"the score's offset is {score.offset!r}")
    check_participation(mechanism.participation)
    if isinstance(contributions, csr_array):
        shifts = dot.sparse_dots(
            contributions.indptr,
            contributions.indices,
            np.asarray(contributions.data, dtype=np.float64),
            weights,
        )
    else:
        shifts = dot.dense_dots(np.ascontiguousarray(contributions, dtype=np.float64), weights)
    return LinearTest(
        shifts,
        counts,
        mechanism.participation,
        mechanism.noise_scale * float(np.linalg.norm(weights)),
        float(dot.dense_dots(v[None, :], weights)[0]),
        float(score.offset),
        2.0 * UNIT,
    )
