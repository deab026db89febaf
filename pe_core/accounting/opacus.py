"""The paper's ε_theory: Opacus's PRVAccountant at its defaults."""

import math
import warnings

import numpy as np

from pe_core.accounting.adjacency import checked_delta, defined_epsilon
from pe_core.errors import AccuracyError
from pe_core.mechanism import Mechanism

EPS_ERROR = 0.01
DELTA_ERROR_SHARE = 1e-3
# Opacus holds about ten arrays of float64 on its mesh.
MAX_CELLS = 20_000_000


def opacus_prv(mechanism: Mechanism, delta: float | None = None) -> float:
    """Return ε_theory as the paper has it.

    Opacus returns the upper end of its error interval, about 0.01 above the truth, for add/remove
    adjacency. Where q, σ, T or δ are degenerate the design's defined answers take its place; an
    answer below zero is reported as 0. Needs the `account` extra; imports torch.

    Args:
        mechanism: q, σ, T and δ are used.
        delta: replaces the mechanism's δ.

    Returns:
        ε ≥ 0; `math.inf` where no ε holds.

    Raises:
        InputError: δ outside [0, 1].
        AccuracyError: Opacus fails or would need more than 20 million cells.

    Example:
        >>> round(opacus_prv(Mechanism(1000, 0.1, 1.0, 0.1, 1e-5)), 5)
        1.69477
    """
    delta = mechanism.delta if delta is None else checked_delta(delta)
    defined = defined_epsilon(mechanism, delta)
    if defined is not None:
        return defined
    # Opacus imports torch, which the library otherwise never needs.
    from opacus.accountants import PRVAccountant
    from opacus.accountants.analysis.prv import (
        PoissonSubsampledGaussianPRV,
        compute_safe_domain_size,
    )

    q, sigma = mechanism.participation, mechanism.noise_multiplier
    releases = int(mechanism.releases)
    delta_error = delta * DELTA_ERROR_SHARE
    accountant = PRVAccountant()
    # One entry stands for all releases; `step` would be called once for each.
    accountant.history = [(sigma, q, releases)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            reach = compute_safe_domain_size(
                prvs=[PoissonSubsampledGaussianPRV(q, sigma)],
                max_self_compositions=[releases],
                eps_error=EPS_ERROR,
                delta_error=delta_error,
            )
            mesh = EPS_ERROR / math.sqrt(releases * math.log(12 / delta_error) / 2)
            if not 2 * reach / mesh <= MAX_CELLS:
                raise AccuracyError(
                    f"Opacus's PRVAccountant needs {2 * reach / mesh:.3g} cells at q = {q}, "
                    f"σ = {sigma}, T = {releases}, δ = {delta}: allowed are {MAX_CELLS:.3g}"
                )
            epsilon = float(accountant.get_epsilon(delta))
        except (ValueError, RuntimeError, OverflowError, IndexError) as error:
            raise AccuracyError(
                f"Opacus's PRVAccountant fails at q = {q}, σ = {sigma}, T = {releases}, "
                f"δ = {delta}: {error}"
            ) from error
    if math.isnan(epsilon):
        raise AccuracyError(
            f"Opacus's PRVAccountant returns NaN at q = {q}, σ = {sigma}, T = {releases}, "
            f"δ = {delta}"
        )
    return max(epsilon, 0.0)
