"""A workflow script run in this process, as Snakemake runs it."""

import itertools
import runpy
from types import SimpleNamespace
from typing import Any

from tests.workflow import small

SCRIPTS = small.ROOT / "workflow" / "scripts"
MECHANISM = {
    "participation": 0.1,
    "noise_multiplier": 1.0,
    "clip": 0.1,
    "delta": 1e-5,
    "votes": 5,
    "maximum_records": 64,
}


class Files(dict):
    """Inputs or outputs, one path or a list each: by name and, as Snakemake has it, in order."""

    def __init__(self, files):
        super().__init__(
            (name, list(map(str, each)) if isinstance(each, list) else str(each))
            for name, each in files.items()
        )

    def __getattr__(self, name):
        return self[name]

    def __getitem__(self, key):
        return list(self.values())[key] if isinstance(key, int) else super().__getitem__(key)

    def __iter__(self):
        each = (value if isinstance(value, list) else [value] for value in self.values())
        return itertools.chain.from_iterable(each)


def run(script, folder, inputs, outputs, params=(), **wildcards) -> dict[str, Any]:
    """Run a script and return what it left behind: its globals."""
    job = SimpleNamespace(
        input=Files(inputs),
        output=Files(outputs),
        params=SimpleNamespace(**{"code": "", **dict(params)}),
        wildcards=SimpleNamespace(**wildcards),
        log=[str(folder / "logs" / f"{script}.log")],
        rule=script,
        config={"seed": 1},
        threads=1,
    )
    return runpy.run_path(str(SCRIPTS / f"{script}.py"), init_globals={"snakemake": job})
