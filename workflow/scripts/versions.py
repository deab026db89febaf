"""Which versions of packages a result went through, and whether several meet in one table.

A job is not run again because a package changed: its numbers are as right as they were. So every
result says what made it, and a table of results with different versions says so.
"""

import json
import logging
import platform
import sys
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "numba", "polars")


def installed(*more: str) -> dict[str, str]:
    """Return the versions of Python, of the packages that numbers go through, and of more."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in (*PACKAGES, *more)},
    }


def met(paths: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return, by package, how many of some results each version made.

    Args:
        paths: of files of any kind; results that say nothing of versions are not counted.
    """
    found: dict[str, Counter[str]] = {}
    for path in paths:
        if not path.endswith(".json"):
            continue
        result = json.loads(Path(path).read_text(encoding="utf-8"))
        for package, used in result.get("versions", {}).items():
            found.setdefault(package, Counter())[used] += 1
    return {package: dict(sorted(counts.items())) for package, counts in sorted(found.items())}


def report_mix(rule: str, versions: dict[str, dict[str, int]]) -> None:
    """Warn, in the log and on the terminal, where a package is there in several versions."""
    for package, counts in versions.items():
        if len(counts) > 1:
            parts = ", ".join(f"{used} made {count}" for used, count in counts.items())
            words = (
                f"results of several versions of {package} meet: {parts}; the option -R of "
                "snakemake makes results again"
            )
            logging.getLogger(rule).warning("%s", words)
            print(f"\nrule {rule}: {words}\n", file=sys.stderr, flush=True)
