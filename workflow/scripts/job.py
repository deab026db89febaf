"""The frame of every script: a log file, and errors that read as a sentence."""

import logging
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from artifacts import DamagedError, UnwritableError
from pe_core import AccuracyError, InputError


def _peak_megabytes() -> int:
    """Return the peak memory of this process and, a served model, of its largest child."""
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    # Linux counts the memory of the process that this one was before it became Python, too.
    status = Path("/proc/self/status")
    if status.exists():
        peak += int(status.read_text().partition("VmHWM:")[2].split()[0])
    else:
        peak += resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024


@contextmanager
def job(snakemake: Any) -> Iterator[logging.Logger]:
    """Log to the rule's log file; end on bad input or a bad disk with one line, not a traceback.

    The last line of a job that succeeds says what it took; benchmarks/resources.py gathers them.

    Args:
        snakemake: the object that Snakemake hands to the script.
    """
    file = Path(snakemake.log[0])
    file.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=file,
        filemode="w",
        encoding="utf-8",
        level=logging.INFO,
        format="%(asctime)s %(message)s",
    )
    log = logging.getLogger(snakemake.rule)
    logging.captureWarnings(True)
    start = time.perf_counter()
    try:
        yield log
        seconds = time.perf_counter() - start
        log.info("rule %s: %.1f s, %d MB at most", snakemake.rule, seconds, _peak_megabytes())
    except (InputError, AccuracyError, DamagedError, UnwritableError) as error:
        log.error("%s", error)
        print(f"\nrule {snakemake.rule}: {error}\n", file=sys.stderr, flush=True)
        sys.exit(1)
    except Exception:
        log.exception("unexpected error")
        raise
