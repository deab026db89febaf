"""Show how far a long job is: a bar on a terminal, a line now and then in a log."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

Report = Callable[[int, int], None]
# Seconds between two lines where stderr is not a terminal.
QUIET = 10.0


@contextmanager
def progress(what: str, unit: str) -> Iterator[Report]:
    """Yield a function of (done, total) that shows the progress of one job.

    Args:
        what: the job, as a person would name it.
        unit: what is counted, in the plural.
    """
    console = Console(stderr=True)
    if console.is_terminal:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            start = time.monotonic()
            task = bar.add_task(what, total=None, rate="")

            def show(done: int, total: int) -> None:
                rate = done / max(time.monotonic() - start, 1e-9)
                bar.update(task, completed=done, total=total, rate=f"{rate:,.1f} {unit}/s")

            yield show
        return

    start = last = time.monotonic()

    def line(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < QUIET and done < total:
            return
        last = now
        rate = done / max(now - start, 1e-9)
        left = (total - done) / rate if rate else 0.0
        print(
            f"{what}: {done:,} of {total:,} {unit}, {rate:,.1f} a second, {left:,.0f} s left",
            file=sys.stderr,
            flush=True,
        )

    yield line
