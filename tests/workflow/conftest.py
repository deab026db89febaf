"""Workflow scripts are imported by name, as Snakemake does."""

import os
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from tests.workflow import small

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))


@pytest.fixture(scope="session")
def done(tmp_path_factory):
    """A small house after its first run. Shared by all workers: copy it before changing a thing."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "small"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            made = small.house(tmp_path_factory.mktemp("making"), small.ATTACKS)
            small.snakemake(made, *small.TARGETS)
            made.rename(folder)
    return folder


@pytest.fixture
def copy(done, tmp_path):
    """A copy of it, to change."""
    return small.duplicate(done, tmp_path / "house")
