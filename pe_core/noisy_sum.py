"""Both tails of Σ I_u s_u + τZ for any users, with the few largest weights enumerated."""

import numpy as np
import numpy.typing as npt

from pe_core.errors import AccuracyError
from pe_core.inversion import FLOOR, UNIT, UpperTail

Floats = npt.NDArray[np.float64]

# Differences of large sums are formed in extended precision where the platform has it; its actual
# precision enters every error bound.
Extended = np.longdouble
EXTENDED_UNIT = float(np.finfo(Extended).eps)

MOST_PATTERNS = 1 << 17
MOST_PEELED = 16
# Multiples of the noise beyond which neighbouring sums do not overlap.
GAP = 30.0
# Estimated node-times-weight steps of one window up to which nothing is enumerated.
CHEAP = 1e6
CHUNK = 1 << 20


class NoisySum:
    """Σ m_u-fold I_u s_u + τZ: independent I_u ~ Bernoulli(q), Z standard normal, τ > 0.

    Args:
        shifts: s, float64 (N,), finite.
        counts: number of users of each shift, int64 (N,).
        participation: q in [0, 1].
        noise: τ > 0.
        shift_error: bound on the relative error with which every shift is known.
        point_error: bound on the error of the thresholds that will be asked for.

    Example:
        >>> sum_of_ten = NoisySum(np.array([1.0]), np.array([10]), 0.5, 1.0)
        >>> above, below, error = sum_of_ten.log_tails(np.array([5.0]).astype(np.longdouble), 1e-8)
        >>> np.exp([above[0], below[0]]).round(6).tolist()
        [0.5, 0.5]
    """

    def __init__(
        self,
        shifts: Floats,
        counts: npt.NDArray[np.int64],
        participation: float,
        noise: float,
        shift_error: float = 0.0,
        point_error: float = 0.0,
    ) -> None:
        self.noise = noise
        base = Extended(0.0)
        participation_kept = participation <= 0.5
        if participation == 0.0:
            shifts, counts = shifts[:0], counts[:0]
        shifts, counts, merged = _collapse(shifts, counts)
        self._size = float(np.abs(shifts) @ counts) / noise
        if not participation_kept:
            # Who stays away is the rarer event: count absences from everyone's sum.
            base = np.sum(shifts.astype(Extended) * counts)
            shifts, participation = -shifts, 1.0 - participation
        if participation == 0.0:
            # Everyone takes part: the base is the whole sum.
            shifts, counts = shifts[:0], counts[:0]
        with np.errstate(over="ignore"):
            weights = shifts / noise
        if not np.isfinite(weights).all():
            raise AccuracyError(f"shifts of {np.abs(shifts).max():.3g} at noise {noise:.3g}")
        order = np.argsort(-np.abs(weights), kind="stable")
        weights, counts, shifts = weights[order], counts[order], shifts[order]
        peeled = _number_to_peel(weights, counts, participation)
        self._patterns, self._log_weights = _enumerate(
            shifts[:peeled], counts[:peeled], participation, base
        )
        self._log_above = _log_cumulative(self._log_weights[::-1])[::-1]
        self._log_below = _log_cumulative(self._log_weights)
        rest, many = weights[peeled:], counts[peeled:]
        size = float(np.abs(rest) @ many)
        error = (2.0 * UNIT + shift_error) * size + merged / noise
        self.upper = UpperTail(rest, many, participation, error)
        self.lower = UpperTail(-rest, many, participation, error)
        # Distance from a pattern at which its rest lies wholly on one side.
        self._reach = (-self.lower.ceiling, self.upper.ceiling)
        # At most sixteen additions make a pattern, pairwise summation the base.
        rounded = 8.0 * (self._size - size) if participation_kept else 24.0 * self._size
        self._point_error = (
            EXTENDED_UNIT * rounded + shift_error * (self._size - size) + point_error / noise
        )
        if self._point_error > 0.01:
            raise AccuracyError(
                f"the shifts add up to {self._size:.3g} standard deviations of the noise: their "
                "rounding alone blurs every rate"
            )
        self._pattern_error = EXTENDED_UNIT * 4e3 * (
            1.0 + float(counts[:peeled].sum())
        ) + 2.0 * UNIT * abs(FLOOR)

    def centres(self, log_least: float, most: int) -> Floats:
        """Return the enumerated sums whose probabilities matter to a rate of this logarithm.

        Evenly spaced ones of them where there are more than `most`.
        """
        matter = log_least - np.log(self._patterns.size)
        likely = self._patterns[self._log_weights >= min(matter, self._log_weights.max())]
        spaced = np.linspace(0, likely.size - 1, min(most, likely.size)).round().astype(np.int64)
        return likely[spaced].astype(np.float64)

    def extent(self, log_least: float) -> tuple[float, float]:
        """Return the least and the largest enumerated sum of at least this log probability."""
        likely = self._patterns[self._log_weights >= min(log_least, self._log_weights.max())]
        return float(likely[0]), float(likely[-1])

    def log_tails(
        self, thresholds: npt.NDArray[np.longdouble], tolerance: float
    ) -> tuple[Floats, Floats, Floats]:
        """Return log P[X > a], log P[X ≤ a] and a bound on both relative errors, for every a.

        A tail below exp(FLOOR) may be −∞. Errors above `tolerance` are left for the caller.
        """
        if self._patterns.size == 1:
            return self._tails_of_rest(thresholds - self._patterns[0], thresholds, tolerance)
        outputs = [np.empty(thresholds.size) for _ in range(3)]
        low, high = (Extended(reach * self.noise) for reach in self._reach)
        first = np.searchsorted(self._patterns, thresholds - high, side="left")
        stop = np.searchsorted(self._patterns, thresholds - low, side="right")
        start = 0
        while start < thresholds.size:
            pairs = np.cumsum(stop[start:] - first[start:])
            end = start + max(1, int(np.searchsorted(pairs, CHUNK, side="right")))
            part = slice(start, end)
            results = self._mix(thresholds[part], first[part], stop[part], tolerance)
            for output, result in zip(outputs, results):
                output[part] = result
            start = end
        return outputs[0], outputs[1], outputs[2]

    def _mix(
        self,
        thresholds: npt.NDArray[np.longdouble],
        first: npt.NDArray[np.intp],
        stop: npt.NDArray[np.intp],
        tolerance: float,
    ) -> tuple[Floats, Floats, Floats]:
        """Sum over patterns; those from `first` to `stop` are near enough to need the rest."""
        many = stop - first
        owner = np.repeat(np.arange(thresholds.size), many)
        ends = np.cumsum(many)
        pattern = np.arange(owner.size) - np.repeat(ends - many, many) + np.repeat(first, many)
        at = thresholds[owner]
        above, below, error = self._tails_of_rest(at - self._patterns[pattern], at, tolerance)
        far = np.full(thresholds.size, -np.inf)
        far_above, far_below = far.copy(), far.copy()
        last = self._patterns.size
        far_above[stop < last] = self._log_above[stop[stop < last]]
        far_below[first > 0] = self._log_below[first[first > 0] - 1]
        weight = self._log_weights[pattern]
        upper, upper_error = _log_sum(weight, above, error, owner, far_above)
        lower, lower_error = _log_sum(weight, below, error, owner, far_below)
        return upper, lower, np.maximum(upper_error, lower_error) + self._pattern_error

    def _tails_of_rest(
        self,
        differences: npt.NDArray[np.longdouble],
        thresholds: npt.NDArray[np.longdouble],
        tolerance: float,
    ) -> tuple[Floats, Floats, Floats]:
        points = (differences / Extended(self.noise)).astype(np.float64)
        slack = (
            4.0 * UNIT * np.abs(points)
            + EXTENDED_UNIT * np.abs(thresholds / Extended(self.noise)).astype(np.float64)
            + self._point_error
        )
        values = np.full((2, points.size), -np.inf)
        errors = np.full((2, points.size), np.inf)
        right = points >= self.upper.mean
        self._fill(values, errors, points, slack, 0, np.flatnonzero(right), tolerance)
        self._fill(values, errors, points, slack, 1, np.flatnonzero(~right), tolerance)
        # Where the other tail is far the smaller, its own inversion has to give it.
        for side, mask in ((1, right), (0, ~right)):
            poor = np.flatnonzero(mask & (errors.max(axis=0) > tolerance))
            if poor.size:
                self._fill(values, errors, points, slack, side, poor, tolerance)
        return values[0], values[1], errors.max(axis=0)

    def _fill(
        self,
        values: Floats,
        errors: Floats,
        points: Floats,
        slack: Floats,
        side: int,
        where: npt.NDArray[np.intp],
        tolerance: float,
    ) -> None:
        """Invert one side at `points[where]`; take it and its complement where they are better."""
        if where.size == 0:
            return
        tail, sign = (self.upper, 1.0) if side == 0 else (self.lower, -1.0)
        value, error = tail.log_rate(sign * points[where], slack[where], tolerance)
        rate = np.exp(value)
        rest = -np.expm1(value)
        known = (rest > 2.0 * rate * np.where(np.isfinite(error), error, 1.0)) & np.isfinite(error)
        safe = np.where(known, rest, 1.0)
        other = np.where(known, np.log(safe), -np.inf)
        moved = np.where(known, rate * np.where(known, error, 0.0), 0.0)
        other_error = np.where(known, moved / (safe - moved) + 2.0 * UNIT, np.inf)
        for row, found, bound in ((side, value, error), (1 - side, other, other_error)):
            better = bound < errors[row, where]
            values[row, where[better]] = found[better]
            errors[row, where[better]] = bound[better]


def _collapse(
    shifts: Floats, counts: npt.NDArray[np.int64]
) -> tuple[Floats, npt.NDArray[np.int64], float]:
    """Drop zeros and merge shifts that differ by rounding; also return the total moved."""
    used = (shifts != 0.0) & (counts > 0)
    order = np.argsort(shifts[used], kind="stable")
    shifts, counts = shifts[used][order], counts[used][order]
    if shifts.size == 0:
        return shifts, counts, 0.0
    near = np.diff(shifts) <= 8.0 * UNIT * np.abs(shifts[1:])
    starts = np.flatnonzero(np.concatenate([[True], ~near]))
    merged = shifts[starts]
    totals = np.add.reduceat(counts, starts)
    lengths = np.diff(np.append(starts, shifts.size))
    moved = float(np.abs(shifts - np.repeat(merged, lengths)) @ counts)
    return merged, totals, moved


def _number_to_peel(weights: Floats, counts: npt.NDArray[np.int64], participation: float) -> int:
    """How many of the largest weights to enumerate.

    Those that leave gaps, where they have few patterns: between two values of a rare weight the
    rate is flat, which no tilt resolves. Otherwise by the estimated cost of one window.
    """
    spread = participation * (1.0 - participation) * counts * weights**2
    rest = np.append(np.cumsum(spread[::-1])[::-1], 0.0)
    patterns = _patterns(counts, participation)
    apart = int(np.sum(np.abs(weights) > GAP))
    if np.sum(np.log(patterns[:apart])) <= np.log(MOST_PATTERNS):
        return apart
    spread = participation * (1.0 - participation) * counts * weights**2
    rest = np.append(np.cumsum(spread[::-1])[::-1], 0.0)
    best, best_cost, total = 0, np.inf, 1.0
    for peeled in range(min(weights.size, MOST_PEELED) + 1):
        left = weights.size - peeled
        largest = abs(weights[peeled]) if left else 0.0
        # Few users do not make the characteristic function decay, many do within some 500; every
        # node costs as much again as some 50 of them.
        nodes = 14.0 * max(1.0, rest[peeled] ** 0.5, largest / 4.0)
        cost = nodes * (min(left, 512) + 50) + total
        if peeled == 0 and cost <= CHEAP:
            return 0
        if cost < 0.5 * best_cost:
            best, best_cost = peeled, cost
        if left:
            total *= patterns[peeled]
            if total > MOST_PATTERNS:
                break
    return best


def _patterns(counts: npt.NDArray[np.int64], participation: float) -> Floats:
    """How many values of each count are likely enough to be kept, from Bernstein's inequality."""
    deviation = np.sqrt(counts * participation * (1.0 - participation))
    depth = 50.0 - FLOOR
    return np.minimum(counts + 1.0, 2.0 * (np.sqrt(2.0 * depth) * deviation + depth))


def _enumerate(
    shifts: Floats, counts: npt.NDArray[np.int64], participation: float, base: np.longdouble
) -> tuple[npt.NDArray[np.longdouble], Floats]:
    """Every sum of the peeled shifts, ascending, and the logarithm of its probability."""
    sums = np.array([base], dtype=Extended)
    logs = np.zeros(1, dtype=Extended)
    for shift, count in zip(shifts, counts):
        many = np.arange(count + 1)
        sums = np.add.outer(sums, many * Extended(shift)).ravel()
        logs = np.add.outer(logs, _log_binomial(int(count), participation)).ravel()
        kept = logs > FLOOR - 50.0
        sums, logs = sums[kept], logs[kept]
    order = np.argsort(sums, kind="stable")
    return sums[order], logs[order].astype(np.float64)


def _log_binomial(count: int, participation: float) -> npt.NDArray[np.longdouble]:
    """log P[Binomial(count, q) = j] for all j, by the ratio of neighbours from the mode out."""
    q = Extended(participation)
    j = np.arange(count, dtype=Extended)
    ratio = np.log((count - j) / (j + 1.0)) + np.log(q) - np.log1p(-q)
    mode = min(count, int((count + 1) * participation))
    logs = np.zeros(count + 1, dtype=Extended)
    logs[mode + 1 :] = np.cumsum(ratio[mode:])
    logs[:mode] = -np.cumsum(ratio[:mode][::-1])[::-1]
    return logs - np.log(np.sum(np.exp(logs)))


def _log_cumulative(logs: Floats) -> Floats:
    total = np.cumsum(np.exp(logs.astype(Extended) - logs.max()))
    with np.errstate(divide="ignore"):
        return (np.log(total) + logs.max()).astype(np.float64)


def _log_sum(
    weights: Floats,
    tails: Floats,
    errors: Floats,
    owner: npt.NDArray[np.intp],
    far: Floats,
) -> tuple[Floats, Floats]:
    """Per owner: log(exp(far) + Σ exp(weights + tails)) and a bound on its relative error."""
    logs = weights + tails
    top = far.copy()
    np.maximum.at(top, owner, logs)
    safe = np.where(np.isfinite(top), top, 0.0)
    part = np.exp(logs - safe[owner])
    total = np.bincount(owner, part, far.size) + np.exp(far - safe)
    # A tail of which nothing is known is still at most 1.
    unknown = errors > 0.5
    moved = np.where(
        unknown,
        np.exp(np.minimum(weights - safe[owner], 700.0)),
        part * np.where(unknown, 0.0, errors),
    )
    lost = np.bincount(owner, moved, far.size)
    known = total > 2.0 * lost
    divisor = np.where(known, total, 1.0)
    error = np.where(known, lost / (divisor - np.where(known, lost, 0.0)), np.inf)
    error[(total == 0.0) & (lost == 0.0)] = 0.0
    return np.where(known, safe + np.log(divisor), -np.inf), error
