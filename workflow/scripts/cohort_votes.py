"""Everyone's contributions as files hold them: as CSR, and where the cohorts begin."""

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


def fields(rows: sparse.csr_array) -> dict[str, npt.ArrayLike]:
    """Return what `stored` reads, in the order in which files have it."""
    return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape}


def stored(arrays: Mapping[str, Any]) -> sparse.csr_array:
    """Return the stored rows, float64 (users, positions)."""
    return sparse.csr_array(
        (arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"])
    )


def by_cohort(arrays: Mapping[str, Any]) -> Votes:
    """Split the stored rows at the places where the cohorts begin."""
    return Votes(*np.split(stored(arrays).toarray(), arrays["first"][1:3]))
