"""Probe selection: which candidates of a pool the auditor puts into the bank."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pe_core.errors import InputError
from pe_core.kernels import greedy

Objective = Literal["norm", "mu_eff"]


@dataclass(frozen=True, eq=False)
class Selection:
    """Probes in the order of their selection.

    Attributes:
        sequence: int64 (budget,), pool indices.
        scores: float64 (budget,), the objective after each step.
    """

    sequence: NDArray[np.int64]
    scores: NDArray[np.float64]


def select(
    base_distance: NDArray[np.float64],
    pool_distance: NDArray[np.float64],
    budget: int,
    objective: Objective,
    covariance: NDArray[np.float64] | None = None,
    *,
    base_index: NDArray[np.integer] | None = None,
    positions: NDArray[np.integer] | None = None,
) -> Selection:
    """Select probes greedily (equation 6, Algorithm B.1).

    Each step tries every remaining candidate with all of the canary's records routed again, and
    takes the one with the largest objective. J_norm = Σ counts², where counts are the canary's
    votes on the selected probes, is compared in integers; J_mu_eff = wᵀΣ̂⁻¹w with
    w = counts/(m·k) and Σ̂ the principal submatrix of `covariance`. Scores within a relative
    1e-12 of the step's largest count as tied; ties go to the lowest pool index. For covariances
    of condition number κ, J_mu_eff carries a relative error of about κ·1e-15, so beyond κ = 1e3
    a step may take a candidate whose score is below the largest by that error.

    Distances alone decide the routes, and equal ones the bank positions. With `base_index` and
    `positions`, ties are decided as routing on the bank with the probes in place decides them:
    the t-th selected probe stands at `positions[t]`. Without, every base entry stands before
    every probe, and the probes stand in the order of selection.

    Args:
        base_distance: float64 (m, k), each record's k nearest of the base bank, ascending; the
            squared distance or any increasing function of it. Infinity marks a missing entry.
        pool_distance: float64 (m, M), to every candidate, in the same unit, finite.
        budget: r in 1..M, number of probes.
        objective: `"norm"` or `"mu_eff"`.
        covariance: float64 (M, M), symmetric positive definite; with `"mu_eff"` only.
        base_index: integers (m, k), bank positions behind `base_distance`.
        positions: integers (budget,), reserved bank positions, in the order of selection.

    Returns:
        The pool indices in order, and J after each step.

    Raises:
        InputError: shapes that disagree, wrong dtypes, NaN, routes out of order, positions that
            repeat or belong to base entries, or a covariance that is not positive definite.

    Example:
        >>> import numpy as np
        >>> base = np.array([[0.5, 0.9], [0.4, 0.8]])
        >>> pool = np.array([[0.7, 0.1, 2.0], [0.9, 0.2, 2.0]])
        >>> selection = select(base, pool, 2, "norm")
        >>> selection.sequence, selection.scores
        (array([1, 0]), array([4., 4.]))
    """
    base = _matrix("base_distance", base_distance)
    pool = _matrix("pool_distance", pool_distance)
    records, votes = base.shape
    if records == 0 or votes == 0:
        raise InputError(f"base_distance has shape {base.shape}: a record and a vote are needed")
    if pool.shape[0] != records:
        raise InputError(f"base_distance has {records} records, pool_distance {pool.shape[0]}")
    if not np.isfinite(pool).all():
        raise InputError("pool_distance is not finite")
    if np.isnan(base).any() or (base[:, 1:] < base[:, :-1]).any():
        raise InputError("base_distance: each row must ascend, without NaN")
    candidates = pool.shape[1]
    _check_budget(budget, candidates)
    base_position, probe_positions = _positions(base, budget, base_index, positions)
    if objective not in ("norm", "mu_eff"):
        raise InputError(f"objective = {objective!r}: allowed are 'norm' and 'mu_eff'")
    if (covariance is None) == (objective == "mu_eff"):
        raise InputError("covariance belongs to objective 'mu_eff', which needs it")

    distance = base.copy()
    by_candidate = np.ascontiguousarray(pool.T)
    sequence = np.empty(budget, np.int64)
    scores = np.empty(budget)
    if covariance is None:
        greedy.select_norm(distance, base_position, by_candidate, probe_positions, sequence, scores)
        return Selection(sequence, scores)
    sigma = _covariance(covariance, candidates)
    singular = greedy.select_mu_eff(
        distance, base_position, by_candidate, probe_positions, sigma, sequence, scores
    )
    if singular >= 0:
        raise InputError(
            f"covariance is not positive definite on candidate {singular} and the selected probes"
        )
    return Selection(sequence, scores / float(records * votes) ** 2)


def uniform(pool: int, budget: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Select `budget` of `pool` candidates uniformly without replacement.

    Returns:
        int64 (budget,), pool indices in the order of the draw.

    Raises:
        InputError: a budget outside 1..pool.

    Example:
        >>> import numpy as np
        >>> sorted(uniform(3, 3, np.random.default_rng(0)).tolist())
        [0, 1, 2]
    """
    _check_budget(budget, pool)
    return generator.permutation(pool)[:budget].astype(np.int64)


def round_robin(source_record: ArrayLike, budget: int) -> NDArray[np.int64]:
    """Select candidates round robin over their source records, lowest pool index first.

    A record whose candidates have run out is passed over.

    Args:
        source_record: integers (M,), the record that each candidate was made from.
        budget: in 1..M.

    Returns:
        int64 (budget,), pool indices in order.

    Raises:
        InputError: `source_record` is not a vector of integers, or the budget is outside 1..M.

    Example:
        >>> round_robin([0, 0, 1, 0, 1], 4)
        array([0, 2, 1, 4])
    """
    source = np.asarray(source_record)
    if source.ndim != 1 or not np.issubdtype(source.dtype, np.integer):
        raise InputError(
            f"source_record is {source.dtype} of shape {source.shape}: a vector of integers is "
            "needed"
        )
    _check_budget(budget, source.shape[0])
    by_record = np.argsort(source, kind="stable")
    ordered = source[by_record]
    turn = np.empty(source.shape[0], np.int64)
    turn[by_record] = np.arange(source.shape[0]) - np.searchsorted(ordered, ordered)
    return np.lexsort((source, turn))[:budget].astype(np.int64)


def _matrix(name: str, value: NDArray[np.float64]) -> NDArray[np.float64]:
    array = np.asarray(value)
    if array.ndim != 2 or array.dtype != np.float64:
        raise InputError(
            f"{name} is {array.dtype} of shape {array.shape}: a float64 matrix is needed"
        )
    return np.ascontiguousarray(array)


def _check_budget(budget: int, candidates: int) -> None:
    if isinstance(budget, bool) or not isinstance(budget, (int, np.integer)):
        raise InputError(f"budget = {budget!r}: a whole number is needed")
    if not 1 <= budget <= candidates:
        raise InputError(f"budget = {budget}: allowed is 1 to the pool's {candidates} candidates")


def _positions(
    base: NDArray[np.float64],
    budget: int,
    base_index: NDArray[np.integer] | None,
    positions: NDArray[np.integer] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if base_index is None and positions is None:
        return np.full(base.shape, -1, np.int64), np.arange(budget, dtype=np.int64)
    if base_index is None or positions is None:
        raise InputError("base_index and positions decide ties together: give both or neither")
    index, reserved = np.asarray(base_index), np.asarray(positions)
    for name, array, shape in (
        ("base_index", index, base.shape),
        ("positions", reserved, (budget,)),
    ):
        if array.shape != shape or not np.issubdtype(array.dtype, np.integer):
            raise InputError(
                f"{name} is {array.dtype} of shape {array.shape}: integers of shape {shape} are "
                "needed"
            )
    present = np.isfinite(base)
    if np.unique(reserved).size != budget or np.isin(reserved, index[present]).any():
        raise InputError("positions must differ from each other and from every base entry's")
    tied = present[:, 1:] & (base[:, 1:] == base[:, :-1])
    if (index[:, 1:] <= index[:, :-1])[tied].any():
        raise InputError("base_index: equal distances must stand in the order of their positions")
    return index.astype(np.int64), reserved.astype(np.int64)


def _covariance(covariance: NDArray[np.float64], candidates: int) -> NDArray[np.float64]:
    sigma = _matrix("covariance", covariance)
    if sigma.shape != (candidates, candidates):
        raise InputError(f"covariance has shape {sigma.shape}, the pool {candidates} candidates")
    gap, largest = greedy.asymmetry(sigma)
    if not np.isfinite(largest):
        raise InputError("covariance is not finite")
    if gap > 1e-12 * largest:
        raise InputError(f"covariance is not symmetric: entries differ by {gap:.3g}")
    return sigma
