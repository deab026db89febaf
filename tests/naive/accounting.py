"""The accountant stated from the definitions, slowly."""

import mpmath
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def line_delta(kind: str, q: float, sigma: float, epsilon: float) -> float:
    """∫ (P − e^ε Q)₊ of a pair on the line, by adaptive quadrature in 30 digits."""
    with mpmath.workdps(30):
        shift = 1 / mpmath.mpf(sigma)
        q, factor = mpmath.mpf(q), mpmath.exp(mpmath.mpf(epsilon))

        def mixture(z: mpmath.mpf, mean: mpmath.mpf) -> mpmath.mpf:
            return (1 - q) * mpmath.npdf(z) + q * mpmath.npdf(z, mean)

        def gap(z: mpmath.mpf) -> mpmath.mpf:
            if kind == "remove":
                return mixture(z, shift) - factor * mpmath.npdf(z)
            if kind == "add":
                return mpmath.npdf(z) - factor * mixture(z, shift)
            return mixture(z, shift) - factor * mixture(z, -shift)

        # The gap changes sign once: find it, then integrate the side where it is positive.
        low, high = -shift - 40, shift + 40
        rising = kind != "add"
        for _ in range(120):
            middle = (low + high) / 2
            if (gap(middle) > 0) == rising:
                high = middle
            else:
                low = middle
        start, end = (low, shift + 40) if rising else (-shift - 40, low)
        points = [start + (end - start) * i / 40 for i in range(41)]
        return float(mpmath.quad(gap, points))


def plane_delta(
    first: Array, second: Array, q: float, sigma: float, epsilon: float, spacing: float = 0.02
) -> float:
    """∫ (P − e^ε Q)₊ for contributions v and v′ in the plane, as a sum over a lattice.

    P = (1−q)·N(0) + q·N(v), Q = (1−q)·N(0) + q·N(v′), noise σ; v and v′ float64 (2,).
    """
    x = np.arange(-9.0, 9.0 + 1.0 / sigma, spacing)
    y = np.arange(-9.0, 9.0 + 1.0 / sigma, spacing)[:, None]

    def normal(mean: Array) -> Array:
        return np.exp(-0.5 * ((x - mean[0] / sigma) ** 2 + (y - mean[1] / sigma) ** 2)) / (
            2 * np.pi
        )

    p = (1 - q) * normal(np.zeros(2)) + q * normal(first)
    other = (1 - q) * normal(np.zeros(2)) + q * normal(second)
    return float(np.maximum(p - np.exp(epsilon) * other, 0.0).sum() * spacing**2)


def bucket_bounds(
    kinds: tuple[str, ...], q: float, sigma: float, releases: int, epsilon: float, gap: float
) -> tuple[float, float]:
    """δ(ε) between losses rounded down and up to multiples of `gap`, convolved one by one."""
    from pe_core.accounting.step import Step

    bounds = []
    for up in (False, True):
        start, pmf = 0, np.ones(1)
        for kind in kinds:
            step = Step(kind, q, sigma)
            z = np.linspace(-12.0, 12.0 + 1.0 / sigma, 100_001)
            weights = np.exp(step.log_density(z)) * (z[1] - z[0])
            index = (np.ceil if up else np.floor)(step.loss(z) / gap).astype(int)
            one = np.bincount(index - index.min(), weights)
            for _ in range(releases):
                start, pmf = start + index.min(), np.convolve(pmf, one)
        losses = gap * (start + np.arange(pmf.size))
        bounds.append(float(pmf @ np.maximum(-np.expm1(epsilon - losses), 0.0)))
    return bounds[0], bounds[1]
