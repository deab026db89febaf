"""Which candidates survive a round, by the noisy histogram alone."""

import numpy as np
from numpy.typing import NDArray

from pe_core.errors import InputError
from pe_core.evolution.data import Bank, Release, Rules


def select(
    bank: Bank, release: Release, rules: Rules, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Select the survivors among the entries that are not reserved.

    Args:
        bank: the bank that was voted on.
        release: its noisy histogram.
        rules: which selection, and how many survive.
        generator: for `"sample"`; one exponential a position is drawn whatever survives.

    Returns:
        (s,) int64 positions, largest noisy count first, equal counts by position.

    Raises:
        InputError: a histogram of another length, or a bank without room for the survivors.

    Example:
        >>> bank = Bank(("a", "b", "c", "d"), ("x",) * 4, reserved=(1,))
        >>> release = Release(np.array([-1.0, 9.0, 2.0, 2.0]))
        >>> select(bank, release, Rules(keep=0.5), np.random.default_rng(0))
        array([2, 3])
    """
    s = rules.survivors(bank)
    ranked = ranking(bank, release)
    if rules.selection == "top":
        return ranked[:s]
    # The order of E/weight, E exponential, is that of drawing without replacement.
    clock = generator.standard_exponential(len(bank.texts))[ranked]
    weight = np.maximum(release.histogram[ranked] - rules.threshold, 0.0)
    above = weight > 0.0
    drawn = np.argsort(clock[above] / weight[above], kind="stable")[:s]
    chosen = np.zeros(len(ranked), np.bool_)
    chosen[np.flatnonzero(above)[drawn]] = True
    chosen[np.flatnonzero(~chosen)[: s - len(drawn)]] = True
    return ranked[chosen]


def ranking(bank: Bank, release: Release) -> NDArray[np.int64]:
    """Return the positions that are not reserved by falling count, equal counts by position."""
    if len(release.histogram) != len(bank.texts):
        raise InputError(
            f"histogram: {len(release.histogram)} counts for a bank of {len(bank.texts)}"
        )
    free = bank.free()
    return free[np.argsort(-release.histogram[free], kind="stable")]
