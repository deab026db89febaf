"""The best threshold of a linear test: what the users, the bank and the mechanism give away."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pe_core.bounds import check_delta
from pe_core.errors import InputError
from pe_core.linear_test import LinearTest, Rates, epsilon_of
from pe_core.mechanism import Mechanism

Floats = npt.NDArray[np.float64]

# The noise smooths every rate, so that nothing happens on a scale below its own.
STEP = 0.25
MOST_POINTS = 400_000
MOST_PATTERNS = 500
# Share of the largest value on the grid that another local maximum needs to be refined too.
NEARLY = 0.9
ZOOM = np.linspace(-1.0, 1.0, 9)


@dataclass(frozen=True)
class Best:
    """The largest ε over thresholds.

    Attributes:
        epsilon: ε ≥ 0, the evaluator's error bound subtracted.
        threshold: of ℓ, where it is reached.
        branch: "above" for the event ℓ > threshold, "below" for its complement.
    """

    epsilon: float
    threshold: float
    branch: str


def best_epsilon(test: LinearTest, delta: float) -> Best:
    """Return the largest ε that any threshold proves (`epsilon_exact_best`).

    The rates are not estimated, so the maximum over thresholds is still a lower bound for this
    pair of neighbouring data sets.

    Args:
        test: from `exact.linear_test`.
        delta: δ in [0, 1]. At δ = 0 every score that the canary raises proves an infinite ε, by
            thresholds that grow without end.

    Raises:
        InputError: δ outside [0, 1].
        AccuracyError: rates that cannot be promised.

    Example:
        >>> mechanism = Mechanism(1000, 0.1, 1.0, 0.1, 1e-5)
        >>> round(best_epsilon(ideal_test(mechanism), 1e-5).epsilon, 6)
        1.684544
    """
    return epsilon_curve(test, [delta])[0]


def epsilon_curve(test: LinearTest, deltas: npt.ArrayLike) -> list[Best]:
    """Return `best_epsilon` at each δ, from one scan of the thresholds.

    Raises:
        InputError: a δ outside [0, 1].

    Example:
        >>> test = ideal_test(Mechanism(1000, 0.1, 1.0, 0.1, 1e-5))
        >>> [round(best.epsilon, 3) for best in epsilon_curve(test, [1e-5, 1e-2, 0.1])]
        [1.685, 0.198, 0.0]
    """
    wanted = [float(delta) for delta in np.ravel(np.asarray(deltas, dtype=np.float64))]
    for delta in wanted:
        check_delta(delta)
    least = min((delta for delta in wanted if delta > 0.0), default=1.0)
    if test.sum is None:
        return [Best(0.0, -test.offset, "above") for _ in wanted]
    points = scan(test, least)
    rates = test.rough_rates(points)
    return [_best(test, delta, points, rates) for delta in wanted]


def trade_off(test: LinearTest, least: float = 1e-6) -> tuple[Floats, Rates]:
    """Return thresholds of ℓ, ascending, and the rates there: the curve of FPR against FNR.

    Args:
        test: from `exact.linear_test`, or `ideal_test` for the mechanism's own curve.
        least: in (0, 1); the curve reaches from an FNR to an FPR of at most this.

    Raises:
        InputError: `least` outside (0, 1), a score that is constant.

    Example:
        >>> thresholds, rates = trade_off(ideal_test(Mechanism(0, 1.0, 2.0, 0.1, 1e-5)))
        >>> bool(np.all(np.diff(rates.fpr) <= 0)), bool(np.all(np.diff(rates.fnr) >= 0))
        (True, True)
    """
    if not 0.0 < least < 1.0:
        raise InputError(f"least = {least!r}: allowed is (0, 1)")
    if test.sum is None:
        raise InputError("the score is constant: it has no trade-off curve")
    points = scan(test, least)
    return points, test.rates(points)


def ideal_test(mechanism: Mechanism) -> LinearTest:
    """Return the test of an ideal attack: a canary of norm C, no other traffic, perfect weights.

    ℓ is the log-likelihood ratio of N(1, σ²) and N(0, σ²). The best ε is the mechanism's own for
    one release, add/remove (removal is the larger side).

    Raises:
        InputError: σ = 0, where ε is infinite without a test.

    Example:
        >>> ideal_test(Mechanism(0, 0.1, 2.0, 0.1, 1e-5)).noise
        0.5
    """
    if mechanism.noise_multiplier == 0.0:
        raise InputError("noise_multiplier = 0: ε is infinite, and there is nothing to test")
    separation = 1.0 / mechanism.noise_multiplier
    return LinearTest(
        np.zeros(0),
        np.zeros(0, dtype=np.int64),
        mechanism.participation,
        separation,
        separation**2,
        0.5 * separation**2,
        0.0,
    )


def scan(test: LinearTest, least: float) -> Floats:
    """Return thresholds of ℓ, ascending, at a quarter of the noise's deviation, over every place
    where a rate between `least` and 1 − `least` changes.

    Example:
        >>> thresholds = scan(ideal_test(Mechanism(0, 0.1, 2.0, 0.1, 1e-5)), 1e-6)
        >>> bool(thresholds[0] < -2.0 and thresholds[-1] > 2.0)
        True
    """
    noisy = test.sum
    assert noisy is not None
    log_least = np.log(min(least, 0.1))
    low = -noisy.lower.quantile(log_least) * noisy.noise
    high = noisy.upper.quantile(log_least) * noisy.noise
    centres = noisy.centres(log_least, MOST_PATTERNS)
    b = test.canary_shift
    starts = np.concatenate([centres + low, centres + low + b])
    stops = np.concatenate([centres + high, centres + high + b])
    order = np.argsort(starts, kind="stable")
    starts, stops = starts[order], np.maximum.accumulate(stops[order])
    apart = np.concatenate([[True], starts[1:] > stops[:-1]])
    starts, stops = starts[apart], stops[np.append(apart[1:], True)]
    total = float(np.sum(stops - starts))
    step = max(STEP * noisy.noise, total / MOST_POINTS)
    pieces = [
        start + np.arange(int(np.ceil((stop - start) / step)) + 1) * step
        for start, stop in zip(starts, stops)
    ]
    return np.unique(np.concatenate(pieces)) - test.offset


def zoom(
    objective: Callable[[Floats], Floats], points: Floats, values: Floats, rounds: int
) -> tuple[float, float]:
    """Return the place and the value of the maximum of a smooth objective.

    `values` are the objective at the ascending `points`; its largest local maxima (three at most)
    are refined between their neighbours, each round to a quarter of the width.

    Example:
        >>> points = np.linspace(0.0, 3.0, 7)
        >>> place, value = zoom(np.sin, points, np.sin(points), 8)
        >>> round(place, 3), round(value, 6)
        (1.571, 1.0)
    """
    left = np.append(-np.inf, values[:-1])
    right = np.append(values[1:], -np.inf)
    peaks = np.flatnonzero((values >= left) & (values >= right))
    peaks = peaks[np.argsort(-values[peaks], kind="stable")[:3]]
    peaks = peaks[values[peaks] >= NEARLY * values[peaks[0]]]
    place, best = float(points[peaks[0]]), float(values[peaks[0]])
    for peak in peaks:
        centre = points[peak]
        width = max(
            (abs(points[j] - centre) for j in (peak - 1, peak + 1) if 0 <= j < points.size),
            default=0.0,
        )
        width = min(width, 4.0 * float(np.min(np.diff(points), initial=np.inf)))
        for _ in range(rounds):
            tried = centre + width * ZOOM
            found = objective(tried)
            top = int(np.argmax(found))
            centre, width = tried[top], width / 4.0
            if found[top] > best:
                place, best = float(centre), float(found[top])
    return place, best


def _best(test: LinearTest, delta: float, points: Floats, rates: Rates) -> Best:
    if delta == 0.0 and test.canary_shift > 0.0 and test.participation > 0.0:
        return Best(np.inf, np.inf, "above")
    rough = epsilon_of(rates, delta)
    row = int(np.argmax(rough.max(axis=1)))
    if rough[row].max() == 0.0:
        return Best(0.0, float(points[points.size // 2]), "above")
    place, _ = zoom(
        lambda tried: epsilon_of(test.rough_rates(tried), delta)[row], points, rough[row], 5
    )
    final = epsilon_of(test.rates(place), delta)[:, 0]
    row = int(np.argmax(final))
    return Best(float(final[row]), place, ("above", "below")[row])
