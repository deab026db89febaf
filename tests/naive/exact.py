"""The exact evaluator stated from its definitions, for a few users, in 60 decimal digits."""

import mpmath
import numpy as np
import numpy.typing as npt

DIGITS = 60


def tails(
    shifts: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
    participation: float,
    noise: float,
    threshold: mpmath.mpf,
) -> tuple[mpmath.mpf, mpmath.mpf]:
    """P[X > a] and P[X ≤ a] of Σ B_i s_i + τZ by enumeration of every pattern.

    Users of equal shift are enumerated by how many of them take part; with all counts 1 the
    patterns are the 2^N subsets of users.
    """
    with mpmath.workdps(DIGITS):
        q = mpmath.mpf(participation)
        patterns = [(mpmath.mpf(0), mpmath.mpf(1))]
        for shift, count in zip(shifts.tolist(), counts.tolist()):
            patterns = [
                (
                    total + j * mpmath.mpf(shift),
                    p * mpmath.binomial(count, j) * q**j * (1 - q) ** (count - j),
                )
                for total, p in patterns
                for j in range(count + 1)
            ]
        scale = mpmath.mpf(noise) * mpmath.sqrt(2)
        above = sum(p * mpmath.erfc((threshold - s) / scale) / 2 for s, p in patterns)
        below = sum(p * mpmath.erfc((s - threshold) / scale) / 2 for s, p in patterns)
        return above, below


def rates(
    shifts: npt.NDArray[np.float64],
    participation: float,
    noise: float,
    canary_shift: float,
    threshold: float,
) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """FPR, TPR, TNR and FNR of Σ I_u s_u + τZ > a, the canary taking part with probability q."""
    ones = np.ones(shifts.size, dtype=np.int64)
    with mpmath.workdps(DIGITS):
        a, q = mpmath.mpf(threshold), mpmath.mpf(participation)
        fpr, tnr = tails(shifts, ones, participation, noise, a)
        up, down = tails(shifts, ones, participation, noise, a - mpmath.mpf(canary_shift))
        return fpr, (1 - q) * fpr + q * up, tnr, (1 - q) * tnr + q * down


def characteristic(
    weights: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
    present: npt.NDArray[np.float64],
    nodes: npt.NDArray[np.float64],
) -> npt.NDArray[np.complex128]:
    """Π (1 − p + p·exp(ist))^m · exp(−s²/2) at every node s."""
    turn = np.exp(1j * np.multiply.outer(nodes, weights))
    factors = (1.0 - present + present * turn) ** counts
    return np.exp(-0.5 * nodes**2) * factors.prod(axis=1)
