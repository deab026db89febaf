"""Every public function shows how it is called, in an example that the test run executes.

Public is what a package lists in `__all__`, and what a module of its own has without an underscore.
The examples themselves run as doctests.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parents[1] / "pe_core"
Definition = ast.FunctionDef | ast.ClassDef


def listed(package: Path) -> set[str] | None:
    """Return `__all__` of a package, None where it lists nothing."""
    for node in ast.parse((package / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    return None


def public() -> Iterator[tuple[str, Definition]]:
    """Yield every public function and class, by its dotted name."""
    for path in sorted(CORE.rglob("*.py")):
        if "kernels" in path.parts or path.name == "__init__.py":
            continue
        face = None if path.parent == CORE else listed(path.parent)
        module = ".".join(path.relative_to(CORE.parent).with_suffix("").parts)
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, Definition):
                continue
            if node.name in face if face is not None else not node.name.startswith("_"):
                yield f"{module}.{node.name}", node


def methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """Return what a user calls of a class: neither properties nor a protocol's signatures."""
    if any(getattr(base, "id", "") == "Protocol" for base in node.bases):
        return []
    return [
        part
        for part in node.body
        if isinstance(part, ast.FunctionDef)
        and not part.name.startswith("_")
        and not any(getattr(mark, "id", "") == "property" for mark in part.decorator_list)
    ]


def shown(node: Definition) -> bool:
    """Say whether a docstring has an example; of a class, its own or a method's."""
    parts: list[Definition] = [node]
    if isinstance(node, ast.ClassDef):
        called = methods(node)
        if not called:
            return True
        parts += called
    return any(">>> " in (ast.get_docstring(part) or "") for part in parts)


PUBLIC = dict(public())


def test_the_face_is_found():
    assert {
        "pe_core.routing.top_k",
        "pe_core.accounting.account.epsilon",
        "pe_core.swap.exact.plane_test",
        "pe_core.linear_test.LinearTest",
    } <= set(PUBLIC)
    assert "pe_core.accounting.grid.compose" not in PUBLIC
    assert len(PUBLIC) > 80


@pytest.mark.parametrize("name", PUBLIC)
def test_it_has_an_example(name):
    assert shown(PUBLIC[name])


def test_a_function_without_one_is_seen():
    with_one = ast.parse('def f():\n    """\n    >>> f()\n    """').body[0]
    without = ast.parse('def f():\n    """Nothing."""').body[0]
    assert isinstance(with_one, ast.FunctionDef)
    assert isinstance(without, ast.FunctionDef)
    assert shown(with_one)
    assert not shown(without)
