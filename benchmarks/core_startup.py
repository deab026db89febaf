"""CPU seconds of a job that imports the core and runs two cached kernels."""

import subprocess
import sys
from collections.abc import Iterator

from measure import table

CORE = """
import numpy as np
from pe_core import Mechanism, probes, trials
from pe_core.score import LinearScore
mechanism = Mechanism(2, 0.1, 1.0, 0.1, 1e-5)
score = LinearScore(np.array([9.0]), 0.5, 1.0)
users = np.array([[0.1], [0.05]])
trials.error_counts(score, users, np.array([0.1]), mechanism, 1.0, 100, np.random.SeedSequence(1))
probes.select(np.ones((1, 5)), np.ones((1, 3)), 2, "norm")
"""
# What Numba itself takes to load any cached kernel.
CACHED = """
import numpy as np
from pe_core.kernels import random
random.fill(np.empty(2, np.uint64), np.uint64(1), 0, 0)
"""
STEPS = {
    "NumPy alone": "import numpy",
    "NumPy and Numba": "import numpy, numba",
    "NumPy, Numba, one small cached kernel": CACHED,
    "the core imported": "import pe_core.probes, pe_core.trials",
    "the core, two cached kernels": CORE,
    "scipy.stats alone": "import scipy.stats",
    "torch alone": "import torch",
}


def cpu_seconds(code: str, runs: int) -> float:
    """Least CPU time of fresh processes, in user and system mode."""
    ending = "\nimport time\nprint(time.process_time())"
    times = [
        subprocess.run([sys.executable, "-c", code + ending], capture_output=True, check=True)
        for _ in range(runs + 1)
    ]
    # The first run may have filled the cache.
    return min(float(each.stdout) for each in times[1:])


def tables(size: str) -> Iterator[str]:
    rows: list[list[object]] = []
    for step, code in STEPS.items():
        if size == "quick" and step.endswith("alone"):
            continue
        rows.append([step, cpu_seconds(code, 2 if size == "quick" else 5)])
    yield table("Start-up: CPU seconds of a process", ["process", "s"], rows, "Target: 0.5.")
