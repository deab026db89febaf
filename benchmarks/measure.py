"""Timing, peak memory and plain tables for the benchmark scripts."""

import math
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


def extra_memory(work: Callable[[], object]) -> float:
    """MB of resident memory that `work` takes at its peak beyond what is resident before it."""
    # Writing 5 resets the peak of this process (proc(5)).
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    work()
    return max(0.0, (_status("VmHWM") - before) / 1024)


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    raise KeyError(key)


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
