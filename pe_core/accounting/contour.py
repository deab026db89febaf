"""δ(ε) of T releases by one integral in the complex plane, as a check on the grid.

With M(s) = E_P e^{sL} for one release and any c > 0, the Laplace transform of (1 − e^{−u})₊ gives

    δ(ε) = (1/π) ∫₀^∞ Re[ M(s)^T e^{−sε} / (s(s+1)) ] dω,   s = c + iω.

For any measure on losses of at most ε/T the same integral is zero, so M(s)^T may be replaced by
M(s)^T − M₀(s)^T with M₀ the part of M from such losses: what then remains is of the size of δ even
where participation is rare and M itself hardly decays. The trapezoid rule in ω has the error
Σ_{k≠0} δ(ε + kΛ) e^{ckΛ}, Λ = 2π/spacing, which Chernoff's bound limits.
"""

import math

import numpy as np
from scipy.optimize import minimize_scalar

from pe_core.accounting.adjacency import Interval
from pe_core.accounting.grid import chernoff_window
from pe_core.accounting.step import IGNORED, Array, Step, cumulants
from pe_core.kernels.loss_transform import transform

# Nodes × frequencies of the last octave: about a quarter of a second.
_MAX_WORK = 1e8
_RELATIVE = 1e-9
_NATS = 35.0
_GAUSS_X, _GAUSS_W = np.polynomial.legendre.leggauss(8)


def _kept(step: Step, tilt: float) -> tuple[float, float, float]:
    """The z-range that holds the tilted mass, and the steepest slope of the loss in it."""
    z, losses, log_weights = step.nodes
    exponent = log_weights + tilt * losses
    # What is left out has at most e^{−60} of the peak.
    kept = np.flatnonzero(exponent > exponent.max() - 60)
    low, high = z[kept[0]], z[kept[-1]]
    steepest = np.abs(np.diff(losses[kept[0] : kept[-1] + 1])).max() / (z[1] - z[0])
    return float(low), float(high), float(steepest)


def _nodes(
    step: Step, cut: float, tilt: float, frequency: float
) -> tuple[Array, Array, int, float]:
    """Losses and tilted weights by Gauss's rule, those of loss ≤ cut first, and the log scale."""
    low, high, steepest = _kept(step, tilt)
    # The phase turns by at most 4 within a panel of eight nodes.
    width = min(0.25, step.noise_multiplier, 4 / max(frequency * steepest, 1e-300))
    at = float(np.clip(step.position(np.array(cut)), low, high))
    parts = []
    for start, stop in ((low, at), (at, high)):
        edges = np.linspace(start, stop, 2 + int((stop - start) / width))
        half = np.diff(edges)[:, None] / 2
        z = (edges[:-1, None] + half + half * _GAUSS_X).ravel()
        with np.errstate(divide="ignore"):
            log_weight = np.log((half * _GAUSS_W).ravel())
        parts.append((step.loss(z), step.log_density(z) + log_weight))
    if not step.increasing:
        parts.reverse()
    losses = np.concatenate([part[0] for part in parts])
    exponent = np.concatenate([part[1] for part in parts]) + tilt * losses
    scale = float(exponent.max())
    return losses, np.exp(exponent - scale), len(parts[0][0]), scale


def _saddle(steps: tuple[Step, ...], releases: int, tilt: float, epsilon: float) -> float:
    """The c > 0 at which the integrand on the real axis is least."""

    def log_size(log_c: float) -> float:
        c = math.exp(log_c)
        return releases * cumulants(steps, c)[0] - c * epsilon - log_c - math.log1p(c)

    spread = math.sqrt(releases * cumulants(steps, 0.0)[2])
    near = math.log(max(tilt, 1e-3 / (spread + epsilon)))
    found = minimize_scalar(log_size, bounds=(near - 20, near + 5), method="bounded")
    return math.exp(float(found.x))


def contour_delta(
    steps: tuple[Step, ...], releases: int, tilt: float, epsilon: float, delta: float
) -> Interval:
    """δ(ε) with the error that the truncation, the aliasing and the rounding leave.

    Args:
        steps: the factors of one release.
        releases: T ≥ 1.
        tilt: θ near the saddle; see `grid.tilt_for_delta`.
        epsilon: ε ≥ 0.
        delta: what δ(ε) is expected to be, for choosing the spacing.
    """
    c = _saddle(steps, releases, tilt, epsilon)
    k, _, curvature = cumulants(steps, c)
    period = max((_NATS - math.log(delta)) / c, chernoff_window(steps, releases, c)[1] - epsilon)
    spacing = 2 * math.pi / period
    # The other factors' greatest loss, log 1/(1−q) for `add`, is left to them.
    reserve = -math.log1p(-steps[0].participation) if len(steps) > 1 else 0.0
    cuts = [epsilon / releases - reserve] + [reserve] * (len(steps) - 1)

    scale = math.exp(releases * k - c * epsilon) / math.pi * spacing
    total, size, start = 0.0, 0.0, 0
    # Rare large losses make lumps, and lumps make the transform rise again until each is resolved.
    resolved = max(8 / max(_kept(step, c)[2], 1e-300) for step in steps)
    # Eight standard deviations of the transform's bulk, where it has one.
    bulk = 8 / (math.sqrt(releases * curvature) * spacing + 1e-3)
    count = max(16, math.ceil(bulk))
    while True:
        frequencies = spacing * (start + np.arange(count))
        whole = np.ones(count, dtype=np.complex128)
        part = np.ones(count, dtype=np.complex128)
        work = 0
        for step, cut in zip(steps, cuts):
            losses, weights, split, log_scale = _nodes(step, cut, c, frequencies[-1])
            below, everything = transform(losses, weights, split, frequencies[0], spacing, count)
            share = math.exp(log_scale - cumulants((step,), c)[0])
            whole *= (everything * share) ** releases
            part *= (below * share) ** releases
            work += len(losses) * count
        rest = whole - part
        s = c + 1j * frequencies
        values = rest * np.exp(-1j * frequencies * epsilon) / (s * (s + 1))
        if start == 0:
            values[0] /= 2
        total += float(values.real.sum())
        size += float(np.abs(values).sum())
        start += count
        tail = float(np.abs(rest[count // 2 :]).max()) / (spacing * frequencies[-1])
        settled = tail < _RELATIVE * abs(total) and frequencies[-1] > resolved
        if settled or 4 * work > _MAX_WORK:
            break
        count = start
    value = scale * total
    error = scale * (tail + size * releases * 1e-14) + (_RELATIVE + IGNORED) * delta
    return Interval(max(value - error, 0.0), max(value, 0.0), max(value + error, 0.0))
