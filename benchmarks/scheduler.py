"""What Snakemake itself costs on the paper's grid, every job's work left out.

    python benchmarks/scheduler.py [--jobs 5000] [--folder DIR]

A copy of the repository gets config/paper.yaml with as many canaries as make that many jobs:
every cell's probes, audit and sweep, and all that is made of them. It plans them, runs them with
outputs that are merely touched, plans again with nothing to do, and prints seconds of CPU and of
the clock for each.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from measure import table

ROOT = Path(__file__).resolve().parents[1]
GRID = """
include: "Snakefile"


rule grid:
    input:
        cells(f"{CELL}/audit.json"),
        cells(f"{CELL}/sweep.json"),
        rules.all.input,
"""
# Jobs of a cell: probes, audit, sweep; cells of a canary: datasets × banks × encoders × attacks.
JOBS_OF_A_CANARY = 3 * 2 * 2 * 3 * 8


def prepare(folder: Path, jobs: int) -> None:
    """Copy what planning reads, and write the grid and its configuration."""
    for name in ("Snakefile", "workflow", "pe_core", "profiles", "envs", "config"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, folder / name)
    (folder / "grid.smk").write_text(GRID)
    config = yaml.safe_load((folder / "config/paper.yaml").read_text())
    config["canaries"]["count"] = -(-jobs // JOBS_OF_A_CANARY)
    (folder / "config/config.yaml").write_text(yaml.safe_dump(config))
    for dataset in config["datasets"]:
        path = folder / dataset["options"]["path"]
        path.parent.mkdir(exist_ok=True)
        path.touch()


def snakemake(folder: Path, *arguments: str) -> tuple[float, float, str]:
    """Run it in a process of its own; return seconds of CPU and of the clock, and what it said."""
    command = [sys.executable, __file__, "--inside", *arguments, "-s", "grid.smk", "grid"]
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stdout[-4000:])
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, clock, done.stdout


def inside(arguments: list[str]) -> None:
    """Be snakemake, but let the work of a job be that its outputs are there."""
    from snakemake.cli import main
    from snakemake.executors import local

    def touch(rule: object, read: object, outputs: list[str], *rest: object) -> None:
        for output in map(Path, outputs):
            output.parent.mkdir(parents=True, exist_ok=True)
            output.touch()

    local.run_wrapper = touch
    sys.argv = ["snakemake", "--cores", "2", *arguments]
    main()


def main() -> None:
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--folder", type=Path, help="where to work; kept")
    asked = parser.parse_args()
    folder = asked.folder or Path(tempfile.mkdtemp())
    prepare(folder, asked.jobs)
    rows: list[list[object]] = []
    start = snakemake(folder, "--version")
    planned = snakemake(folder, "-n", "--quiet", "rules")
    total = re.search(r"^total +(\d+)$", planned[2], re.MULTILINE)
    assert total is not None, planned[2]
    jobs = int(total[1])
    everything = snakemake(folder, "--quiet", "all")
    again = snakemake(folder, "-n", "--quiet", "rules")
    assert "Nothing to be done" in again[2], again[2]
    for name, (cpu, clock, _) in {
        "start of snakemake": start,
        "plan": planned,
        "plan with nothing to do": again,
        "plan and run, jobs empty": everything,
    }.items():
        rows.append([name, cpu, clock, 1000 * (cpu - start[0]) / jobs])
    print(table(f"{jobs:,} jobs", ["", "CPU s", "clock s", "CPU ms a job"], rows))
    if not asked.folder:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
