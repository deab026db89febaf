"""The rule that fills Numba's cache leaves nothing to compile for the jobs that follow."""

import shutil
import subprocess
import sys

import pytest

from tests.workflow import small

COMPILE = """
import runpy
import sys
from types import SimpleNamespace

sys.path[:0] = [".", "workflow/scripts"]
job = SimpleNamespace(log=["logs/kernels.log"], rule="kernels", output=["results/kernels.json"])
runpy.run_path("workflow/scripts/compile_kernels.py", init_globals={"snakemake": job})
"""


def written(cache):
    return {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb?")}


@pytest.mark.slow
def test_jobs_find_all_their_kernels_compiled(copy, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    subprocess.run(
        [sys.executable, "-c", COMPILE], cwd=copy, env=small.environment(copy), check=True
    )
    compiled = written(cache)
    assert compiled
    # All but the account of the proof, which is one job and compiles for itself.
    for made in ("results/small/A", "results/tables"):
        shutil.rmtree(copy / made)
    small.snakemake(copy, *small.TARGETS)
    assert written(cache) == compiled
