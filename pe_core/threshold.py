"""The threshold of the attack, fixed on calibration users from their exact rates.

The bound that an evaluation will report depends on its number of trials: an event so rare that a
million trials see it three times proves little, however large its ε. The threshold therefore
maximises the expected Clopper-Pearson bound at the evaluation's trials and tail.
"""

import numpy as np
import numpy.typing as npt
from scipy import special
from scipy.sparse import csr_array

from pe_core.best import scan, zoom
from pe_core.bounds import branch, check_delta, check_tail, ends
from pe_core.errors import InputError
from pe_core.exact import cycled_test
from pe_core.linear_test import LinearTest, Rates
from pe_core.mechanism import Mechanism
from pe_core.score import LinearScore

Floats = npt.NDArray[np.float64]

# Counts less likely than this are left out of an expectation.
RARE = 1e-13
# Counts used where a distribution spreads over more of them.
MOST_COUNTS = 64
# Thresholds whose expected bound is computed, of those that a quick estimate ranks first.
SHORTLIST = 24


def calibrate(
    score: LinearScore,
    contributions: npt.NDArray[np.float64] | csr_array,
    canary: npt.NDArray[np.float64],
    mechanism: Mechanism,
    trials: int,
    tail: float,
) -> float:
    """Return the threshold of ℓ with the largest expected bound on calibration users.

    The calibration population is the cohort cycled in order and cut at the mechanism's population.
    No test user and no trial enters, so the threshold may be used for any evaluation.

    Args:
        score: fitted on auxiliary users.
        contributions: of the calibration cohort, float64 (n, r), dense or CSR.
        canary: v, float64 (r,).
        mechanism: gives N, q, σC and δ.
        trials: of the evaluation under each hypothesis, ≥ 1.
        tail: γ of each Clopper-Pearson end of the evaluation.

    Raises:
        InputError: see `exact.cycled_test`; trials below 1; a tail outside (0, 1).
        AccuracyError: rates that cannot be promised.

    Example:
        >>> from pe_core.background import Background
        >>> mechanism = Mechanism(0, 0.1, 1.0, 0.1, 1e-5)
        >>> v = np.array([0.1])
        >>> score = LinearScore.fit(v, Background(np.zeros(1), np.eye(1) * 0.01), mechanism)
        >>> round(calibrate(score, np.zeros((0, 1)), v, mechanism, 1_000_000, 0.0025), 2)
        3.14
    """
    test = cycled_test(score, contributions, canary, mechanism)
    return best_expected(test, trials, mechanism.delta, tail)[0]


def best_expected(test: LinearTest, trials: int, delta: float, tail: float) -> tuple[float, float]:
    """Return the threshold with the largest expected bound, and that bound.

    Raises:
        InputError: trials below 1, δ outside [0, 1], a tail outside (0, 1).

    Example:
        >>> from pe_core.best import ideal_test
        >>> test = ideal_test(Mechanism(1000, 0.1, 1.0, 0.1, 1e-5))
        >>> round(best_expected(test, 1_000_000, 1e-5, 0.0025)[1], 2)
        0.99
    """
    _check(trials, delta, tail)
    if test.sum is None:
        # A constant score decides nothing: any threshold is as good.
        return -test.offset, 0.0
    points = scan(test, 0.1 / trials)
    known = _KnownEnds(trials, tail)

    def expected(thresholds: Floats) -> Floats:
        return _expected(test.rough_rates(thresholds), known, delta)

    rates = test.rough_rates(points)
    at_means = np.maximum(
        branch(
            ends(trials * rates.tpr, float(trials), tail).lower,
            ends(trials * rates.fpr, float(trials), tail).upper,
            delta,
        ),
        branch(
            ends(trials * rates.tnr, float(trials), tail).lower,
            ends(trials * rates.fnr, float(trials), tail).upper,
            delta,
        ),
    )
    # Ties, as where nothing can be proved, go to the middle of the scan.
    middle = np.abs(np.arange(points.size) - points.size // 2)
    chosen = np.sort(np.lexsort((middle, -at_means))[:SHORTLIST])
    return zoom(expected, points[chosen], expected(points[chosen]), 4)


def expected_bound(rates: Rates, trials: int, delta: float, tail: float) -> Floats:
    """Return the expected Clopper-Pearson bound on ε of an evaluation with known rates.

    The expectation of `bounds.epsilon_lower` over two independent binomial counts, by summation.

    Args:
        rates: exact rates, of any shape.
        trials: n ≥ 1 under each hypothesis.
        delta: δ in [0, 1].
        tail: γ of each end.

    Returns:
        float64 of the rates' shape.

    Raises:
        InputError: trials below 1, δ outside [0, 1], a tail outside (0, 1).

    Example:
        >>> from pe_core.best import ideal_test
        >>> test = ideal_test(Mechanism(1000, 0.1, 1.0, 0.1, 1e-5))
        >>> round(float(expected_bound(test.rates(3.14), 1_000_000, 1e-5, 0.0025)), 2)
        0.99
    """
    _check(trials, delta, tail)
    return _expected(rates, _KnownEnds(trials, tail), delta).reshape(rates.fpr.shape)


class _KnownEnds:
    """Clopper-Pearson ends by count. Neighbouring thresholds share most of their counts, and the
    quantiles are what an expectation costs."""

    def __init__(self, trials: int, tail: float) -> None:
        self.trials, self.tail = trials, tail
        self.counts = np.zeros(0)
        self.table = np.zeros((4, 0))

    def at(self, counts: Floats) -> Floats:
        """Return rows: lower and upper end of x, lower and upper end of trials − x."""
        new = np.setdiff1d(counts, self.counts)
        if new.size:
            passed = ends(new, float(self.trials), self.tail)
            failed = ends(self.trials - new, float(self.trials), self.tail)
            counts_now = np.concatenate([self.counts, new])
            order = np.argsort(counts_now)
            self.table = np.hstack([self.table, np.stack([*passed, *failed])])[:, order]
            self.counts = counts_now[order]
        return self.table[:, np.searchsorted(self.counts, counts)]


def _expected(rates: Rates, known: _KnownEnds, delta: float) -> Floats:
    trials = known.trials
    false = [likely_counts(*pair, trials) for pair in zip(rates.fpr.flat, rates.tnr.flat)]
    true = [likely_counts(*pair, trials) for pair in zip(rates.tpr.flat, rates.fnr.flat)]
    known.at(np.unique(np.concatenate([counts for counts, _ in false + true])))
    values = np.empty(len(false))
    for j, ((false_counts, absent), (true_counts, present)) in enumerate(zip(false, true)):
        f, t = known.at(false_counts), known.at(true_counts)
        above = branch(t[0][:, None], f[1], delta)
        below = branch(f[2], t[3][:, None], delta)
        values[j] = present @ np.maximum(above, below) @ absent
    return values


def likely_counts(rate: float, complement: float, trials: int) -> tuple[Floats, Floats]:
    """Return the counts that a binomial variable takes but with probability 1e-13, and weights.

    Where these are very many, evenly spaced ones stand for all: the probabilities are then smooth
    over the spacing, and sums over them converge as fast as the trapezoidal rule on a Gaussian.

    Example:
        >>> counts, weights = likely_counts(0.5, 0.5, 2)
        >>> counts.tolist(), weights.round(12).tolist()
        ([0.0, 1.0, 2.0], [0.25, 0.5, 0.25])
    """
    mean = trials * rate
    width = 8.0 * np.sqrt(mean * complement) + 30.0
    low, high = max(0, int(mean - width)), min(trials, int(mean + width) + 1)
    stride = max(1, (high - low) // MOST_COUNTS)
    counts = np.arange(low, high + 1, stride, dtype=np.float64)
    # Differences from the likeliest count: the large terms of the factorials cancel.
    log = special.xlogy(counts, rate) + special.xlogy(trials - counts, complement)
    log -= special.gammaln(counts + 1.0) + special.gammaln(trials - counts + 1.0)
    weights = np.exp(log - log.max())
    kept = weights > RARE
    return counts[kept], weights[kept] / weights[kept].sum()


def _check(trials: int, delta: float, tail: float) -> None:
    if trials < 1:
        raise InputError(f"trials = {trials!r}: at least 1 is needed")
    check_delta(delta)
    check_tail(tail)
