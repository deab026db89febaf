"""The frame of every script: a log file, and errors that read as a sentence."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from artifacts import DamagedError, UnwritableError
from pe_core import AccuracyError, InputError


@contextmanager
def job(snakemake: Any) -> Iterator[logging.Logger]:
    """Log to the rule's log file; end on bad input or a bad disk with one line, not a traceback.

    Args:
        snakemake: the object that Snakemake hands to the script.
    """
    file = Path(snakemake.log[0])
    file.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=file, filemode="w", level=logging.INFO, format="%(asctime)s %(message)s"
    )
    log = logging.getLogger(snakemake.rule)
    logging.captureWarnings(True)
    try:
        yield log
    except (InputError, AccuracyError, DamagedError, UnwritableError) as error:
        log.error("%s", error)
        print(f"\nrule {snakemake.rule}: {error}\n", file=sys.stderr, flush=True)
        sys.exit(1)
    except Exception:
        log.exception("unexpected error")
        raise
