"""Kills, damage, full and read-only disks: what is left is whole, and the next run makes the rest.

Texts and embeddings are stored and stay; everything after them is made again byte by byte.
"""

import contextlib
import hashlib
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.workflow import small

pytestmark = pytest.mark.slow

CELLS = "results/small/A/all-MiniLM-L6-v2"
# A hundred, spread over the rules that start from stored texts and embeddings.
KILLS = {"account": 17, "route": 17, "probes": 17, "audit": 17, "table": 16, "canaries": 16}
POWER_CUTS = 3


@pytest.fixture
def unmade(copy):
    return small.forget(copy)


def started(folder, *arguments):
    """Start a run in a process group of its own."""
    with (folder / "output").open("w") as output:
        return subprocess.Popen(
            small.command(*arguments, *small.TARGETS),
            cwd=folder,
            env=small.environment(folder),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def jobs_of(folder):
    """Return the processes that run a script in this folder, and their rules."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text().split("\0")
        except OSError:  # it has ended
            continue
        # The interpreter itself: its shell has the path inside a longer word.
        for word in words:
            if word.startswith(f"{folder}/.snakemake/scripts/"):
                found[int(process.name)] = word.split(".")[-2]
    return found


def kill_jobs(folder, process, left, life, drawn):
    """Kill jobs at random moments of their lives, while the run starts them again and again.

    Args:
        left: kills to do, by rule; counted down.
        life: the longest life of a job seen so far, by rule (s); jobs are killed within it.
    """
    born, doom = {}, {}
    while process.poll() is None:
        now, alive = time.monotonic(), jobs_of(folder)
        for job, rule in alive.items():
            if job not in born:
                born[job] = now
                doom[job] = now + drawn.uniform(0.0, life[rule])
            elif life[rule] and left[rule] and now >= doom[job]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(job, signal.SIGKILL)
                    left[rule] -= 1
                # Not twice, while it lies dying.
                doom[job] = float("inf")
            elif not left[rule] or not life[rule]:
                life[rule] = max(life[rule], now - born[job])
        time.sleep(0.02)


def kill_all(process, moment):
    """Kill the run and its jobs at once, as a power cut does."""
    time.sleep(moment)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def assert_whole(folder):
    """Every artifact that is there fits its checksum."""
    for path in (folder / "results").rglob("*"):
        if path.is_file() and "cache" not in path.parts and not path.name.startswith("."):
            if path.suffix == ".sha256":
                continue
            seal = path.with_name(path.name + ".sha256").read_text().strip()
            assert seal == hashlib.sha256(path.read_bytes()).hexdigest(), path


def assert_made_as_if_nothing_had_happened(folder, done):
    assert small.tables(folder) == small.tables(done)
    assert_whole(folder)
    assert [path for path in (folder / "results").rglob(".*") if path.is_file()] == []


def test_a_hundred_kills_at_random_moments(done, unmade):
    drawn = random.Random(8)
    left, life = dict(KILLS), dict.fromkeys(KILLS, 0.0)
    # The first run is left alone, to learn how long jobs live.
    process = started(unmade)
    kill_jobs(unmade, process, dict.fromkeys(KILLS, 0), life, drawn)
    assert process.returncode == 0, (unmade / "output").read_text()
    assert all(life.values()), life
    while any(left.values()):
        process = started(small.forget(unmade), "--retries", str(sum(KILLS.values())))
        kill_jobs(unmade, process, left, life, drawn)
        assert process.returncode == 0, (unmade / "output").read_text()
        assert_made_as_if_nothing_had_happened(unmade, done)


def test_the_next_run_completes_what_a_power_cut_left(done, unmade):
    drawn = random.Random(9)
    for _ in range(POWER_CUTS):
        kill_all(started(unmade), drawn.uniform(2.0, 12.0))
        assert_whole(unmade)
        small.snakemake(unmade, "--unlock")
    small.snakemake(unmade, *small.TARGETS)
    assert_made_as_if_nothing_had_happened(unmade, done)


def truncate(data):
    return data[: len(data) // 2]


def flip(data):
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def empty(data):
    return b""


@pytest.mark.parametrize(
    ("damage", "artifact", "later"),
    [
        (flip, f"{CELLS}/exact/canary-0/audit.json", "results/tables"),
        (truncate, f"{CELLS}/routes.npz", f"{CELLS}/exact"),
        (empty, "results/small/embeddings/all-MiniLM-L6-v2/records.npy", "results/small/A"),
    ],
    ids=["flipped audit", "truncated routes", "empty embeddings"],
)
def test_damage_is_named_and_made_again(done, copy, damage, artifact, later):
    path = copy / artifact
    times = path.stat()
    path.write_bytes(damage(path.read_bytes()))
    # A failing disk does not tell the time of its faults.
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    for folder in {later, "results/tables"}:
        shutil.rmtree(copy / folder)
    said = small.snakemake(copy, *small.TARGETS, passes=False)
    assert f"{artifact}: damaged" in said
    assert not path.exists()
    small.snakemake(copy, *small.TARGETS)
    assert small.tables(copy) == small.tables(done)
    assert_whole(copy)


def test_other_cores_jobs_and_order_make_the_same_bytes(done, unmade, monkeypatch):
    """A worker with three cores, one job at a time, and what usually comes first last."""
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    small.snakemake(unmade, f"{CELLS}/nonce-mu_eff/canary-0/audit.json", cores=1)
    small.snakemake(unmade, *reversed(small.TARGETS), cores=1)
    assert small.tables(unmade) == small.tables(done)
    for path in (done / CELLS).rglob("*.npz"):
        assert (unmade / path.relative_to(done)).read_bytes() == path.read_bytes()


def test_a_second_run_in_the_folder_is_refused(done, unmade):
    first = started(unmade)
    try:
        while not any((unmade / ".snakemake/locks").glob("*")):
            assert first.poll() is None, (unmade / "output").read_text()
            time.sleep(0.05)
        said = small.snakemake(unmade, *small.TARGETS, passes=False)
        assert "Directory cannot be locked" in said
        assert first.wait(timeout=300) == 0
    finally:
        if first.poll() is None:
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
    assert small.tables(unmade) == small.tables(done)


@pytest.fixture
def mounted():
    """Mount a small tmpfs, where this user may."""
    places = []

    def mount(place, options):
        place.mkdir(parents=True)
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, text=True
        )
        if made.returncode:
            pytest.skip(f"file systems cannot be mounted here: {made.stderr.strip()}")
        places.append(place)

    yield mount
    for place in places:
        subprocess.run(["umount", place], check=True)


def assert_one_clear_error(said, words):
    """The rule's own line says what is wrong; no traceback of ours hides it."""
    assert "Traceback" not in said
    lines = {line for line in said.splitlines() if words in line and line.startswith("rule ")}
    assert len(lines) == 1, said


def test_a_full_disk_is_one_clear_error(done, unmade, mounted):
    place = unmade / "results/small/A"
    mounted(place, "size=8k")
    said = small.snakemake(unmade, *small.TARGETS, passes=False)
    assert_one_clear_error(said, f"rule route: {CELLS}/routes.npz: cannot be written: ")
    assert "No space left on device" in said
    assert not (unmade / f"{CELLS}/routes.npz").exists()
    subprocess.run(["mount", "-o", "remount,size=64m", place], check=True)
    small.snakemake(unmade, *small.TARGETS)
    assert_made_as_if_nothing_had_happened(unmade, done)


def test_a_read_only_folder_is_one_clear_error(unmade, mounted):
    shutil.rmtree(unmade / "results")
    mounted(unmade / "results", "ro")
    said = small.snakemake(unmade, *small.TARGETS, passes=False)
    assert "Traceback" not in said
    assert said.count("results: cannot be written; the folder is read-only") == 1
