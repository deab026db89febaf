"""What `pip install .` brings: pe_core with its types, and nothing of the workflow."""

import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CONSUMER = """
from pe_core import Mechanism
from pe_core.bounds import epsilon_lower

mechanism = Mechanism(1000, 0.1, 1.0, 0.1, 1e-5)
fine: float = epsilon_lower(480, 1_000_000, 128, 1_000_000, mechanism.delta, 0.0025)
wrong: str = epsilon_lower(480, 1_000_000, 128, 1_000_000, mechanism.delta, 0.0025)
Mechanism("many", 0.1, 1.0, 0.1, 1e-5)
"""


def test_the_package_says_that_it_has_types():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["pe_core"]
    assert "Typing :: Typed" in project["project"]["classifiers"]
    assert (ROOT / "pe_core" / "py.typed").is_file()


@pytest.mark.slow
def test_the_wheel_brings_types_to_whoever_installs_it(tmp_path):
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    built = ["wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run([*pip, *built], check=True)
    (wheel,) = tmp_path.glob("pe_audit-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "pe_core/py.typed" in names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"pe_core"}
    assert any(name.endswith("licenses/LICENSE") for name in names)

    elsewhere = tmp_path / "venv"
    venv.create(elsewhere)
    (site,) = elsewhere.glob("lib/python*/site-packages")
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--target", site, wheel], check=True)
    (tmp_path / "consumer.py").write_text(CONSUMER)
    mypy = [sys.executable, "-m", "mypy", "--python-executable", elsewhere / "bin" / "python"]
    done = subprocess.run(
        [*mypy, "--config-file", "", "--ignore-missing-imports", "consumer.py"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    found = done.stdout.splitlines()
    assert [line.split(":")[1] for line in found if ": error:" in line] == ["7", "8"], done.stdout
