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
KILLS = 6


def forget(folder):
    """Remove everything that is made of the texts and embeddings."""
    shutil.rmtree(folder / "results/tables", ignore_errors=True)
    shutil.rmtree(folder / "results/small/A", ignore_errors=True)
    (folder / "results/accounting.json").unlink(missing_ok=True)
    return folder


@pytest.fixture
def unmade(copy):
    return forget(copy)


def started(folder):
    """Start a run in a process group of its own."""
    with (folder / "output").open("w") as output:
        return subprocess.Popen(
            small.command(*small.TARGETS),
            cwd=folder,
            env=small.environment(folder),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def jobs_of(folder):
    """Return the ids of the processes that run a script in this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text().split("\0")
        except OSError:  # it has ended
            continue
        # The interpreter itself: its shell has the path inside a longer word.
        if any(word.startswith(f"{folder}/.snakemake/scripts/") for word in words):
            found.append(int(process.name))
    return found


def kill_a_job(folder, process, moment):
    """Kill one running job at a random moment of its life; the run goes on to its end."""
    while process.poll() is None:
        victims = jobs_of(folder)
        if victims:
            time.sleep(moment)
            with contextlib.suppress(ProcessLookupError):
                os.kill(random.Random(moment).choice(victims), signal.SIGKILL)
            break
        time.sleep(0.02)
    process.wait()


def kill_all(process, moment):
    """Kill the run and its jobs at once, as a power cut does."""
    time.sleep(moment)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def assert_whole(folder):
    """Every artifact that is there fits its checksum, and no other file is."""
    for path in (folder / "results").rglob("*"):
        if path.is_file() and "cache" not in path.parts and not path.name.startswith("."):
            if path.suffix == ".sha256":
                continue
            seal = path.with_name(path.name + ".sha256").read_text().strip()
            assert seal == hashlib.sha256(path.read_bytes()).hexdigest(), path


def test_kills_at_random_moments(done, unmade):
    drawn = random.Random(8)
    for turn in range(KILLS):
        process = started(unmade)
        if turn % 2:
            kill_a_job(unmade, process, drawn.uniform(0.0, 1.5))
        else:
            kill_all(process, drawn.uniform(0.5, 8.0))
            small.snakemake(unmade, "--unlock")
        assert_whole(unmade)
        if (unmade / "results/tables/canaries.csv").exists():
            forget(unmade)
    small.snakemake(unmade, *small.TARGETS)
    assert small.tables(unmade) == small.tables(done)


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


def test_one_core_and_two_make_the_same_bytes(done, unmade):
    small.snakemake(unmade, *small.TARGETS, cores=1)
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


def test_a_full_disk_is_one_clear_error(done, unmade, mounted):
    place = unmade / "results/small/A"
    mounted(place, "size=8k")
    said = small.snakemake(unmade, *small.TARGETS, passes=False)
    assert "No space left on device" in said
    assert "routes.npz" in said
    assert not (unmade / f"{CELLS}/routes.npz").exists()
    subprocess.run(["mount", "-o", "remount,size=64m", place], check=True)
    small.snakemake(unmade, *small.TARGETS)
    assert small.tables(unmade) == small.tables(done)


def test_a_read_only_folder_is_one_clear_error(unmade, mounted):
    place = unmade / "results/tables"
    mounted(place, "ro")
    said = small.snakemake(unmade, *small.TARGETS, passes=False)
    assert "Read-only file system" in said
    assert "results/tables" in said
