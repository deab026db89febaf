"""What a run shows: a display on a terminal, lines elsewhere, and why a job failed on both."""

import io
import json
import logging
import os
import pty
import re
from types import SimpleNamespace

import pytest
from rich.console import Console
from snakemake_interface_logger_plugins.common import LogEvent

import progress
import snakemake_logger_plugin_pe_audit as plugin
from snakemake_logger_plugin_pe_audit import display
from tests.workflow import small


def handler(**changed):
    settings = {
        "quiet": None, "show_failed_logs": True, "debug_dag": False, "verbose": False,
        "dryrun": False, "printshellcmds": False, "stdout": False,
    }  # fmt: skip
    return plugin.LogHandler(SimpleNamespace(**{**settings, **changed}), None)


def record(message=None, level=logging.INFO, **extra):
    return logging.makeLogRecord({"msg": message, "levelno": level, **extra})


def job(number, rule, **wildcards):
    return record(event=LogEvent.JOB_INFO, jobid=number, rule_name=rule, wildcards=wildcards)


def failure(log, message=None):
    return record(
        level=logging.ERROR, event=LogEvent.JOB_ERROR, jobid=2, rule_name="probes",
        log=[str(log)], rule_msg=message,
    )  # fmt: skip


def run_of(handled):
    for each in (
        record("Building DAG of jobs..."),
        record("stats", event=LogEvent.RUN_INFO, stats={"probes": 2, "total": 2}),
        job(1, "probes", attack="nonce"),
        job(2, "probes", attack="exact"),
        record("Finished", event=LogEvent.JOB_FINISHED, job_id=1),
        record("A remark of Snakemake"),
    ):
        handled.emit(each)


def test_elsewhere_than_on_a_terminal_a_job_is_a_line(capsys):
    handled = handler()
    run_of(handled)
    handled.close()
    said = capsys.readouterr().err.splitlines()
    assert said == ["2 jobs", "1 of 2: probes (nonce)", "A remark of Snakemake"]


def test_quiet_runs_say_only_what_is_wrong(capsys):
    handled = handler(quiet={"all"})
    run_of(handled)
    handled.emit(record("Something is odd", logging.WARNING))
    assert capsys.readouterr().err == "Something is odd\n"


def test_a_failure_names_the_rule_and_shows_the_end_of_its_log(capsys, tmp_path):
    log = tmp_path / "probes.log"
    log.write_text("".join(f"line {n} [red]\n" for n in range(40)))
    handled = handler()
    run_of(handled)
    handled.emit(failure(log))
    handled.emit(failure(tmp_path / "none.log"))
    said = capsys.readouterr().err
    assert "rule probes (exact) failed" in said
    assert "line 39 [red]" in said
    assert "line 25 [red]" in said
    assert "line 24 [red]" not in said


def test_a_job_that_a_cluster_refuses_says_why(capsys, tmp_path):
    handled = handler()
    run_of(handled)
    handled.emit(failure(tmp_path / "none.log", "sbatch failed: too many\n  sbatch call: ..."))
    said = capsys.readouterr().err
    assert "rule probes (exact) failed: sbatch failed: too many\n" in said
    assert "sbatch call" not in said


def test_plans_are_snakemakes_own(capsys):
    handled = handler(dryrun=True)
    handled.emit(record("Job stats:\nall 1", event=LogEvent.RUN_INFO, stats={}))
    assert capsys.readouterr().err == "Job stats:\nall 1\n"


@pytest.fixture
def shown():
    console = Console(file=io.StringIO(), force_terminal=True, width=90, color_system=None)
    made = display.Display(console)
    yield made
    made.close()


def picture(made):
    console = Console(file=io.StringIO(), width=90)
    console.print(made.picture())
    return console.file.getvalue().splitlines()


def test_the_display_has_stages_counts_time_left_and_texts_per_second(shown, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    shown.begin({"embed": 2, "audit": 6})
    # Two stages at a time, each job of `audit` twenty seconds.
    shown.start("audit", 1)
    shown.start("embed", 2)
    now[0] = 120.0
    shown.finish("audit", "audit (exact)", 1)
    shown.start("audit", 3)
    with progress.progress("toy: records", "texts") as report:
        now[0] += 2.0
        report(64, 640)
        lines = picture(shown)
        assert len(lines) == 4
        # 7 jobs like the one that is done, at the pace of one job in 20 seconds.
        assert re.match(r"all +\S+ +1 of 8 +22 s, about 3 min left", lines[0])
        assert re.match(r"audit +\S+ +1 of 6 +1 at work", lines[1])
        assert re.match(r"embed +\S* *0 of 2 +1 at work", lines[2])
        assert re.match(r"toy: records: 64 of 640 texts, [\d,.]+ a second, .+ left", lines[3])
    assert len(picture(shown)) == 3
    assert os.environ[display.FOLDER]


def test_the_display_ends_with_a_line_and_leaves_nothing(shown):
    shown.begin({"audit": 1})
    shown.start("audit", 1)
    shown.finish("audit", "audit", 1)
    shown.close()
    assert "1 of 1 jobs done in 0 s" in shown.console.file.getvalue()
    assert display.FOLDER not in os.environ
    assert not shown.folder.exists()


def test_counts_go_to_the_display_where_there_is_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(progress.FOLDER, str(tmp_path))
    assert progress.FOLDER == display.FOLDER
    with progress.progress("toy", "texts") as report:
        report(5, 10)
        (file,) = tmp_path.glob("*.json")
        told = json.loads(file.read_text())
        assert (told["what"], told["done"], told["total"], told["unit"]) == ("toy", 5, 10, "texts")
    assert not list(tmp_path.iterdir())
    assert capsys.readouterr().err == ""
    # On another machine the folder is not there.
    monkeypatch.setenv(progress.FOLDER, str(tmp_path / "elsewhere"))
    with progress.progress("toy", "texts") as report:
        report(10, 10)
    assert "toy: 10 of 10 texts" in capsys.readouterr().err


def on_a_terminal(folder, *arguments):
    """Run Snakemake on a terminal of its own; return its exit status and what it showed."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        command = small.command(*arguments)
        os.execve(command[0], command, {**small.environment(folder), "TERM": "xterm"})
    seen = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux's way to say that the other side has closed
            break
        if not part:
            break
        seen += part
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), seen.decode(errors="replace")


def test_a_run_on_a_terminal_is_calm_and_a_damaged_file_is_named(copy):
    for table in (copy / "results/tables").glob("table2.*"):
        table.unlink()
    status, seen = on_a_terminal(copy, "results/tables/table2.csv")
    assert status == 0
    assert re.search(r"all +\S* *0 of 1 ", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen))
    assert "1 of 1 jobs done" in seen
    assert "SNAKEMAKE" not in seen
    # The cursor is back.
    assert seen.rindex("\x1b[?25h") > seen.rindex("\x1b[?25l")
    (copy / "results/tables/table2.csv").unlink()
    audit = next(copy.glob("results/small/A/*/exact/canary-0/audit.json"))
    times = audit.stat()
    audit.write_bytes(audit.read_bytes()[:-9])
    os.utime(audit, ns=(times.st_atime_ns, times.st_mtime_ns))
    status, seen = on_a_terminal(copy, "results/tables/table2.csv")
    assert status == 1
    assert "rule table (table2) failed" in seen
    assert "logs/table2.log, its last lines:" in seen
    assert f"{audit.relative_to(copy)}: damaged" in seen
