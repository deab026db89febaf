"""Importing the core stays light: every job of the workflow pays for it."""

import json
import pkgutil
import subprocess
import sys

import pytest

import pe_core

HEAVY = {"torch", "pandas", "scipy.stats", "matplotlib"}


def core_modules():
    """Every module of the library but the rooms of the texts."""
    names = [module.name for module in pkgutil.walk_packages(pe_core.__path__, "pe_core.")]
    return ["pe_core", *(name for name in names if not name.startswith("pe_core.text"))]


def loaded_after(*statements):
    code = "; ".join([*statements, "import json, sys", "print(json.dumps(sorted(sys.modules)))"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_the_core_imports_nothing_heavy():
    modules = core_modules()
    assert "pe_core.trials" in modules
    loaded = loaded_after(*(f"import {name}" for name in modules))
    assert not HEAVY & loaded


@pytest.mark.parametrize("heavy", ["scipy.stats", "matplotlib"])
def test_the_check_bites(heavy):
    assert heavy in loaded_after("import pe_core", f"import {heavy}")


KERNEL = (
    "from pe_core.kernels import random; random.fill(numpy.empty(2, 'u8'), numpy.uint64(1), 0, 0)"
)


def test_a_kernel_leaves_linear_algebra_alone():
    assert "scipy.linalg" in loaded_after("import numba.np.arraymath")
    assert "scipy.linalg" not in loaded_after("import numpy", KERNEL)


def test_compiled_code_of_others_still_finds_blas():
    others = "numba.njit(lambda a: numpy.dot(a, a) + numpy.linalg.inv(a))(numpy.eye(2))"
    correlated = "numba.njit(lambda a: numpy.convolve(a, a))(numpy.ones(3)).tolist()"
    loaded = loaded_after(
        "import numba, numpy",
        KERNEL,
        f"assert ({others} == 2 * numpy.eye(2)).all()",
        f"assert {correlated} == [1, 2, 3, 2, 1]",
    )
    assert "scipy.linalg" in loaded


def test_trials_and_scores_leave_scipy_alone():
    assert "scipy.sparse" not in loaded_after("import pe_core.trials, pe_core.probes")
