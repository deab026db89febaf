"""Which jobs the figure of several rounds needs, and what each of them may read."""

import re
import shutil
from pathlib import Path

import pytest

from tests.workflow import small

TARGET = "results/figures/figure2.svg"
PLANNED = re.compile(
    r"^(?:local)?rule (\w+):\n(?:    input: (.*)\n)?    output: (.*)$", re.MULTILINE
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A folder to plan in, and the jobs of the figure from nothing."""
    folder = small.house(tmp_path_factory.mktemp("tree"), small.ATTACKS)
    shutil.copytree(small.ROOT / "config", folder / "config", dirs_exist_ok=True)
    return folder, planned(folder, TARGET)


def planned(folder, target):
    return [
        (rule, inputs.split(", "), outputs.split(", "))
        for rule, inputs, outputs in PLANNED.findall(small.snakemake(folder, "-n", target))
    ]


def test_rounds_are_not_part_of_the_default_target(tree):
    assert not [rule for rule, _, _ in planned(tree[0], "all") if rule.startswith("evol")]


def test_the_job_that_speaks_to_the_generator_reads_public_files_only(tree):
    _, jobs = tree
    rounds = [inputs for rule, inputs, _ in jobs if rule == "evolve_round"]
    assert len(rounds) == 18
    names = {Path(path).name for inputs in rounds for path in inputs}
    assert names == {"bank.parquet", "bank.npy", "release.npz", "public.parquet"}
    assert len([rule for rule, _, _ in jobs if rule == "evolve_release"]) == 18


def test_what_is_done_is_not_planned_again(tree):
    """All files of rounds 1 to 3 are there, as after a kill in round 4."""
    folder, jobs = tree
    done = [path for _, _, outputs in jobs for path in outputs]
    for path in map(folder.joinpath, done):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    small.snakemake(folder, "--touch", TARGET)
    for path in done:
        if re.search(r"round-[456]/|transcript-0/[^/]+/[^/]+$|/tables/|/figures/", path):
            (folder / path).unlink()
    again = planned(folder, TARGET)
    made = {path for rule, _, outputs in again for path in outputs if "evol" in rule}
    rounds = {int(n) for path in made for n in re.findall(r"round-(\d)", path)}
    assert rounds == {4, 5, 6}
    rules = {rule for rule, _, _ in again}
    assert not rules & {"records", "bank", "embed", "nonces", "evolve_start", "evolve_probes"}
