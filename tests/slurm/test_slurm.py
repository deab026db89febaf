"""The real plugin on a real SLURM: a job that fails once, one that is cancelled, and the tables of
a run on this machine."""

import shutil
import subprocess
import time

import pytest

from tests.workflow import small

pytestmark = pytest.mark.slurm

TARGET = "results/tables/table2.csv"
PROFILE = [
    *("--workflow-profile", "profiles/slurm"),
    # There is no accounting to ask.
    *("--slurm-status-command", "squeue"),
    *("--slurm-init-seconds-before-status-checks", "1"),
    *("--seconds-between-status-checks", "1"),
    *("--latency-wait", "20"),
    *("--retries", "1"),
    *("--max-threads", "1"),
    # Audits are cancelled by name, which tasks of an array do not have.
    *("--slurm-array-jobs", "probes"),
]
FAILS_ONCE = """
import pathlib
import sys

tried = pathlib.Path("tried")
if not tried.exists():
    tried.touch()
    sys.exit("the first try of this job fails")
"""
WAITS = """
import pathlib
import time

while snakemake.wildcards.attack == "exact" and pathlib.Path("hold").exists():
    time.sleep(0.2)
"""


def answer(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def cluster():
    if shutil.which("sinfo") is None:
        pytest.skip("SLURM is not installed; `tests/slurm/cluster.sh start` installs and starts it")
    subprocess.run(["sinfo", "-h"], check=True, timeout=30)


@pytest.fixture(scope="module")
def local(tmp_path_factory, cluster):
    """A small house with its table, made on this machine."""
    folder = small.house(tmp_path_factory.mktemp("local"), ["ordinary", "exact"])
    small.snakemake(folder, TARGET)
    return folder


@pytest.fixture
def house(local, tmp_path):
    """A copy of it, with the texts and embeddings and nothing that is made of them."""
    folder = tmp_path / "house"
    shutil.copytree(local, folder, symlinks=True)
    results = folder / "results"
    shutil.rmtree(results / "tables")
    shutil.rmtree(results / "small" / "A")
    (results / "accounting.json").unlink()
    return folder


def running(comment):
    """Return the ids of running jobs that snakemake calls so."""
    jobs = (
        line.split(maxsplit=1)
        for line in answer("squeue", "-h", "-t", "R", "-o", "%i %k").splitlines()
    )
    return [number for number, name in jobs if all(part in name for part in comment)]


def cancel_when_it_runs(comment, process, seen):
    """Cancel the next running job of this name."""
    while True:
        assert process.poll() is None, "the run ended before the job was seen"
        for number in running(comment):
            if number not in seen:
                subprocess.run(["scancel", number], check=True)
                seen.add(number)
                return
        time.sleep(0.2)


def prepend(folder, script, text):
    path = folder / "workflow" / "scripts" / script
    path.write_text(text + path.read_text())


def test_a_cluster_without_accounting_is_refused_before_a_job_is_waited_for(cluster, tmp_path):
    folder = small.house(tmp_path, ["ordinary"])
    target = "results/accounting.json"
    profile = ("--workflow-profile", "profiles/slurm")
    said = small.snakemake(folder, *profile, target, cores=None, passes=False)
    assert "no accounting on this cluster; add --slurm-status-command squeue" in said
    assert not (folder / target).exists()
    # Nothing is left locked.
    small.snakemake(folder, target)


def test_a_failed_job_is_retried_and_a_cancelled_one_resumed(local, house):
    prepend(house, "route.py", FAILS_ONCE)
    prepend(house, "audit.py", WAITS)
    hold = house / "hold"
    hold.touch()
    jobs = small.planned(house, TARGET)
    assert sorted(rule for rule, _ in jobs) == sorted(
        ["account", "route", "probes", "probes", "audit", "audit", "table"]
    )
    with (house / "output").open("w+") as output:
        process = subprocess.Popen(
            small.command(*PROFILE, TARGET, cores=None),
            cwd=house,
            env=small.environment(house),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            cancelled = set()
            # Its second try as well, so that the run ends without it.
            for _ in range(2):
                cancel_when_it_runs(["audit", "exact"], process, cancelled)
            assert process.wait(timeout=400) != 0
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        output.seek(0)
        said = output.read()
    assert (house / "tried").exists()
    assert (house / "results/small/A/all-MiniLM-L6-v2/routes.npz").exists()
    assert "Trying to restart job" in said
    assert "Submitted array job" in said
    assert not (house / TARGET).exists()

    hold.unlink()
    left = small.planned(house, TARGET)
    assert sorted(rule for rule, _ in left) == ["audit", "table"]
    small.snakemake(house, *PROFILE, TARGET, cores=None)
    assert small.tables(house) == small.tables(local)
    assert small.planned(house, TARGET) == set()
