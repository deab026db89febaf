"""Everyone as the canary: the exact ε of every user of a cohort.

Five random canaries say little about the most exposed user. Without sampling error one user costs
milliseconds, so each is tested in turn against all the others.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from pe_core import background
from pe_core.best import best_epsilon
from pe_core.errors import InputError
from pe_core.exact import linear_test
from pe_core.mechanism import Mechanism
from pe_core.score import LinearScore

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Exposure:
    """How far one user can be told from absent.

    Attributes:
        epsilon: best exact ε over thresholds.
        separation: μ_eff under the estimated background.
        norm: ‖v‖ on the inspected coordinates.
        inspected: number of inspected coordinates.
    """

    epsilon: float
    separation: float
    norm: float
    inspected: int


def exposure(
    canary: Floats,
    auxiliary: Floats,
    others: Floats,
    mechanism: Mechanism,
    shrinkage: float = 0.1,
    ridge: float = 1e-9,
) -> Exposure:
    """Return the exposure of one user against the others.

    Args:
        canary: v on the inspected coordinates, float64 (r,).
        auxiliary: contributions of the auxiliary users there, float64 (n_aux, r); they give the
            background.
        others: of the other test users there, float64 (N, r). They are the population.
        mechanism: gives q, σC and δ; its population is replaced by N.
        shrinkage, ridge: of the background, as for `background.estimate`.

    Raises:
        InputError: shapes that do not fit.
        AccuracyError: rates that cannot be promised.

    Example:
        >>> mechanism = Mechanism(0, 0.1, 1.0, 0.1, 1e-5)
        >>> nobody = np.zeros((2, 1))
        >>> round(exposure(np.array([0.1]), nobody, nobody, mechanism).epsilon, 4)
        1.6845
    """
    norm = float(np.linalg.norm(canary))
    if norm == 0.0:
        return Exposure(0.0, 0.0, 0.0, canary.size)
    mechanism = replace(mechanism, population=others.shape[0])
    model = background.estimate(auxiliary, mechanism, shrinkage, ridge)
    score = LinearScore.fit(canary, model, mechanism)
    best = best_epsilon(linear_test(score, others, canary, mechanism), mechanism.delta)
    return Exposure(best.epsilon, score.separation, norm, canary.size)


def everyone(
    auxiliary: csr_array,
    cohort: csr_array,
    mechanism: Mechanism,
    shrinkage: float = 0.1,
    ridge: float = 1e-9,
) -> Iterator[Exposure]:
    """Yield the exposure of every user of a cohort to the passive attack, in order.

    The passive attack inspects the bank positions that the user votes for; the user is left out of
    the population, which is the rest of the cohort. One at a time, so that a caller can show
    progress.

    Args:
        auxiliary: contributions of the auxiliary users on the whole bank, CSR (n_aux, p).
        cohort: of the cohort, CSR (n, p).
        mechanism: gives q, σC and δ.
        shrinkage, ridge: of the background, as for `background.estimate`.

    Raises:
        InputError: banks of different size.
        AccuracyError: rates that cannot be promised.

    Example:
        >>> cohort = csr_array(np.array([[0.1, 0.0], [0.0, 0.0]]))
        >>> mechanism = Mechanism(2, 0.1, 1.0, 0.1, 1e-5)
        >>> [round(user.epsilon, 3) for user in everyone(cohort[[1, 1]], cohort, mechanism)]
        [1.685, 0.0]
    """
    if auxiliary.shape[1] != cohort.shape[1]:
        raise InputError(
            f"auxiliary contributions cover {auxiliary.shape[1]} bank positions, the cohort's "
            f"{cohort.shape[1]}: they must agree"
        )
    # Rows by bank position: a user's positions are then a few whole rows.
    auxiliary_rows = np.ascontiguousarray(auxiliary.toarray().T)
    cohort_rows = np.ascontiguousarray(cohort.toarray().T)
    for user in range(cohort.shape[0]):
        voted = cohort.indices[cohort.indptr[user] : cohort.indptr[user + 1]]
        values = cohort.data[cohort.indptr[user] : cohort.indptr[user + 1]]
        inspected = np.sort(voted[values != 0.0])
        part = cohort_rows[inspected]
        yield exposure(
            part[:, user].copy(),
            auxiliary_rows[inspected].T,
            np.ascontiguousarray(np.delete(part, user, axis=1).T),
            mechanism,
            shrinkage,
            ridge,
        )


def share_above(epsilons: npt.ArrayLike, levels: npt.ArrayLike) -> Floats:
    """Return the share of users whose ε is above each level.

    Raises:
        InputError: no users.

    Example:
        >>> share_above([0.2, 0.5, 1.1, 1.2], [0.5, 1.0]).tolist()
        [0.5, 0.5]
    """
    values = np.asarray(epsilons, dtype=np.float64).ravel()
    if values.size == 0:
        raise InputError("epsilons are empty: at least one user is needed")
    return np.mean(values[:, None] > np.ravel(np.asarray(levels, dtype=np.float64)), axis=0)
