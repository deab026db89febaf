"""The swap audit stated from its definitions, for a few users in the plane."""

import itertools
import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

Array = npt.NDArray[np.float64]


def score(y: Array, first: Array, second: Array, mean: Array, covariance: Array, q: float) -> Array:
    """log of ((1−q) + q·e^{ℓ_z}) over ((1−q) + q·e^{ℓ_z′}) at releases y (n, r)."""
    inverse = np.linalg.inv(covariance)
    ells = [(y - mean - v / 2) @ inverse @ v for v in (first, second)]
    one, other = (np.logaddexp(np.log1p(-q), np.log(q) + ell) for ell in ells)
    return one - other


def standard_normal() -> tuple[Array, Array]:
    """Nodes and weights of a sum over a standard normal variable."""
    nodes = np.linspace(-8.0, 8.0, 1281)
    return nodes, np.exp(-nodes * nodes / 2) / np.sqrt(2 * np.pi) * (nodes[1] - nodes[0])


def boundary(
    second_coordinate: Array,
    first: Array,
    second: Array,
    mean: Array,
    covariance: Array,
    q: float,
    threshold: float,
) -> Array:
    """First coordinate above which the score passes the threshold, at each second one."""
    low, high = np.full_like(second_coordinate, -100.0), np.full_like(second_coordinate, 100.0)
    for _ in range(60):
        middle = (low + high) / 2
        y = np.stack([middle, second_coordinate], axis=1)
        above = score(y, first, second, mean, covariance, q) > threshold
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return low


def rate(
    canary: Array,
    contributions: Array,
    first: Array,
    second: Array,
    mean: Array,
    covariance: Array,
    q: float,
    noise: float,
    threshold: float,
) -> float:
    """P(score > threshold) with this canary eligible, two coordinates, pattern by pattern.

    Every pattern of participation is enumerated; given it, the release is normal. The first canary
    votes for the first coordinate only, the second for the other, and the covariance is diagonal:
    the score rises in the first coordinate, so that one is a tail and the other a sum.
    """
    nodes, density = standard_normal()
    total = 0.0
    everyone = np.vstack([contributions, canary[None]])
    for pattern in itertools.product((0, 1), repeat=len(everyone)):
        taking = np.array(pattern, dtype=float)
        centre = taking @ everyone
        at = boundary(centre[1] + noise * nodes, first, second, mean, covariance, q, threshold)
        weight = float(np.prod(np.where(taking == 1, q, 1 - q)))
        total += weight * float(density @ ndtr((centre[0] - at) / noise))
    return total


def rate_among_equals(
    canary: Array,
    vote: float,
    users: int,
    first: Array,
    second: Array,
    mean: Array,
    covariance: Array,
    q: float,
    noise: float,
    threshold: float,
) -> float:
    """`rate` among users who all give `vote` to the first coordinate, by how many take part."""
    spread = math.sqrt(users * q * (1 - q))
    taking = np.arange(int(users * q - 9 * spread), int(users * q + 9 * spread))
    # Ratios of neighbours: factorials of so many users leave no digits.
    ratios = np.log((users - taking[:-1]) / (taking[:-1] + 1.0) * (q / (1 - q)))
    logs = np.concatenate([[0.0], np.cumsum(ratios.astype(np.longdouble))])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    nodes, density = standard_normal()
    total = 0.0
    for taken, chance in ((0, 1 - q), (1, q)):
        centre = taken * canary
        at = boundary(centre[1] + noise * nodes, first, second, mean, covariance, q, threshold)
        sums = vote * taking[:, None] + centre[0]
        tails = ndtr((sums - at) / noise) @ density
        total += chance * float(weights.astype(float) @ tails)
    return total


def sampled(
    rng: np.random.Generator,
    canary: Array,
    contributions: Array,
    scorer,
    q: float,
    noise: float,
    threshold: float,
    trials: int,
) -> int:
    """Trials with score > threshold, each release drawn in full."""
    count = 0
    for _ in range(0, trials, 1000):
        taking = rng.random((1000, len(contributions))) < q
        releases = taking @ contributions + noise * rng.standard_normal((1000, canary.size))
        releases += (rng.random((1000, 1)) < q) * canary
        count += int((scorer(releases) > threshold).sum())
    return count


def transform(shifts: Array, counts: Array, q: float, t1: float, t2: float) -> complex:
    """Characteristic function of Σ I_u s_u + Z at one frequency."""
    value = np.exp(-(t1**2 + t2**2) / 2) + 0j
    for s, n in zip(shifts, counts):
        for _ in range(n):
            value *= 1 - q + q * np.exp(1j * (t1 * s[0] + t2 * s[1]))
    return complex(value)
