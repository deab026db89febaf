"""Say what made a table: the configuration, the seed, the code, the packages and the inputs.

Written beside it as {table}.provenance.json, so that the table itself stays the same for the same
numbers.
"""

import hashlib
import json
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import versions
from artifacts import save_json, seal_of

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "workflow" / "scripts"
# What the numbers go through.
PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "polars",
    "torch",
    "sentence-transformers",
    "transformers",
    "xllamacpp",
    "dp-accounting",
    "opacus",
    "snakemake",
)


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def digest(path: Path) -> str:
    """Return the SHA-256 of a file: from the checksum beside it where it has one."""
    seal = seal_of(path)
    if seal.exists():
        return seal.read_text().strip()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def environment() -> dict[str, Any]:
    """Return what a job runs in: Python, the kind of machine, the lock's digest, the packages."""
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "lock": digest(ROOT / "envs" / "lock.txt"),
        "packages": {name: _installed(name) for name in PACKAGES},
    }


def settings_digest(config: dict[str, Any]) -> str:
    """Return the digest of a configuration with its defaults, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def beside(table: Path) -> Path:
    """Return where the provenance of a table is."""
    return table.with_name(f"{table.stem}.provenance.json")


def save(job: Any, table: Path) -> None:
    """Write the provenance of a finished table beside it, and warn where versions of packages mix.

    Args:
        job: the object that Snakemake hands to the script.
        table: what the script wrote.
    """
    made_with = versions.met(map(str, job.input))
    versions.report_mix(job.rule, made_with)
    save_json(
        beside(table),
        {
            "table": table.name,
            "sha256": digest(table),
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "rule": job.rule,
            "seed": job.config["seed"],
            "config": settings_digest(job.config),
            "code": {
                "script": digest(SCRIPTS / f"{job.rule}.py"),
                "modules": job.params.code,
            },
            "environment": environment(),
            "versions": made_with,
            "inputs": {str(path): digest(path) for path in sorted(map(Path, job.input))},
        },
    )
