"""The mechanism under audit: Poisson sampling of users, clipped votes, Gaussian noise."""

import math
from dataclasses import dataclass

from pe_core.errors import InputError


@dataclass(frozen=True)
class Mechanism:
    """One Private Evolution histogram release, repeated `releases` times.

    Attributes:
        population: N, number of eligible users besides the canary, ≥ 0.
        participation: q in [0, 1], probability that an eligible user takes part in a release.
        noise_multiplier: σ ≥ 0; the noise has standard deviation σ·clip per coordinate.
        clip: C > 0, L2 bound on one user's contribution.
        delta: δ in [0, 1] of the (ε, δ) guarantee.
        votes: k ≥ 1, votes per record.
        releases: T ≥ 0, number of releases.

    Degenerate values (q of 0 or 1, σ = 0, T = 0, δ of 0 or 1) are mechanisms too: the accountant
    gives each a defined answer.

    Raises:
        InputError: a value outside its range, not finite, or of the wrong type.

    Example:
        >>> Mechanism(1000, 0.1, 1.0, 0.1, 1e-5).noise_scale
        0.1
    """

    population: int
    participation: float
    noise_multiplier: float
    clip: float
    delta: float
    votes: int = 5
    releases: int = 1

    def __post_init__(self) -> None:
        for name, least in (("population", 0), ("votes", 1), ("releases", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
                raise InputError(f"{name} = {value!r}: a whole number from {least} up is needed")
        for name, low, high in (
            ("participation", 0.0, 1.0),
            ("noise_multiplier", 0.0, math.inf),
            ("clip", 0.0, math.inf),
            ("delta", 0.0, 1.0),
        ):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) and not hasattr(value, "__float__"):
                raise InputError(f"{name} = {value!r}: a number is needed")
            if not (math.isfinite(value) and low <= value <= high):
                raise InputError(f"{name} = {value!r}: allowed are finite values in {low}…{high}")
        if self.clip == 0.0:
            raise InputError("clip = 0: a clip above 0 is needed")

    @property
    def noise_scale(self) -> float:
        """Standard deviation of the noise on one coordinate, σC."""
        return self.noise_multiplier * self.clip
