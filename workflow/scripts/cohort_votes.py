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


def by_cohort(arrays: Mapping[str, Any]) -> Votes:
    """Split the stored rows at the places where the cohorts begin."""
    everyone = sparse.csr_array(
        (arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"])
    ).toarray()
    return Votes(*np.split(everyone, arrays["first"][1:3]))
