"""A bound on ε that assumes a Gaussian score, for use beside the assumption-free one only.

Assumption: the score is N(0, 1) without the canary and the mixture (1 − q)·N(0, 1) + q·N(μ, 1) with
it, after some increasing change of scale. Error rates at one moderate threshold then bound μ from
below, and the curve of the subsampled Gaussian mechanism turns μ into an ε at events too rare to
count. Where the score is not of this form the result is not a bound.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from pe_core.best import best_epsilon, ideal_test
from pe_core.bounds import check_delta, clopper_pearson
from pe_core.errors import InputError
from pe_core.mechanism import Mechanism

Floats = npt.NDArray[np.float64]


def separation_lower(fpr_upper: float, tpr_lower: float, participation: float) -> float:
    """Return the separation μ that the assumption infers from bounds on the error rates.

    Solves FPR = Φ̄(t), TPR = (1 − q)·Φ̄(t) + q·Φ̄(t − μ). Lower for a larger FPR and a smaller TPR,
    so that bounds in these directions give a lower bound on μ; 0 where they do not separate.

    Args:
        fpr_upper: in [0, 1].
        tpr_lower: in [0, 1].
        participation: q in (0, 1].

    Raises:
        InputError: values outside these ranges.

    Example:
        >>> round(separation_lower(0.5, 0.5 * 0.9 + 0.1 * 0.8413447, 0.1), 6)
        1.0
        >>> separation_lower(0.5, 0.4, 0.1)
        0.0
    """
    for name, value in (("fpr_upper", fpr_upper), ("tpr_lower", tpr_lower)):
        if not 0.0 <= value <= 1.0:
            raise InputError(f"{name} = {value!r}: a rate lies in [0, 1]")
    if not 0.0 < participation <= 1.0:
        raise InputError(f"participation = {participation!r}: allowed is (0, 1]")
    # More than q above (1 − q)·FPR is impossible under the assumption: the largest μ is infinite.
    power = (tpr_lower - (1.0 - participation) * fpr_upper) / participation
    if power <= fpr_upper:
        return 0.0
    if power >= 1.0 or fpr_upper == 0.0:
        return math.inf
    return float(special.ndtri(power) - special.ndtri(fpr_upper))


def epsilon_parametric(
    true_positives: int,
    present_trials: int,
    false_positives: int,
    absent_trials: int,
    mechanism: Mechanism,
    tail: float,
) -> float:
    """Return the ε that counted errors imply under the Gaussian assumption of this module.

    The mechanism's own separation 1/σ caps μ, so that the result never passes its tight ε.

    Args:
        true_positives, present_trials: trials with the canary.
        false_positives, absent_trials: trials without.
        mechanism: gives q, σ and δ.
        tail: γ of the two Clopper-Pearson ends that enter.

    Raises:
        InputError: impossible counts, a tail outside (0, 1), q = 0, σ = 0.

    Example:
        >>> mechanism = Mechanism(1000, 0.1, 1.0, 0.1, 1e-5)
        >>> round(epsilon_parametric(53_523, 10**6, 35_930, 10**6, mechanism, 0.005), 2)
        1.53
    """
    if mechanism.noise_multiplier == 0.0:
        raise InputError("noise_multiplier = 0: the assumption needs Gaussian noise")
    upper = float(clopper_pearson(false_positives, absent_trials, tail).upper)
    lower = float(clopper_pearson(true_positives, present_trials, tail).lower)
    separation = separation_lower(upper, lower, mechanism.participation)
    return epsilon_of_separation(separation, mechanism, mechanism.delta)


def epsilon_of_separation(separation: float, mechanism: Mechanism, delta: float) -> float:
    """Return the tight ε of the subsampled Gaussian pair at separation min(μ, 1/σ).

    Raises:
        InputError: a negative separation, δ outside [0, 1], σ = 0.

    Example:
        >>> round(epsilon_of_separation(1.0, Mechanism(0, 0.1, 1.0, 0.1, 1e-5), 1e-5), 6)
        1.684544
    """
    check_delta(delta)
    if not separation >= 0.0:
        raise InputError(f"separation = {separation!r}: at least 0 is needed")
    reach = min(separation * mechanism.noise_multiplier, 1.0)
    if reach == 0.0:
        return 0.0
    shrunk = Mechanism(
        mechanism.population,
        mechanism.participation,
        mechanism.noise_multiplier / reach,
        mechanism.clip,
        delta,
    )
    return best_epsilon(ideal_test(shrunk), delta).epsilon


def moderate_threshold(mechanism: Mechanism, trials: int, tail: float) -> tuple[float, float]:
    """Return the threshold t at which counts bound μ = 1/σ best, and the ε expected there.

    The expectation is that of the bound at the mean counts of an ideal attack.

    Raises:
        InputError: a tail outside (0, 1), q = 0, σ = 0.

    Example:
        >>> mechanism = Mechanism(1000, 0.1, 1.0, 0.1, 1e-5)
        >>> threshold, epsilon = moderate_threshold(mechanism, 10**6, 0.005)
        >>> 1.0 < threshold < 3.0, round(epsilon, 2)
        (True, 1.53)
    """
    if mechanism.noise_multiplier == 0.0:
        raise InputError("noise_multiplier = 0: the assumption needs Gaussian noise")
    q = mechanism.participation
    best = (0.0, 0.0)
    for threshold in np.linspace(-1.0, 4.0, 101).tolist():
        fpr = float(special.ndtr(-threshold))
        tpr = (1.0 - q) * fpr + q * float(
            special.ndtr(1.0 / mechanism.noise_multiplier - threshold)
        )
        upper = float(clopper_pearson(round(trials * fpr), trials, tail).upper)
        lower = float(clopper_pearson(round(trials * tpr), trials, tail).lower)
        separation = separation_lower(upper, lower, q)
        if separation > best[1]:
            best = (threshold, separation)
    return best[0], epsilon_of_separation(best[1], mechanism, mechanism.delta)
