"""The locks, the package's own requirements, the conda file and the installer agree."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ["lock.txt", "torch.txt", "torch-cpu.txt", "encoders.txt", "object_store.txt"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(name):
    """Return the requirements of a lock and how many hashes each has."""
    pins = []
    for block in re.split(r"\n(?=[^\s#])", (ROOT / "envs" / name).read_text()):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines:
            pins.append((Requirement(lines[0].rstrip(" \\")), block.count("--hash=sha256:")))
    return pins


@pytest.mark.parametrize("name", LOCKS)
def test_every_line_is_one_version_with_hashes(name):
    pins = read(name)
    assert pins
    for requirement, hashes in pins:
        assert [s.operator for s in requirement.specifier] == ["=="], str(requirement)
        assert hashes >= 1, str(requirement)


def test_what_the_package_asks_for_is_locked():
    locked = {}
    for name in LOCKS:
        for requirement, _ in read(name):
            version = next(iter(requirement.specifier)).version
            locked.setdefault(canonicalize_name(requirement.name), set()).add(version)
    extras = PROJECT["optional-dependencies"].values()
    for text in [*PROJECT["dependencies"], *(item for extra in extras for item in extra)]:
        wanted = Requirement(text)
        versions = locked.get(canonicalize_name(wanted.name), set())
        assert versions, f"{text}: in no lock; run python envs/renew.py"
        assert all(v in wanted.specifier for v in versions), f"{text}: locked {versions}"


def test_no_package_has_two_versions_at_once():
    # torch's two builds are alternatives; markers split the rest.
    everywhere = [pin for name in LOCKS if name != "torch-cpu.txt" for pin, _ in read(name)]
    always = [canonicalize_name(pin.name) for pin in everywhere if pin.marker is None]
    assert sorted(set(always)) == sorted(always)


def test_conda_installs_the_same_locks():
    conda = yaml.safe_load((ROOT / "envs/environment.yaml").read_text())
    lines = next(item["pip"] for item in conda["dependencies"] if isinstance(item, dict))
    assert [line.split()[1] for line in lines if line.startswith("-r")] == ["lock.txt", "torch.txt"]
    assert {"--no-deps", "--require-hashes"} <= set(lines)
