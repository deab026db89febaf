"""A house of its own with a tiny dataset, bank and pools that are brought in files.

The texts are made up, the encoder is the real one, and nothing is generated, so a whole run takes
seconds and everything in it can be made again byte by byte.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml

ROOT = Path(__file__).resolve().parents[2]
# What a run needs of the repository; copied, so that a test may edit it.
HOUSE = ("Snakefile", "workflow", "pe_core", "profiles", "envs")
COHORTS = {"canary": 1, "auxiliary": 8, "calibration": 8, "test": 12}
RECORDS, BANK, PROBES, POOL = 8, 24, 4, 8
# One of each kind of input: none, records, a brought pool, and a made one with the background.
ATTACKS = ("ordinary", "exact", "paraphrase", "nonce-mu_eff")
TARGETS = tuple(f"results/tables/{name}.csv" for name in ("table2", "table4", "canaries"))

_SUBJECTS = [
    "The baker",
    "A tired nurse",
    "My neighbour",
    "Our captain",
    "Some child",
    "The old clerk",
]
_VERBS = ["paints", "carries", "forgets", "admires", "repairs", "follows", "hides", "counts"]
_OBJECTS = ["a wooden boat", "the green lamp", "nine letters", "a broken clock", "the river map"]
_ENDS = [
    "before breakfast",
    "in the rain",
    "near the harbour",
    "without a word",
    "on quiet Sundays",
]


def sentences(count: int, seed: int) -> list[str]:
    """Return distinct sentences in an order of their own."""
    parts = (_SUBJECTS, _VERBS, _OBJECTS, _ENDS)
    shape = tuple(map(len, parts))
    drawn = np.random.default_rng(seed).permutation(int(np.prod(shape)))[:count]
    chosen = np.unravel_index(drawn, shape)
    return [
        " ".join(part[i] for part, i in zip(parts, each, strict=True)) + "."
        for each in zip(*chosen, strict=True)
    ]


def configuration(attacks: Sequence[str]) -> dict[str, Any]:
    """Return the configuration of the small run."""
    return {
        "seed": 7,
        "datasets": [
            {
                "name": "small",
                "loader": "table",
                "options": {"path": "data/texts.csv", "columns": {"user": "who", "text": "said"}},
                "cohorts": dict(COHORTS),
            }
        ],
        "encoders": [{"name": "all-MiniLM-L6-v2"}],
        "generator": {
            "source": "file",
            "banks": {"A": "data/bank.csv"},
            "pools": "data/pool.csv",
        },
        "banks": ["A"],
        "bank": {"size": BANK, "probes": PROBES},
        "pool": {"size": POOL},
        "canaries": {"count": 1, "records": RECORDS},
        "attacks": list(attacks),
        "evaluation": {"trials": 20000},
    }


def house(folder: Path, attacks: Sequence[str]) -> Path:
    """Make a folder to run in: the code, the configuration, and the files that it names."""
    for name in HOUSE:
        source = ROOT / name
        if source.is_dir():
            # Compiled kernels come along; they are good as long as the times of files are kept.
            shutil.copytree(source, folder / name, symlinks=True)
        else:
            shutil.copy2(source, folder / name)
    (folder / "config").mkdir()
    set_config(folder, configuration(attacks))
    data = folder / "data"
    data.mkdir()
    users = sum(COHORTS.values()) + 1
    said = sentences(users * RECORDS, 1)
    who = np.repeat([f"user {n}" for n in range(users)], RECORDS)
    pl.DataFrame({"who": who, "said": said}).write_csv(data / "texts.csv")
    pl.DataFrame({"text": sentences(BANK, 2)}).write_csv(data / "bank.csv")
    pl.DataFrame(
        {
            "canary": [0] * POOL,
            "source": [n % RECORDS for n in range(POOL)],
            "text": [f"In other words: {text}" for text in sentences(POOL, 3)],
        }
    ).write_csv(data / "pool.csv")
    return folder


def duplicate(folder: Path, target: Path) -> Path:
    """Copy a house with all that it has made, times of files included."""
    return shutil.copytree(folder, target, symlinks=True)


def forget(folder: Path) -> Path:
    """Remove everything that is made of the texts and embeddings."""
    shutil.rmtree(folder / "results/tables", ignore_errors=True)
    shutil.rmtree(folder / "results/small/A", ignore_errors=True)
    (folder / "results/accounting.json").unlink(missing_ok=True)
    return folder


def get_config(folder: Path) -> dict[str, Any]:
    """Read the configuration of a house."""
    return yaml.safe_load((folder / "config" / "config.yaml").read_text())


def set_config(folder: Path, config: dict[str, Any]) -> None:
    """Write the configuration of a house."""
    (folder / "config" / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def command(*arguments: str, cores: int | None = 2) -> list[str]:
    """Return the command line of a run on this machine, or elsewhere where cores is None."""
    local = [] if cores is None else ["--cores", str(cores)]
    return [sys.executable, "-m", "snakemake", *local, *arguments]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a run: the house's own code, and no network."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SNAKEMAKE")}
    path = f"{Path(sys.executable).parent}:{kept.get('PATH', '/usr/bin:/bin')}"
    return {**kept, "PATH": path, "PYTHONPATH": str(folder), "HF_HUB_OFFLINE": "1"}


def snakemake(folder: Path, *arguments: str, cores: int | None = 2, passes: bool = True) -> str:
    """Run Snakemake in a house and return everything it printed.

    Raises:
        AssertionError: it passed or failed against what `passes` says.
    """
    ended = subprocess.run(
        command(*arguments, cores=cores),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,
    )
    assert (ended.returncode == 0) is passes, ended.stdout
    return ended.stdout


_JOB = re.compile(r"^(?:local)?(?:rule|checkpoint) (\w+):\n((?:    .*\n)*)", re.MULTILINE)


def planned(folder: Path, *targets: str) -> set[tuple[str, str]]:
    """Return the jobs that a run would do, of all tables by default: rule and first output."""
    jobs = _JOB.findall(snakemake(folder, "-n", *(targets or TARGETS)))
    outputs = (re.search(r"^    output: ([^,\n]*)", body, re.MULTILINE) for _, body in jobs)
    return {
        (rule, output.group(1) if output else "")
        for (rule, _), output in zip(jobs, outputs, strict=True)
    }


def tables(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every table."""
    return {path.name: path.read_bytes() for path in (folder / "results/tables").glob("*.csv")}
