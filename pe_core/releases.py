"""Several releases: the summed score and its error rates, on a grid rounded towards less ε.

Equation 36 adds ℓ_mix over the rounds. Given the transcript each round is a linear test of its own
with fresh noise and fresh participation, so the sum's distribution is a convolution. Without the
canary every ℓ_mix is rounded up to the grid, with the canary down: the sum without it is then never
smaller and the sum with it never larger than the true ones, so that FPR and FNR are never
understated and TPR and TNR never overstated.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import fft

from pe_core.bounds import branch, check_delta
from pe_core.errors import AccuracyError, InputError
from pe_core.inversion import UNIT
from pe_core.linear_test import LinearTest, Rates
from pe_core.score import mixture

Floats = npt.NDArray[np.float64]

# Mass that a round may leave beyond either end of its grid.
OUTSIDE = 1e-17
# Where ℓ is evaluated is moved by more than its rounding, in the direction that lowers ε.
MARGIN = 1e-12
MOST_NODES = 1 << 24


@dataclass(frozen=True)
class SummedRates:
    """Bounds on the error rates of Σ_t ℓ_mix > threshold, valid at every threshold.

    Attributes:
        thresholds: of the sum, ascending, spaced by the mesh.
        fpr, fnr: at least the true rates.
        tpr, tnr: at most the true rates.

    Example:
        >>> one, rate = np.ones(1), 0.5 * np.ones(1)
        >>> rates = SummedRates(one, 0.25 * one, rate, 0.75 * one, rate)
        >>> round(rates.best_epsilon(0.0)[0], 6)
        0.693147
    """

    thresholds: Floats
    fpr: Floats
    tpr: Floats
    tnr: Floats
    fnr: Floats

    def epsilon(self, threshold: float, delta: float) -> float:
        """Return the ε proved at the first grid threshold at or above `threshold`.

        Raises:
            InputError: δ outside [0, 1], a threshold beyond the grid.
        """
        check_delta(delta)
        at = int(np.searchsorted(self.thresholds, threshold))
        if not threshold >= self.thresholds[0] or at == self.thresholds.size:
            raise InputError(
                f"threshold = {threshold!r}: the sum's grid covers "
                f"[{self.thresholds[0]:.6g}, {self.thresholds[-1]:.6g}]"
            )
        return float(self._epsilons(delta)[at])

    def best_epsilon(self, delta: float) -> tuple[float, float]:
        """Return the largest ε over the grid's thresholds, and its threshold.

        Raises:
            InputError: δ outside [0, 1].
        """
        check_delta(delta)
        values = self._epsilons(delta)
        at = int(np.argmax(values))
        return float(values[at]), float(self.thresholds[at])

    def _epsilons(self, delta: float) -> Floats:
        return np.maximum(branch(self.tpr, self.fpr, delta), branch(self.tnr, self.fnr, delta))


def summed_rates(rounds: Sequence[LinearTest], mesh: float = 1e-4) -> SummedRates:
    """Return bounds on the error rates of the summed score over releases.

    Args:
        rounds: the linear test of each release, each on its realised transcript; equal objects
            are evaluated once.
        mesh: spacing of the grid of ℓ_mix, > 0. The ε lost to rounding is proportional
            to it: about six meshes a round at δ = 1e-5.

    Raises:
        InputError: no round, q = 0, a constant score, a mesh that is not above 0.
        AccuracyError: a grid of more than 2²⁴ nodes; rates that cannot be promised.

    Example:
        >>> from pe_core.best import ideal_test
        >>> from pe_core.mechanism import Mechanism
        >>> once = ideal_test(Mechanism(1000, 0.1, 1.1088, 0.1, 1e-5))
        >>> round(summed_rates([once] * 6, 1e-3).best_epsilon(1e-5)[0], 2)
        1.96
    """
    if not (np.isfinite(mesh) and mesh > 0.0):
        raise InputError(f"mesh = {mesh!r}: a finite number above 0 is needed")
    if not rounds:
        raise InputError("rounds are empty: at least one release is needed")
    for test in rounds:
        if test.sum is None or test.participation == 0.0:
            raise InputError("a round's score is constant or its canary never takes part")
    known = {id(test): _round(test, mesh) for test in rounds}
    parts = [known[id(test)] for test in rounds]
    size = 1 + sum(part.absent.size - 1 for part in parts)
    if size > MOST_NODES:
        raise AccuracyError(f"mesh = {mesh!r} needs {size} nodes, at most {MOST_NODES} are allowed")
    absent, absent_error = _convolve([part.absent for part in parts], size)
    present, present_error = _convolve([part.present for part in parts], size)
    # A sum with one infinite part is infinite.
    beyond = sum(part.absent_above for part in parts)
    short = sum(part.present_below for part in parts)
    first = sum(part.first for part in parts)
    # Running sums of positive terms err by at most a unit for each term.
    up, down = 1.0 + 2.0 * size * UNIT, 1.0 - 2.0 * size * UNIT
    return SummedRates(
        np.asarray(mesh * (first + np.arange(size)), dtype=np.float64),
        np.minimum(_above(absent) * up + beyond + absent_error, 1.0),
        np.maximum(_above(present) * down - present_error, 0.0),
        np.maximum(np.cumsum(absent) * down - absent_error, 0.0),
        np.minimum(np.cumsum(present) * up + short + present_error, 1.0),
    )


@dataclass(frozen=True)
class _Round:
    """Masses of one round's ℓ_mix at the nodes first, first + 1, … times the mesh."""

    first: int
    absent: Floats
    absent_above: float
    present: Floats
    present_below: float


def _round(test: LinearTest, mesh: float) -> _Round:
    noisy = test.sum
    assert noisy is not None
    log_outside = float(np.log(OUTSIDE))
    least, most = noisy.extent(log_outside)
    shift, q = test.canary_shift, test.participation
    low = least - noisy.lower.quantile(log_outside) * noisy.noise + min(shift, 0.0) - test.offset
    high = most + noisy.upper.quantile(log_outside) * noisy.noise + max(shift, 0.0) - test.offset
    first, last = (int(end) for end in np.round(mixture(np.array([low, high]), q) / mesh))
    if last - first > MOST_NODES:
        raise AccuracyError(
            f"mesh = {mesh!r} needs {last - first} nodes, at most {MOST_NODES} are allowed"
        )
    nodes = mesh * np.arange(first - 1, last + 2)
    rates = _rates_at(test, nodes - MARGIN * (1.0 + np.abs(nodes)))
    down, up = 1.0 - rates.relative_error, 1.0 + rates.relative_error
    masses, under, absent_above = _masses(rates.tnr * down, rates.fpr * up, larger=True)
    # Up: what lies between two nodes goes to the right one, what lies before the first to it.
    absent = np.concatenate([[under], masses])
    rates = _rates_at(test, nodes + MARGIN * (1.0 + np.abs(nodes)))
    down, up = 1.0 - rates.relative_error, 1.0 + rates.relative_error
    masses, present_below, over = _masses(rates.fnr * up, rates.tpr * down, larger=False)
    present = np.append(masses, over)
    return _Round(first - 1, absent, absent_above, present, present_below)


def _masses(below: Floats, above: Floats, larger: bool) -> tuple[Floats, float, float]:
    """Masses between neighbouring nodes, before the first node and after the last.

    `below` and `above` are the two tails at the nodes, each moved by its error so that the variable
    becomes the larger (or the smaller). Each mass is a difference in the tail that is the smaller
    there, which keeps its digits; monotone envelopes and the meeting point move in the same
    direction, so that no mass is negative and the total is 1.
    """
    if larger:
        below = np.minimum.accumulate(below[::-1])[::-1]
        above = np.maximum.accumulate(np.minimum(above, 1.0)[::-1])[::-1]
    else:
        below = np.maximum.accumulate(np.minimum(below, 1.0))
        above = np.minimum.accumulate(above)
    meet = min(max(int(np.searchsorted(-above, -0.5)), 1), above.size - 1)
    left, right = below[:meet], above[meet:]
    if larger:
        right = np.minimum(right, 1.0 - left[-1])
    else:
        left = np.minimum(left, 1.0 - right[0])
    middle = 1.0 - left[-1] - right[0]
    return np.concatenate([np.diff(left), [middle], -np.diff(right)]), left[0], right[-1]


def _rates_at(test: LinearTest, mixed: Floats) -> Rates:
    """Rates of ℓ_mix > y, through ℓ = log((e^y − (1 − q)) / q)."""
    q = test.participation
    if q == 1.0:
        return test.rates(mixed)
    grown = np.where(mixed < -0.5, np.exp(mixed) - (1.0 - q), np.expm1(np.minimum(mixed, 50.0)) + q)
    possible = grown > 0.0
    ell = np.where(mixed > 50.0, mixed, np.log(np.where(possible, grown, 1.0))) - np.log(q)
    found = test.rates(np.where(possible, ell, 0.0))
    one, zero = np.ones(mixed.size), np.zeros(mixed.size)
    return Rates(
        np.where(possible, found.fpr, one),
        np.where(possible, found.tpr, one),
        np.where(possible, found.tnr, zero),
        np.where(possible, found.fnr, zero),
        np.where(possible, found.relative_error, zero),
    )


def _convolve(parts: Sequence[Floats], size: int) -> tuple[Floats, float]:
    """The distribution of the sum, and a bound on the error of any sum of its entries."""
    if len(parts) == 1:
        return parts[0], 0.0
    length = fft.next_fast_len(size, real=True)
    spectra = {id(part): fft.rfft(part, length) for part in parts}
    product = np.ones(length // 2 + 1, dtype=np.complex128)
    for part in parts:
        product *= spectra[id(part)]
    total = fft.irfft(product, length)[:size]
    # Each transform errs by a few units per level in the 2-norm, and no spectrum exceeds 1; a sum
    # of entries errs by at most √size times that.
    norm = sum(float(np.linalg.norm(part)) for part in parts) + float(np.linalg.norm(total))
    return total, 8.0 * UNIT * np.log2(length) * norm * float(np.sqrt(size))


def _above(masses: Floats) -> Floats:
    """Σ of the masses after each node."""
    return np.append(np.cumsum(masses[:0:-1])[::-1], 0.0)
