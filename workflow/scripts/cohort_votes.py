"""Everyone's contributions as contributions.npz holds them, by cohort."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse


class Votes(NamedTuple):
    """Contributions on the inspected positions, float64 (users, positions) each."""

    auxiliary: npt.NDArray[np.float64]
    calibration: npt.NDArray[np.float64]
    test: npt.NDArray[np.float64]


def stored(arrays: Mapping[str, Any]) -> sparse.csr_array:
    """Return the stored rows, float64 (users, positions)."""
    return sparse.csr_array(
        (arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"])
    )


def by_cohort(arrays: Mapping[str, Any]) -> Votes:
    """Split the stored rows at the places where the cohorts begin."""
    return Votes(*np.split(stored(arrays).toarray(), arrays["first"][1:3]))
