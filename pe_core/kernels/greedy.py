"""Greedy probe selection: every candidate is tried against routes that are kept up to date.

Tie rules. A record's k nearest entries are ordered by (distance, position). A candidate takes a
vote from a record when its pair is below the record's last pair, and then it evicts that last
entry: a base entry (the vote is new to the probes) or an earlier probe (which loses the vote).
Scores within a relative `TIE` of the step's largest count as equal; the lowest pool index wins.

Shapes: m records, k votes a record, M candidates, r steps; t probes are selected so far.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TIE = 1e-12
# A Schur complement this small against its variance is rounding error: the matrix is singular.
SINGULAR = 1e-13
# Candidates updated together: b is kept in blocks of this many columns, so that a block stays in
# cache between passes. One matrix (r, M) took 2.2 times as long at M = 8,192: its rows lie a power
# of two apart and evict each other.
BLOCK = 128


@njit(cache=True)
def select_norm(
    distance: Floats,
    position: Ints,
    pool: Floats,
    probe_positions: Ints,
    sequence: Ints,
    scores: Floats,
) -> None:
    """Greedy on J_norm = Σ counts², compared in integers.

    Args:
        distance, position: (m, k), the base routes in order; overwritten with the final routes.
        pool: (M, m), distance of every candidate to every record.
        probe_positions: (r,), bank position of the probe that each step selects.
        sequence, scores: (r,), filled with pool indices and J.
    """
    candidates, records = pool.shape
    budget = sequence.shape[0]
    last = distance.shape[1] - 1
    owner = np.full(distance.shape, -1, np.int64)
    count = np.zeros(budget, np.int64)
    loss = np.zeros(budget, np.int64)
    losers = np.empty(records, np.int64)
    threshold = np.empty(records)
    selected = np.zeros(candidates, np.bool_)
    for t in range(budget):
        _winning_distance(distance, position, probe_positions[t], threshold)
        evicted = owner[:, last]
        total = np.int64(0)
        for j in range(t):
            total += count[j] * count[j]
        best, largest = -1, np.int64(-1)
        for c in range(candidates):
            if selected[c]:
                continue
            won = _votes(pool[c], threshold)
            score = total + won * won
            if won > 0:
                for a in range(_losses(pool[c], threshold, evicted, loss, losers)):
                    j = losers[a]
                    score -= loss[j] * (2 * count[j] - loss[j])
                    loss[j] = 0
            if score > largest:
                best, largest = c, score
        selected[best] = True
        sequence[t], scores[t] = best, largest
        _route(pool[best], probe_positions[t], t, threshold, distance, position, owner, count)


@njit(cache=True)
def select_mu_eff(
    distance: Floats,
    position: Ints,
    pool: Floats,
    probe_positions: Ints,
    covariance: Floats,
    sequence: Ints,
    scores: Floats,
) -> int:
    """Greedy on J_mu_eff = nᵀΣ_S⁻¹n, n the vote counts of the selected probes S.

    With A = Σ_S⁻¹, b_c = AΣ_Sc and the Schur complement d_c = Σ_cc − Σ_cSb_c, adding candidate c
    with n_c votes, which leaves n' to the earlier probes, scores
        n'ᵀAn' + (n_c − b_cᵀn')²/d_c,    n' = n − (votes that c takes),
    so a candidate costs its m comparisons and the few probes that lose votes to it. After a step
    A grows by one row, and every b_c and d_c by one bordered elimination: O(tM), no solve.

    Args:
        covariance: (M, M), symmetric; the others as in `select_norm`.

    Returns:
        −1, or a candidate whose principal submatrix with S is not positive definite.
    """
    candidates, records = pool.shape
    budget = sequence.shape[0]
    last = distance.shape[1] - 1
    owner = np.full(distance.shape, -1, np.int64)
    count = np.zeros(budget, np.int64)
    loss = np.zeros(budget, np.int64)
    losers = np.empty(records, np.int64)
    threshold = np.empty(records)
    selected = np.zeros(candidates, np.bool_)
    inverse = np.zeros((budget, budget))
    solved = np.zeros(budget)
    b = np.empty(((candidates + BLOCK - 1) // BLOCK, budget, BLOCK))
    b_count = np.zeros(candidates)
    schur = np.empty(candidates)
    score = np.empty(candidates)
    for c in range(candidates):
        schur[c] = covariance[c, c]
    for t in range(budget):
        _winning_distance(distance, position, probe_positions[t], threshold)
        evicted = owner[:, last]
        total = 0.0
        for j in range(t):
            total += count[j] * solved[j]
        for c in range(candidates):
            if selected[c]:
                continue
            if not schur[c] > SINGULAR * covariance[c, c]:
                return c
            won = _votes(pool[c], threshold)
            kept, fresh = total, won - b_count[c]
            if won > 0:
                n = _losses(pool[c], threshold, evicted, loss, losers)
                for a in range(n):
                    j = losers[a]
                    change = -2.0 * solved[j]
                    for other in range(n):
                        change += inverse[j, losers[other]] * loss[losers[other]]
                    kept += loss[j] * change
                    fresh += loss[j] * b[c // BLOCK, j, c % BLOCK]
                for a in range(n):
                    loss[losers[a]] = 0
            score[c] = kept + fresh * fresh / schur[c]
        best = _lowest_tied(score, selected)
        selected[best] = True
        sequence[t], scores[t] = best, score[best]
        _route(pool[best], probe_positions[t], t, threshold, distance, position, owner, count)
        if t + 1 < budget:
            _border(b, b_count, schur, inverse, covariance, sequence, count, t)
            for j in range(t + 1):
                solved[j] = 0.0
                for other in range(t + 1):
                    solved[j] += inverse[j, other] * count[other]
    return -1


@njit(cache=True)
def asymmetry(matrix: Floats) -> tuple[float, float]:
    """The largest |a_ij − a_ji| and the largest |a_ij|, infinite where an entry is not finite.

    In tiles, so that the transposed entries are read a cache line at a time.
    """
    n = matrix.shape[0]
    gap, largest = 0.0, 0.0
    for top in range(0, n, BLOCK):
        for left in range(0, top + BLOCK, BLOCK):
            for i in range(top, min(top + BLOCK, n)):
                for j in range(left, min(left + BLOCK, n)):
                    a, b = matrix[i, j], matrix[j, i]
                    if not (abs(a) < np.inf and abs(b) < np.inf):
                        return 0.0, np.inf
                    gap, largest = max(gap, abs(a - b)), max(largest, abs(a), abs(b))
    return gap, largest


@njit(cache=True)
def _winning_distance(
    distance: Floats, position: Ints, probe_position: int, threshold: Floats
) -> None:
    """Set threshold (m,): a probe at this position wins a vote iff its distance is below."""
    last = distance.shape[1] - 1
    for i in range(distance.shape[0]):
        d = distance[i, last]
        threshold[i] = np.nextafter(d, np.inf) if probe_position < position[i, last] else d


@njit(cache=True)
def _votes(candidate: Floats, threshold: Floats) -> int:
    votes = 0
    for i in range(threshold.shape[0]):
        votes += candidate[i] < threshold[i]
    return votes


@njit(cache=True)
def _losses(candidate: Floats, threshold: Floats, evicted: Ints, loss: Ints, losers: Ints) -> int:
    """List in `losers` the earlier probes that lose votes to a candidate; return how many.

    `loss` comes in as zeros and leaves with their losses, for the caller to reset. Which records a
    candidate wins is as good as random, so nothing branches on it: that took three times as long.
    """
    votes = 0
    for i in range(threshold.shape[0]):
        losers[votes] = evicted[i]
        votes += (candidate[i] < threshold[i]) & (evicted[i] >= 0)
    n = 0
    for a in range(votes):
        j = losers[a]
        losers[n] = j
        n += loss[j] == 0
        loss[j] += 1
    return n


@njit(cache=True)
def _lowest_tied(score: Floats, selected: NDArray[np.bool_]) -> int:
    largest = -1.0
    for c in range(score.shape[0]):
        if not selected[c] and score[c] > largest:
            largest = score[c]
    floor = largest - TIE * largest
    for c in range(score.shape[0]):
        if not selected[c] and score[c] >= floor:
            return c
    return -1


@njit(cache=True)
def _route(
    candidate: Floats,
    probe_position: int,
    probe: int,
    threshold: Floats,
    distance: Floats,
    position: Ints,
    owner: Ints,
    count: Ints,
) -> None:
    """Merge one probe into the routes of the records that it wins, and move their votes."""
    last = distance.shape[1] - 1
    for i in range(distance.shape[0]):
        d = candidate[i]
        if not d < threshold[i]:
            continue
        if owner[i, last] >= 0:
            count[owner[i, last]] -= 1
        count[probe] += 1
        slot = last
        while slot > 0 and (
            d < distance[i, slot - 1]
            or (d == distance[i, slot - 1] and probe_position < position[i, slot - 1])
        ):
            distance[i, slot] = distance[i, slot - 1]
            position[i, slot] = position[i, slot - 1]
            owner[i, slot] = owner[i, slot - 1]
            slot -= 1
        distance[i, slot] = d
        position[i, slot] = probe_position
        owner[i, slot] = probe


@njit(cache=True)
def _border(
    b: Floats,
    b_count: Floats,
    schur: Floats,
    inverse: Floats,
    covariance: Floats,
    sequence: Ints,
    count: Ints,
    t: int,
) -> None:
    """Grow A, every b_c and every d_c by probe s = sequence[t], and set b_cᵀn.

    Loops run over candidates innermost: they vectorise without reordering any sum, so the scores
    are the same on every machine.
    """
    s = sequence[t]
    d = schur[s]
    g = np.empty(t)
    for j in range(t):
        g[j] = b[s // BLOCK, j, s % BLOCK]
    for j in range(t):
        for other in range(t):
            inverse[j, other] += g[j] * g[other] / d
        inverse[j, t] = inverse[t, j] = -g[j] / d
    inverse[t, t] = 1.0 / d
    beta = np.empty(BLOCK)
    for block in range(b.shape[0]):
        start = block * BLOCK
        width = min(BLOCK, schur.shape[0] - start)
        own = b[block]
        for c in range(width):
            beta[c] = covariance[s, start + c]
        for j in range(t):
            weight = covariance[s, sequence[j]]
            for c in range(width):
                beta[c] -= weight * own[j, c]
        for c in range(width):
            schur[start + c] -= beta[c] * beta[c] / d
            beta[c] /= d
            own[t, c] = beta[c]
            b_count[start + c] = count[t] * beta[c]
        for j in range(t):
            for c in range(width):
                own[j, c] -= g[j] * beta[c]
                b_count[start + c] += count[j] * own[j, c]
