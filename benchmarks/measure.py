"""Timing, peak memory and plain tables for the benchmark scripts."""

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Spent(NamedTuple):
    """Seconds on the clock, and processor seconds of all threads."""

    wall: float
    cpu: float


def spent(work: Callable[[], object]) -> Spent:
    """Time one call."""
    start = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - start[0], time.process_time() - start[1])


def least(rows: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Spent]:
    """Least times of each row; every round runs every row, so that a busy moment hits all alike."""
    runs = [{name: spent(work) for name, work in rows.items()} for _ in range(rounds)]
    return {name: Spent(*map(min, zip(*(each[name] for each in runs)))) for name in rows}


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
    best, total = math.inf, 0.0
    for _ in range(repeats):
        start = clock()
        work()
        best = min(best, clock() - start)
        total += clock() - start
        if total > at_most:
            break
    return best


def in_child(module: str, function: str, *arguments: object) -> tuple[Any, float]:
    """Call a function of a benchmark module in a fresh process.

    Returns:
        What it returned, by way of JSON, and the peak resident MB of the process (Linux).
    """
    code = (
        f"import json, sys; sys.path[:0] = {[str(Path(__file__).parent)]!r}; import {module}\n"
        f"answer = {module}.{function}(*{arguments!r})\n"
        "lines = open('/proc/self/status').read().splitlines()\n"
        "peak = next(line.split()[1] for line in lines if line.startswith('VmHWM'))\n"
        "print(json.dumps([answer, int(peak)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    answer, peak = json.loads(done.stdout)
    return answer, peak / 1024


def exponents(sizes: Sequence[float], costs: Sequence[float]) -> list[float]:
    """Slope of log cost against log size between neighbours."""
    return [
        math.log(costs[i + 1] / costs[i]) / math.log(sizes[i + 1] / sizes[i])
        for i in range(len(sizes) - 1)
    ]


def growth(
    name: str,
    sizes: Sequence[int],
    columns: Mapping[str, Sequence[float]],
    reasons: Mapping[str, str],
    title: str,
) -> str:
    """A table of costs against sizes, with each column's exponent between the two largest sizes.

    Args:
        reasons: why a column grows faster than its size, printed where it does.
    """
    rows: list[list[object]] = [
        [size, *(values[i] for values in columns.values())] for i, size in enumerate(sizes)
    ]
    last = {label: exponents(sizes, values)[-1] for label, values in columns.items()}
    rows.append(["exponent", *(f"{value:.2f}" for value in last.values())])
    over = [f"{label} over 1: {reasons[label]}" for label, value in last.items() if value > 1.005]
    return table(title, [name, *columns], rows, "\n".join(over))


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
