"""A linear test of one canary: the rates of ℓ > threshold, and the ε they prove."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pe_core.bounds import branch, check_delta
from pe_core.errors import AccuracyError, InputError
from pe_core.inversion import UNIT
from pe_core.noisy_sum import EXTENDED_UNIT, Extended, NoisySum

Floats = npt.NDArray[np.float64]

# Rates below this are reported as 0; an ε counts them as this much.
LEAST_RATE = 1e-300
# Relative error that every reported rate meets.
PROMISED = 1e-8
# A search for a threshold takes less care.
SEARCHING = 1e-6


@dataclass(frozen=True)
class Rates:
    """Probabilities of the event ℓ > threshold; arrays of the thresholds' shape.

    Attributes:
        fpr, tpr: of the event without and with the canary. A rate below 1e-300 is 0.
        tnr, fnr: of the complement, each to its own relative accuracy.
        relative_error: bound on the relative error of every one of the four.
    """

    fpr: Floats
    tpr: Floats
    tnr: Floats
    fnr: Floats
    relative_error: Floats


class LinearTest:
    """One linear score against fixed users: the sum that decides it, prepared once.

    Attributes:
        participation: q of the mechanism.
        canary_shift: wᵀv, what the canary adds to the score.
        offset: subtracted from the sum to give ℓ.
        noise: τ, standard deviation of the noise in the score.
        sum: the sum without the canary, or None where the score is constant (w = 0).

    Example:
        >>> nobody = np.zeros(0)
        >>> test = LinearTest(nobody, nobody.astype(int), 1.0, 1.0, 1.0, 0.5, 0.0)
        >>> round(float(test.rates(-0.5).fpr), 6), round(float(test.rates(0.5).tpr), 6)
        (0.5, 0.5)
    """

    def __init__(
        self,
        shifts: Floats,
        counts: npt.NDArray[np.int64],
        participation: float,
        noise: float,
        canary_shift: float,
        offset: float,
        shift_error: float,
    ) -> None:
        self.participation = participation
        self.canary_shift = canary_shift
        self.offset = offset
        self.noise = noise
        constant = noise == 0.0 and canary_shift == 0.0 and not shifts.any()
        if noise == 0.0 and not constant:
            raise InputError(
                "noise of the score = 0: exact rates need noise above 0; without it the release "
                "tells who took part (ε is infinite)"
            )
        point_error = (shift_error + EXTENDED_UNIT) * abs(canary_shift)
        self.sum = (
            None
            if constant
            else NoisySum(shifts, counts, participation, noise, shift_error, point_error)
        )

    def rates(self, thresholds: npt.ArrayLike) -> Rates:
        """Return the rates of ℓ > threshold at finite thresholds of any shape.

        Raises:
            InputError: a threshold that is not finite.
            AccuracyError: a relative error of 1e-8 that cannot be promised.
        """
        return self._rates(thresholds, 0.8 * PROMISED, PROMISED)

    def rough_rates(self, thresholds: npt.ArrayLike) -> Rates:
        """Return `rates` to a relative error of 1e-6 only, for the search of a threshold."""
        return self._rates(thresholds, SEARCHING, 10.0 * SEARCHING)

    def _rates(self, thresholds: npt.ArrayLike, sought: float, promised: float) -> Rates:
        given = np.asarray(thresholds, dtype=np.float64)
        if not np.isfinite(given).all():
            raise InputError("thresholds are not all finite")
        at = given.ravel().astype(Extended) + Extended(self.offset)
        if self.sum is None:
            above = (at < 0.0).astype(np.float64).reshape(given.shape)
            return Rates(above, above, 1.0 - above, 1.0 - above, np.zeros(given.shape))
        both = np.concatenate([at, at - Extended(self.canary_shift)])
        upper, lower, error = self.sum.log_tails(both, sought)
        n = given.size
        error = np.maximum(error[:n], error[n:]) + 8.0 * UNIT
        worst = error.max(initial=0.0)
        if worst > promised:
            where = float(given.ravel()[int(np.argmax(error))])
            raise AccuracyError(
                f"threshold {where!r}: the relative error is bounded by {worst:.2g} only, "
                f"{promised:.0e} is promised"
            )
        rates = []
        for tail in (upper, lower):
            without, shifted = np.exp(tail[:n]), np.exp(tail[n:])
            present = (1.0 - self.participation) * without + self.participation * shifted
            rates += [np.minimum(rate, 1.0).reshape(given.shape) for rate in (without, present)]
        fpr, tpr, tnr, fnr = (np.where(rate < LEAST_RATE, 0.0, rate) for rate in rates)
        return Rates(fpr, tpr, tnr, fnr, error.reshape(given.shape))

    def epsilon(self, threshold: float, delta: float) -> float:
        """Return the ε that the rates at one threshold prove (`epsilon_exact`), both branches.

        The evaluator's own error bound is subtracted. A false rate below 1e-300 counts as 1e-300,
        so that no ε rests on a rate that was not resolved.
        """
        check_delta(delta)
        return float(epsilon_of(self.rates(threshold), delta).max())


def epsilon_of(rates: Rates, delta: float) -> Floats:
    """Return the ε that rates prove: row 0 by the event ℓ > threshold, row 1 by its complement.

    Rates are moved by their error bound in the direction that lowers ε; shape (2, thresholds).

    Example:
        >>> one = np.ones(1)
        >>> rates = Rates(0.2 * one, 0.4 * one, 0.8 * one, 0.6 * one, 0.0 * one)
        >>> epsilon_of(rates, 0.0).ravel().round(3).tolist()
        [0.693, 0.288]
    """
    down, up = 1.0 - rates.relative_error, 1.0 + rates.relative_error
    return np.stack(
        [
            np.ravel(branch(rates.tpr * down, np.maximum(rates.fpr, LEAST_RATE) * up, delta)),
            np.ravel(branch(rates.tnr * down, np.maximum(rates.fnr, LEAST_RATE) * up, delta)),
        ]
    )
