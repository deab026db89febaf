"""The frame of every script."""

import logging
import re
from types import SimpleNamespace

import numpy as np
import pytest

import artifacts
from job import job
from pe_core import InputError


def run(tmp_path, body):
    """Run a body as the script of a rule, in a process that logs nothing yet; return its log."""
    log = tmp_path / "logs/example.log"
    root = logging.getLogger()
    before = root.handlers[:], root.level
    root.handlers.clear()
    try:
        with job(SimpleNamespace(rule="example", log=[str(log)])) as logger:
            body(logger)
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers[:], root.level = before
        logging.captureWarnings(False)
    return log.read_text()


def test_a_job_that_succeeds_says_what_it_took(tmp_path):
    held = []

    def body(log):
        log.info("at work")
        held.append(np.ones(40 * 2**20 // 8))

    first, last = run(tmp_path, body).splitlines()
    assert first.endswith(" at work")
    took = re.search(r" rule example: (\d+\.\d) s, (\d+) MB at most$", last)
    assert took
    assert int(took[2]) > held[0].nbytes / 2**20


ERRORS = [
    InputError("no users"),
    artifacts.DamagedError("a: damaged"),
    artifacts.UnwritableError("b: full"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_of_the_input_or_the_disk_is_one_line(tmp_path, error, capsys):
    def body(log):
        raise error

    with pytest.raises(SystemExit) as ended:
        run(tmp_path, body)
    assert ended.value.code == 1
    assert capsys.readouterr().err.strip() == f"rule example: {error}"
    logged = (tmp_path / "logs/example.log").read_text()
    assert logged.strip().endswith(str(error))
    assert "Traceback" not in logged
