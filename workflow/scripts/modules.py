"""Which of our modules a script uses, and their digest.

Snakemake reruns a job when its script changes, but not when a module that the script imports
does. Every rule therefore has a parameter that holds the digest of those modules.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "workflow" / "scripts"


def _file_of(name: str) -> Path | None:
    """Return the source file of one of our modules, None for everybody else's."""
    for base in (ROOT, SCRIPTS):
        path = base / Path(*name.split("."))
        if base == ROOT and not name.startswith("pe_core"):
            continue
        if path.with_suffix(".py").is_file():
            return path.with_suffix(".py")
        if (path / "__init__.py").is_file():
            return path / "__init__.py"
    return None


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_bytes())


@cache
def compiled_away(path: Path) -> bytes:
    """Return what of a file makes a difference: its tree, without comments and layout.

    Most scripts share most modules, and writing a tree down costs more than the rest of a digest.
    """
    return f"{path.relative_to(ROOT)}\n{ast.dump(parsed(path))}\n".encode()


@cache
def imports(path: Path) -> frozenset[Path]:
    """Return the files of ours that `path` imports directly, packages on the way included."""
    found: set[Path] = set()
    for node in ast.walk(parsed(path)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            # `from package import module` and `from module import name` look the same.
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            prefixes = (".".join(parts[:end]) for end in range(1, len(parts) + 1))
            found.update(file for file in map(_file_of, prefixes) if file is not None)
    return frozenset(found)


@cache
def closure(path: Path) -> frozenset[Path]:
    """Return every file of ours that `path` imports, directly or not, without itself."""
    seen: set[Path] = set()
    todo = [path]
    while todo:
        for file in imports(todo.pop()) - seen:
            seen.add(file)
            todo.append(file)
    return frozenset(seen - {path})


@cache
def digest(script: str) -> str:
    """Return the digest of all modules of ours that `workflow/scripts/{script}.py` uses."""
    total = hashlib.sha256()
    for file in sorted(closure(SCRIPTS / f"{script}.py")):
        total.update(compiled_away(file))
    return total.hexdigest()[:16]
