"""What the pages tell people to type works, and what they point at is there.

Programs in fenced blocks of Python run. Of commands, `make` must have the target, Python the
script, and Snakemake must be able to plan what is asked of it; what belongs to a cluster or to a
shell is only checked for the files of ours that it names.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.workflow import small

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
PROGRAMS = ("make", "python", "snakemake", "envs/install.sh")
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(rf"`((?:{'|'.join(PROGRAMS)}) [^`]+)`")
LINKED = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
# Of another machine or an account: nothing to plan here.
ELSEWHERE = {"--default-storage-provider", "--executor", "--unlock"}
# Options of Snakemake that take words, as the pages use them.
WORDS = {
    "--cores",
    "--configfile",
    "--config",
    "--quiet",
    "--workflow-profile",
    "--default-resources",
}
# Targets of rules that only some configurations have; their page says which.
SOMETIMES = {"results/tables/streamed.csv"}
PLACEHOLDER = re.compile(r"<[^>]+>|\[[^\]]+\]|…")


class Command(NamedTuple):
    """A command line of a page."""

    page: str
    words: tuple[str, ...]


def lines(text: str) -> Iterator[str]:
    """Yield what a page says to type: in fenced and in indented blocks, and between backticks."""
    for kind, block in FENCED.findall(text):
        if kind in ("sh", "bash"):
            yield from block.replace("\\\n", " ").splitlines()
    rest = FENCED.sub("", text)
    for line in rest.splitlines():
        if line.startswith("    ") and line.split()[:1] and line.split()[0] in PROGRAMS:
            yield line
    yield from INLINE.findall(rest)


def commands() -> Iterator[Command]:
    """Yield every simple command of every page; pipes and lists are taken apart."""
    for page in PAGES:
        for line in lines(page.read_text()):
            for part in re.split(r"\s\|\s|&&", PLACEHOLDER.sub("", line)):
                words = tuple(shlex.split(part, comments=True))
                if words:
                    yield Command(page.name, words)


COMMANDS = list(dict.fromkeys(commands()))


class Plan(NamedTuple):
    """What Snakemake is asked for: its options, and the targets."""

    options: tuple[str, ...]
    targets: tuple[str, ...]


def plan(words: tuple[str, ...]) -> Plan:
    """Split a Snakemake command; options without words are left out, the plan is what counts."""
    options: list[str] = []
    targets: list[str] = []
    taking = False
    for word in words[1:]:
        if word.startswith("-"):
            taking = word in WORDS
            if taking:
                options.append(word)
        elif taking:
            options.append(word)
            # Of these, only resources take more than one.
            taking = options[-2] == "--default-resources" or "=" in word
        else:
            targets.append(word)
    return Plan(tuple(options), tuple(targets))


def test_commands_are_found():
    assert len(COMMANDS) > 20
    assert {command.page for command in COMMANDS} >= {"README.md", "tutorial.md", "cluster.md"}
    asked = plan(("snakemake", "--cores", "all", "--configfile", "c.yaml", "--", "a.csv", "b.svg"))
    assert asked == Plan(("--cores", "all", "--configfile", "c.yaml"), ("a.csv", "b.svg"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in LINKED.findall(page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_page_is_in_the_index():
    index = (ROOT / "README.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert f"docs/{page.name}" in index, page.name


def test_make_has_the_targets_and_python_the_scripts():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    found = set()
    for page, words in COMMANDS:
        if words[0] == "make":
            found.update(words[1:])
            assert set(words[1:]) <= targets, (page, words)
        if words[0] == "python":
            assert (ROOT / words[1]).is_file(), (page, words)
        if words[0].startswith("envs/"):
            assert (ROOT / words[0]).is_file(), (page, words)
    assert {"audit", "test", "report"} <= found


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """The workflow with its own configurations, and a file wherever one wants users' texts."""
    folder = tmp_path_factory.mktemp("docs")
    for name in (*small.HOUSE, "config"):
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, folder / name)
    for path in (folder / "config").glob("*.yaml"):
        for named in re.findall(r"[\w/{}.-]+\.(?:csv|json|jsonl|parquet)\b", path.read_text()):
            config = yaml.safe_load(path.read_text())
            for dataset in config.get("datasets", [{"name": ""}]):
                file = folder / named.format(dataset=dataset["name"])
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("a stand-in\n")
    return folder


def plans() -> dict[tuple[str, ...], set[str]]:
    """Gather the targets of all commands with the same options: one plan answers for all."""
    found: dict[tuple[str, ...], set[str]] = {}
    for _, words in COMMANDS:
        if words[0] == "snakemake" and not ELSEWHERE & set(words):
            options, targets = plan(words)
            if not SOMETIMES & set(targets):
                found.setdefault(options, set()).update(targets or {"all"})
    return found


@pytest.mark.parametrize("options", plans(), ids=lambda options: " ".join(options) or "default")
def test_snakemake_can_plan_what_is_asked_for(options, house):
    targets = plans()[options]
    cores = None if {"--cores", "--workflow-profile"} & set(options) else 1
    said = small.snakemake(house, "-n", *options, "--quiet", "rules", "--", *targets, cores=cores)
    assert "total" in said


def test_what_only_some_configurations_make_has_a_rule():
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    assert all(f'"{target}"' in rules for target in SOMETIMES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_programs_run(page, tmp_path):
    for kind, block in FENCED.findall(page.read_text()):
        if kind == "python":
            command = [sys.executable, "-W", "error", "-c", block]
            environment = small.environment(ROOT)
            done = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
            assert float(done.stdout) > 0.0
