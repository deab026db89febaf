"""Checks of embeddings before they meet a kernel."""

import numpy as np
from numpy.typing import NDArray

from pe_core.errors import InputError
from pe_core.kernels import topk

UNIT_TOLERANCE = 1e-4
"""How far a row's Euclidean norm may be from 1; float16 embeddings cast to float32 are within."""


def check_pair(
    first_name: str, first: NDArray[np.float32], second_name: str, second: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check two arrays of unit rows that are compared; return their squared norms.

    Raises:
        InputError: as `check_unit_rows`, or different numbers of columns.

    Example:
        >>> row = np.array([[0, 1]], np.float32)
        >>> check_pair("records", row, "bank", row)
        (array([1.]), array([1.]))
    """
    norms = check_unit_rows(first_name, first), check_unit_rows(second_name, second)
    if first.shape[1] != second.shape[1]:
        raise InputError(
            f"{first_name} have {first.shape[1]} columns and {second_name} {second.shape[1]}: "
            "both must come from one encoder"
        )
    return norms


def check_unit_rows(name: str, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Check unit rows and return their squared norms, float64 (n,).

    Args:
        name: what the error calls the rows.
        rows: (n, d) float32, C-contiguous, n and d ≥ 1, every norm within 1e-4 of 1.

    Raises:
        InputError: anything else; NaN and infinite values included.

    Example:
        >>> check_unit_rows("bank", np.array([[0.6, 0.8], [0.0, 1.1]], np.float32))
        Traceback (most recent call last):
        ...
        pe_core.errors.InputError: bank: row 1 has norm 1.1, allowed is 1 ± 0.0001 (bad rows: 1)
    """
    if not isinstance(rows, np.ndarray) or rows.dtype != np.float32 or rows.ndim != 2:
        found = (
            f"{rows.dtype} of shape {rows.shape}" if isinstance(rows, np.ndarray) else type(rows)
        )
        raise InputError(f"{name}: float32 of shape (rows, columns) is needed, got {found}")
    if not rows.flags.c_contiguous:
        raise InputError(f"{name}: rows must be contiguous (np.ascontiguousarray makes them so)")
    if 0 in rows.shape:
        raise InputError(f"{name}: at least one row and one column are needed, got {rows.shape}")
    if rows.shape[0] > np.iinfo(np.int32).max:
        raise InputError(f"{name}: {rows.shape[0]} rows, more than an int32 can number")
    norms = np.empty(rows.shape[0])
    topk.squared_norms(rows, norms)
    bad = np.flatnonzero(~(np.abs(np.sqrt(norms) - 1) <= UNIT_TOLERANCE))
    if bad.size:
        row = int(bad[0])
        if np.isfinite(norms[row]):
            what = f"has norm {np.sqrt(norms[row]):.6g}, allowed is 1 ± {UNIT_TOLERANCE:g}"
        else:
            what = "holds NaN or infinite values"
        raise InputError(f"{name}: row {row} {what} (bad rows: {bad.size})")
    return norms


def check_k(k: int, most: int) -> None:
    """Check a number of neighbours.

    Raises:
        InputError: not a whole number from 1 to `most`.

    Example:
        >>> check_k(5, 8192)
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= most:
        raise InputError(f"k = {k!r}: allowed are whole numbers 1 … {most} (the entries)")
