from pathlib import Path

import pytest

import modules


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small copy of the house: a script, its helper, two modules and a package."""
    scripts = tmp_path / "workflow" / "scripts"
    core = tmp_path / "pe_core"
    scripts.mkdir(parents=True)
    (core / "kernels").mkdir(parents=True)
    (scripts / "go.py").write_text("import numpy\nfrom shared import x\nfrom pe_core import a\n")
    (scripts / "shared.py").write_text("x = 1\n")
    (core / "__init__.py").write_text("")
    (core / "a.py").write_text("from pe_core.kernels.k import run\n")
    (core / "b.py").write_text("y = 1\n")
    (core / "kernels" / "__init__.py").write_text("")
    (core / "kernels" / "k.py").write_text("def run():\n    return 1\n")
    monkeypatch.setattr(modules, "ROOT", tmp_path)
    monkeypatch.setattr(modules, "SCRIPTS", scripts)

    def forget():
        for name in ("parsed", "compiled_away", "imports", "closure", "digest"):
            getattr(modules, name).cache_clear()

    def digest():
        forget()
        return modules.digest("go")

    yield tmp_path, digest
    forget()


@pytest.mark.parametrize(
    "file", ["pe_core/kernels/k.py", "pe_core/a.py", "workflow/scripts/shared.py"]
)
def test_editing_what_a_script_uses_changes_its_digest(tree, file):
    root, digest = tree
    before = digest()
    path = root / file
    path.write_text(path.read_text() + "\nz = 2\n")
    assert digest() != before


def test_editing_anything_else_does_not(tree):
    root, digest = tree
    before = digest()
    (root / "pe_core/b.py").write_text("y = 2\n")
    kernel = root / "pe_core/kernels/k.py"
    kernel.write_text("# a remark\n" + kernel.read_text())
    assert digest() == before


def test_the_closure_of_a_real_script_is_found():
    files = {path.name for path in modules.closure(modules.SCRIPTS / "probes.py")}
    assert {"artifacts.py", "job.py", "population.py", "routing.py", "contribution.py"} <= files
    assert Path("pe_core/seeds.py").name in files
