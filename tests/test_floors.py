"""Data flows one way: no module imports from the floor above it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = {path.stem for path in (ROOT / "workflow/scripts").glob("*.py")}


def floor(name):
    """Return the floor of a module: kernels, pe_core, pe_core.text, workflow."""
    if name.startswith("pe_core.kernels"):
        return 0
    if name.startswith("pe_core.text"):
        return 2
    if name == "pe_core" or name.startswith("pe_core."):
        return 1
    return 3 if name.split(".")[0] in {"workflow", "snakemake", *SCRIPTS} else None


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides which floor it reaches"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


FILES = sorted((ROOT / "pe_core").rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_import_runs_up(path):
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    own = floor(name)
    for other in imported(path):
        reached = floor(other)
        if own == 0:
            # Kernels import nothing of ours but one another.
            assert reached in (None, 0), f"{name} imports {other}"
        else:
            assert reached is None or reached <= own, f"{name} imports {other}"


def test_the_rule_bites(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from pe_core.text import encoders\nimport pe_core.routing\n")
    assert [floor(name) for name in imported(wrong)] == [2, 2, 1]
    assert floor("artifacts") == 3
