"""Is the synthetic text any use: MAUVE against real texts, and how varied the texts are.

MAUVE (Pillutla et al., 2021) compares two sets of texts by the histograms of their features over
common clusters. Its value depends on the features and on the sizes of both sets, so only values of
equal sets and one encoder compare.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pe_core.errors import InputError

CLUSTERINGS = 5
# Of a bootstrap interval at 95%.
_TAILS = (0.025, 0.975)
_WORD = re.compile(r"\w+(?:['’]\w+)*")


class Mauve(NamedTuple):
    """MAUVE with a 95% interval, all in [0, 1]; 1 is indistinguishable."""

    value: float
    low: float
    high: float


def mauve(
    features: NDArray[np.float32],
    reference: NDArray[np.float32],
    resamples: int,
    generator: np.random.Generator,
) -> Mauve:
    """Return the MAUVE of texts against a reference, by the package `mauve-text`.

    The package's defaults hold (a tenth as many clusters as the smaller set has texts, two at
    least; scaling 5) but that, small sets being sensitive to where the clusters fall, the value is
    the mean over five clusterings of one k-means each instead of the best k-means of five. The
    interval is for the mean of MAUVE over sets of these sizes: a bootstrap over the texts of both
    sets within each clustering, its deviations from its own mean taken off the value, so that it
    spans the clusterings too. It does not make up for the bias of small sets, which lowers MAUVE
    and is alike for sets of equal sizes.

    Args:
        features: (n, d) float32, one row a text.
        reference: (m, d) float32, of real texts.
        resamples: bootstrap samples of each clustering, ≥ 1.
        generator: for the bootstrap.

    Raises:
        InputError: fewer than two texts on a side, or rows of different lengths.

    Example:
        >>> rows = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)
        >>> round(mauve(rows, rows, 20, np.random.default_rng(1)).value, 9)
        1.0
    """
    for name, rows in (("features", features), ("reference", reference)):
        if rows.ndim != 2 or len(rows) < 2:
            raise InputError(f"{name} of shape {rows.shape}: two rows or more are needed")
    if features.shape[1] != reference.shape[1]:
        raise InputError(
            f"features have {features.shape[1]} columns, the reference {reference.shape[1]}: both "
            "must come from one encoder"
        )
    # Loads torch and transformers, which nothing else here needs.
    from mauve import compute_mauve

    # Several threads at a principal component analysis of this size wait for each other: on two
    # cores they took 5.3 s of CPU where one takes 0.2 s. And k-means is the same on any machine.
    with threadpool_limits(1):
        clustered = [
            compute_mauve(p_features=features, q_features=reference, kmeans_num_redo=1, seed=seed)
            for seed in range(CLUSTERINGS)
        ]
    histograms = [(each.p_hist, each.q_hist) for each in clustered]
    return _with_interval(histograms, (len(features), len(reference)), resamples, generator)


def _with_interval(
    histograms: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    sizes: tuple[int, int],
    resamples: int,
    generator: np.random.Generator,
) -> Mauve:
    """The mean score of pairs of histograms of so many texts, and its interval."""
    value = float(np.mean([_score(p, q) for p, q in histograms]))
    n, m = sizes
    again = np.array(
        [
            _score(generator.multinomial(n, p) / n, generator.multinomial(m, q) / m)
            for p, q in histograms
            for _ in range(resamples)
        ]
    )
    low, high = np.clip(value + again.mean() - np.quantile(again, _TAILS)[::-1], 0.0, 1.0)
    return Mauve(value, float(min(low, value)), float(max(high, value)))


def _score(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """The package's area under the divergence curve of two histograms."""
    from mauve.compute_mauve import (
        compute_area_under_curve,
        get_divergence_curve_for_multinomials,
    )

    weights = np.linspace(1e-6, 1 - 1e-6, 25)
    x, y = get_divergence_curve_for_multinomials(p, q, weights, 5).T
    by_x, by_y = np.argsort(x), np.argsort(y)
    both = compute_area_under_curve(x[by_x], y[by_x]) + compute_area_under_curve(y[by_y], x[by_y])
    return float(0.5 * both)


def distinct(texts: Sequence[str], n: int) -> float:
    """Return distinct-n (Li et al., 2016): different runs of n words over all runs of n words.

    Words are compared without case; runs do not cross texts. No run at all gives 0.

    Args:
        texts: any strings.
        n: ≥ 1.

    Raises:
        InputError: n below 1.

    Example:
        >>> distinct(["To be, or not to be", "to be"], 1), distinct(["To be, or not to be"], 2)
        (0.5, 0.8)
    """
    if n < 1:
        raise InputError(f"n = {n!r}: a whole number from 1 up is needed")
    runs = [
        tuple(words[start : start + n])
        for words in (_WORD.findall(text.lower()) for text in texts)
        for start in range(len(words) - n + 1)
    ]
    return len(set(runs)) / len(runs) if runs else 0.0
