"""Show how far a long job is: in the run's display, or on a terminal, or now and then in a log."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

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
# Seconds between two reports to the run's display, which names its folder in the environment.
OFTEN = 0.5
FOLDER = "PE_AUDIT_PROGRESS"


def _paced(first: float, every: float, say: Callable[[int, int, float, float], None]) -> Report:
    """Return a function that says (done, total, rate, seconds left) now and then, and at the end.

    Args:
        first, every: seconds before the first word, and between two.
    """
    start = time.monotonic()
    due = start + first

    def report(done: int, total: int) -> None:
        nonlocal due
        now = time.monotonic()
        if now < due and done < total:
            return
        due = now + every
        rate = done / max(now - start, 1e-9)
        say(done, total, rate, (total - done) / rate if rate else 0.0)

    return report


@contextmanager
def _told(folder: Path, what: str, unit: str) -> Iterator[Report]:
    """Yield a function that tells the run's display how far the job is."""
    file = folder / f"{os.getpid()}.json"

    def tell(done: int, total: int, rate: float, left: float) -> None:
        known = {
            "what": what,
            "unit": unit,
            "done": done,
            "total": total,
            "rate": rate,
            "left": left,
        }
        written = file.with_suffix(".new")
        written.write_text(json.dumps(known))
        written.replace(file)

    try:
        yield _paced(0.0, OFTEN, tell)
    finally:
        file.unlink(missing_ok=True)


@contextmanager
def progress(what: str, unit: str) -> Iterator[Report]:
    """Yield a function of (done, total) that shows the progress of one job.

    Args:
        what: the job, as a person would name it.
        unit: what is counted, in the plural.
    """
    # A job on another machine has the variable, but not the folder.
    folder = Path(os.environ.get(FOLDER, ""))
    if FOLDER in os.environ and folder.is_dir():
        with _told(folder, what, unit) as tell:
            yield tell
        return
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

    def line(done: int, total: int, rate: float, left: float) -> None:
        print(
            f"{what}: {done:,} of {total:,} {unit}, {rate:,.1f} a second, {left:,.0f} s left",
            file=sys.stderr,
            flush=True,
        )

    yield _paced(QUIET, QUIET, line)
