"""Timing, peak memory and plain tables for the benchmark scripts."""

import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path


def seconds(
    work: Callable[[], object],
    repeats: int = 5,
    at_most: float = 10.0,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Shortest time of `work` over the repeats that fit into `at_most` seconds, once warm.

    With `time.thread_time` as the clock, work on one core is timed apart from what else runs.
    """
    work()
    best, spent = math.inf, 0.0
    for _ in range(repeats):
        start = clock()
        work()
        best = min(best, clock() - start)
        spent += clock() - start
        if spent > at_most:
            break
    return best


def peak_memory(module: str, *arguments: object) -> float:
    """Peak resident MB of a fresh process that calls `module.run(*arguments)` (Linux)."""
    code = (
        f"import sys; sys.path[:0] = {[str(Path(__file__).parent)]!r}; import {module}\n"
        f"{module}.run(*{arguments!r})\n"
        "lines = open('/proc/self/status').read().splitlines()\n"
        "print(next(line.split()[1] for line in lines if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024


def exponents(sizes: Sequence[float], costs: Sequence[float]) -> list[float]:
    """Slope of log cost against log size between neighbours."""
    return [
        math.log(costs[i + 1] / costs[i]) / math.log(sizes[i + 1] / sizes[i])
        for i in range(len(sizes) - 1)
    ]


def table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[object]], note: str = ""
) -> str:
    """A table in plain text, numbers at three significant digits."""
    cells = [[_cell(value) for value in row] for row in [header, *rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    lines = ["  ".join(value.rjust(width) for value, width in zip(row, widths)) for row in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([title, *lines, *([note] if note else []), ""])


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
