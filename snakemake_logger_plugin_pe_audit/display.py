"""Two ways to show a run: a live display for a terminal, and a line a job for a file."""

import contextlib
import json
import math
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

# Jobs that count texts write how far they are into files of this folder.
FOLDER = "PE_AUDIT_PROGRESS"
# Pictures a second.
RATE = 4


class Shown(Protocol):
    """What a run is shown on."""

    def begin(self, jobs: Mapping[str, int]) -> None: ...
    def start(self, rule: str, job: int) -> None: ...
    def finish(self, rule: str, name: str, job: int) -> None: ...
    def fail(self, rule: str, job: int) -> None: ...
    def say(self, message: str, style: str = "") -> None: ...
    def close(self) -> None: ...


class Lines:
    """A line when a job is done, for a file or a pipe."""

    def __init__(self, console: Console) -> None:
        self.console, self.total, self.done = console, 0, 0

    def begin(self, jobs: Mapping[str, int]) -> None:
        self.total += sum(jobs.values())
        self.say(f"{self.total} jobs")

    def start(self, rule: str, job: int) -> None:
        """A job that begins is not a line."""

    def finish(self, rule: str, name: str, job: int) -> None:
        self.done += 1
        self.say(f"{self.done} of {self.total}: {name}")

    def fail(self, rule: str, job: int) -> None:
        """The message says it."""

    def say(self, message: str, style: str = "") -> None:
        print(message, file=self.console.file, flush=True)

    def close(self) -> None:
        """Nothing is held."""


def clock(seconds: float) -> str:
    """Return a duration as people read it.

    Example:
        >>> clock(42.3), clock(200), clock(7300)
        ('42 s', '3 min 20 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def roughly(seconds: float) -> str:
    """Return an estimate no finer than it is.

    Example:
        >>> roughly(20), roughly(200), roughly(8000)
        ('less than a minute', 'about 4 min', 'about 2.2 h')
    """
    if seconds < 60:
        return "less than a minute"
    if seconds < 5400:
        return f"about {math.ceil(seconds / 60)} min"
    return f"about {seconds / 3600:.1f} h"


def told(folder: Path) -> Iterator[dict]:
    """Yield what each counting job last wrote; a file that is gone again is a job that ended."""
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            yield json.loads(path.read_text())


class Display:
    """A bar for the run, a line for every stage at work, and one for every job that counts."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.jobs: Counter[str] = Counter()
        self.running: dict[int, tuple[str, float]] = {}
        self.done: Counter[str] = Counter()
        self.took: dict[str, float] = {}
        self.left: float | None = None
        self.since = time.monotonic()
        self.live: Live | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="pe-audit-"))
        os.environ[FOLDER] = str(self.folder)

    def begin(self, jobs: Mapping[str, int]) -> None:
        self.jobs.update(jobs)
        if self.live is None and self.jobs:
            self.since = time.monotonic()
            self.live = Live(
                get_renderable=self.picture,
                console=self.console,
                refresh_per_second=RATE,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self.live.start()

    def start(self, rule: str, job: int) -> None:
        self.running[job] = rule, time.monotonic()

    def finish(self, rule: str, name: str, job: int) -> None:
        _, began = self.running.pop(job)
        now = time.monotonic()
        self.done[rule] += 1
        self.took[rule] = self.took.get(rule, 0.0) + now - began
        self.left = self.estimate(now - self.since)

    def fail(self, rule: str, job: int) -> None:
        self.running.pop(job, None)

    def estimate(self, spent: float) -> float:
        """Return the seconds left: every stage's mean time so far, at the pace of all so far.

        A stage of which no job is done is taken to be like the others.
        """
        work = sum(self.took.values())
        usual = work / self.done.total()
        ahead = sum(
            (count - self.done[rule])
            * (self.took[rule] / self.done[rule] if rule in self.took else usual)
            for rule, count in self.jobs.items()
        )
        return ahead * spent / max(work, 1e-9)

    def say(self, message: str, style: str = "") -> None:
        # As text: a path or a message may look like markup.
        self.console.print(Text(message, style=style), soft_wrap=True)

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None
            took = clock(time.monotonic() - self.since)
            self.say(f"{self.done.total()} of {self.jobs.total()} jobs done in {took}")
        os.environ.pop(FOLDER, None)
        shutil.rmtree(self.folder, ignore_errors=True)

    def picture(self) -> Group:
        """Return the display as it is now."""
        done, total = self.done.total(), max(self.jobs.total(), 1)
        spent = time.monotonic() - self.since
        left = "" if self.left is None or done == total else f", {roughly(self.left)} left"
        lines = Table.grid(padding=(0, 2))
        lines.add_row(
            "all", ProgressBar(total, done, width=20), f"{done} of {total}",
            f"{clock(spent)}{left}",
        )  # fmt: skip
        at_work = Counter(rule for rule, _ in self.running.copy().values())
        for rule, running in sorted(at_work.items()):
            bar = ProgressBar(self.jobs[rule], self.done[rule], width=20)
            lines.add_row(
                rule.replace("_", " "), bar, f"{self.done[rule]} of {self.jobs[rule]}",
                f"{running} at work",
            )  # fmt: skip
        counting = [
            Text(
                f"{each['what']}: {each['done']:,} of {each['total']:,} {each['unit']}, "
                f"{each['rate']:,.1f} a second, {clock(each['left'])} left",
                overflow="ellipsis",
                no_wrap=True,
            )
            for each in told(self.folder)
        ]
        return Group(lines, *counting)
