"""dp-accounting's privacy loss distributions, where their arithmetic reaches."""

import numpy as np

from pe_core.accounting.adjacency import Adjacency, Interval
from pe_core.accounting.step import Step
from pe_core.errors import AccuracyError

# Below this δ the library's convolution, which is not tilted, is rounding noise.
LEAST_DELTA = 1e-9
MOST_RELEASES = 1000
# Cells of one release (five microseconds each) and of the composed loss.
_STEP_CELLS = 10_000
_MAX_CELLS = 100_000
_TAIL = 1e-15


def reaches(releases: int, delta: float) -> bool:
    """Whether dp-accounting can be asked.

    Example:
        >>> reaches(6, 1e-5), reaches(100_000, 1e-5), reaches(6, 1e-12)
        (True, False, False)
    """
    return releases <= MOST_RELEASES and delta >= LEAST_DELTA


def library_delta(
    adjacency: Adjacency,
    steps: tuple[Step, ...],
    releases: int,
    window: tuple[float, float],
    epsilon: float,
) -> Interval:
    """δ(ε) between dp-accounting's optimistic and pessimistic estimates.

    The estimate is the pessimistic one: it is of second order in the mesh, the other of first.
    The orthogonal pair is the composition of its `remove` and `add` distributions.

    Args:
        adjacency: which pair.
        steps: factors of one release (their supports set the mesh).
        releases: T ≥ 1.
        window: where the composed loss lies.
        epsilon: ε ≥ 0.

    Raises:
        AccuracyError: the library fails on this input.
    """
    # Imports scipy.stats, which takes a second.
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution as pld

    width = max(step.support[1] - step.support[0] for step in steps)
    spacing = max(width / _STEP_CELLS, (window[1] - window[0]) / _MAX_CELLS)
    relation = (
        NeighboringRelation.REPLACE_ONE
        if adjacency is Adjacency.SUBSTITUTE
        else NeighboringRelation.ADD_OR_REMOVE_ONE
    )
    ends = []
    for pessimistic in (False, True):
        try:
            with np.errstate(all="ignore"):
                one = pld.from_gaussian_mechanism(
                    steps[0].noise_multiplier,
                    value_discretization_interval=spacing,
                    sampling_prob=steps[0].participation,
                    pessimistic_estimate=pessimistic,
                    # Connect-the-dots has no optimistic form; asking for it logs a warning.
                    use_connect_dots=pessimistic,
                    neighboring_relation=relation,
                )
                if adjacency is Adjacency.SUBSTITUTE_VOTES:
                    # The only way to the two directions: the public face gives their maximum.
                    one = pld.PrivacyLossDistribution(one._pmf_remove).compose(
                        pld.PrivacyLossDistribution(one._pmf_add), tail_mass_truncation=0.0
                    )
                composed = one.self_compose(releases, tail_mass_truncation=_TAIL)
                ends.append(float(composed.get_delta_for_epsilon(epsilon)))
        except (ValueError, ArithmeticError, MemoryError) as error:
            raise AccuracyError(
                f"dp-accounting fails at q = {steps[0].participation}, "
                f"σ = {steps[0].noise_multiplier}, T = {releases}: {error}"
            ) from error
    # Its transforms carry noise of about the machine epsilon each way, and truncate _TAIL.
    noise = 1e-9 * LEAST_DELTA + 10 * _TAIL
    low, high = ends[0] - noise, ends[1] + noise
    return Interval(low, max(low, ends[1]), max(low, high))
