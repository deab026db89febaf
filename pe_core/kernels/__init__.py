"""Compiled kernels: plain arrays in, plain arrays out. They assume valid input."""

import importlib
import sys

_BLAS = "scipy.linalg.cython_blas"


def _load_array_functions() -> None:
    """Load Numba's array functions without all of scipy.linalg.

    They import it only to learn whether BLAS is there, which our requirements say; it takes a fifth
    of the start-up of a job with two kernels. Compiled code that uses BLAS imports it when it does.
    """
    if _BLAS in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules[_BLAS] = None  # type: ignore[assignment]
    try:
        functions = importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules[_BLAS]
    # Where it is false, np.convolve and np.correlate keep to plain loops.
    functions._HAVE_BLAS = True  # type: ignore[attr-defined]


_load_array_functions()
