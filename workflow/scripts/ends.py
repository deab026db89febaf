"""The upper confidence end of a counted ε, for the intervals of figures."""

import math

from pe_core import bounds


def upper_end(
    true_positives: int, false_positives: int, trials: int, delta: float, tail: float
) -> float | None:
    """Return the upper confidence end of the counted event's ε, None where nothing bounds it.

    Each rate enters at its other Clopper-Pearson end, in the same two branches as in the lower end.

    Args:
        true_positives, false_positives: of so many trials under each hypothesis.
        delta: δ in [0, 1].
        tail: γ of each end.

    Example:
        >>> upper_end(0, 0, 1000, 1e-5, 0.0125) is None
        True
        >>> upper_end(600, 300, 1000, 1e-5, 0.0125) > math.log(600 / 300)
        True
    """
    tpr = bounds.clopper_pearson(true_positives, trials, tail)
    fpr = bounds.clopper_pearson(false_positives, trials, tail)
    fnr = bounds.clopper_pearson(trials - true_positives, trials, tail)
    tnr = bounds.clopper_pearson(trials - false_positives, trials, tail)
    upper = bounds.epsilon_from_rates(fpr.lower, tpr.upper, delta, tnr=tnr.upper, fnr=fnr.lower)
    return upper if math.isfinite(upper) else None
