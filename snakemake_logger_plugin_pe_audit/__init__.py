"""What a run shows while it lasts: one calm display on a terminal, short lines elsewhere.

Snakemake finds it by its name: `logger: pe-audit` in profiles/default. Plans (`-n`) look as
Snakemake has them; the complete log of every run is in .snakemake/log, as ever.
"""

import logging
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from snakemake.logging import DefaultFilter, DefaultFormatter
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_pe_audit.display import Display, Lines, Shown

# Of a failed job's log.
LAST_LINES = 15
# What Snakemake says of itself at every run.
ROUTINE = (
    "Assuming unrestricted shared filesystem",
    "Building DAG of jobs",
    "Complete log",
    "Elapsed time",
    "Conda environments: ignored",
    "Provided cores",
    "Provided resources",
    "Rules claiming more threads",
    "Select jobs to execute",
    "Singularity containers: ignored",
    "Storing output",
    "Using shell",
    "host:",
    "Reasons:",
)


def named(rule: str, wildcards: dict[str, Any]) -> str:
    """Return a job for people: its rule and what tells it from the rule's other jobs."""
    which = ", ".join(str(value) for value in wildcards.values())
    return f"{rule} ({which})" if which else rule


def last_lines(path: str) -> list[str]:
    """Return the end of a log, indented; nothing where there is no log."""
    file = Path(path)
    if not file.is_file():
        return []
    lines = file.read_text(errors="replace").rstrip().splitlines()[-LAST_LINES:]
    return [f"{path}, its last lines:" if lines else f"{path} is empty", *(f"  {x}" for x in lines)]


class LogHandler(LogHandlerBase):
    """Snakemake's face of the display."""

    def __post_init__(self) -> None:
        settings = self.common_settings
        quiet = settings.quiet or set()
        self.silent = "all" in {str(each) for each in quiet}
        self.plain = DefaultFormatter(quiet, settings.show_failed_logs)
        self.kept = DefaultFilter(
            quiet, settings.debug_dag, settings.verbose, settings.dryrun, settings.printshellcmds
        )
        self.jobs: dict[int, tuple[str, str]] = {}
        self.stream = sys.stdout if settings.stdout else sys.stderr
        console = Console(file=self.stream, highlight=False)
        self.shown: Shown = Display(console) if console.is_terminal else Lines(console)

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record."""
        try:
            if self.common_settings.dryrun:
                if self.kept.filter(record):
                    print(self.plain.format(record), file=self.stream)
                return
            event = getattr(record, "event", None)
            if event in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR):
                self.failed(record)
            elif record.levelno >= logging.WARNING:
                self.shown.say(
                    self.plain.format(record), "red" if record.levelno > 30 else "yellow"
                )
            elif not self.silent:
                self.follow(event, record)
        except Exception:
            self.handleError(record)

    def follow(self, event: LogEvent | None, record: Any) -> None:
        """Follow jobs; say what is neither a job's nor routine."""
        if event == LogEvent.RUN_INFO:
            self.shown.begin({rule: n for rule, n in record.stats.items() if rule != "total"})
        elif event == LogEvent.JOB_INFO:
            rule = record.rule_name
            self.jobs[record.jobid] = rule, named(rule, dict(record.wildcards or {}))
            self.shown.start(rule, record.jobid)
        elif event == LogEvent.JOB_FINISHED and record.job_id in self.jobs:
            self.shown.finish(*self.jobs[record.job_id], record.job_id)
        elif event is None:
            message = record.getMessage()
            if message not in ("", "None") and not message.startswith(ROUTINE):
                self.shown.say(message)

    def failed(self, record: Any) -> None:
        """Name a failed rule, or the rules of a failed group, and show the ends of their logs."""
        found = getattr(record, "job_error_info", None) or [vars(record)]
        for info in found:
            rule = info["rule_name"]
            _, name = self.jobs.get(info["jobid"], (rule, rule))
            self.shown.fail(rule, info["jobid"])
            # Of a job that a cluster refused or ended there is no other word.
            reason = (info.get("rule_msg") or "").partition("\n")[0]
            self.shown.say(f"rule {name} failed" + (f": {reason}" if reason else ""), "bold red")
            logs = [*info["log"], *(getattr(record, "aux_logs", None) or [])]
            for line in (line for log in logs for line in last_lines(str(log))):
                self.shown.say(line)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self.shown.close()
        super().close()
