"""What the size of a batch costs, and how memory grows with the number of texts.

    python benchmarks/embedding.py [FILE] [texts] [texts for memory]

FILE holds one text a row in a column `text`; default, Shakespeare's lines. The model is
all-MiniLM-L6-v2 in bfloat16, each row a process of its own. Texts are encoded as many at a time as
the store writes into its largest shard. Seconds are of all threads, so that waiting for a busy core
does not count. `any width` pads a batch to its longest text, as the peer does; ours pads to steps,
so that blocks of few sizes are taken and given back.
"""

import sys
import time
from pathlib import Path

import polars as pl
from measure import in_child, table

MODEL = {"model": "all-MiniLM-L6-v2", "dtype": "bfloat16"}
BATCHES = (1024, 2048, 4096, 8192, 16_384)


def texts(file: str, count: int) -> list[str]:
    """Distinct texts in an order that has nothing to do with their length."""
    if file:
        lines = pl.scan_parquet(file).select("text").collect()
    else:
        from pe_core.text import datasets

        lines = datasets.load("shakespeare", {}).records
    distinct = lines["text"].unique(maintain_order=True)
    return distinct.sample(min(count, len(distinct)), seed=1, shuffle=True).to_list()


def resident() -> float:
    """MB that this process holds now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


def encode(file: str, count: int, tokens: int, step: int) -> tuple[float, float, list[float]]:
    """Texts, CPU seconds, and MB with the model alone and after each of four parts."""
    import os

    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from pe_core.text import encoders, store

    encoders._STEP = step
    encoder = encoders.load({**MODEL, "batch_tokens": tokens})
    lines = texts(file, count)
    encoder.encode(lines[:64])
    held, start = [resident()], time.process_time()
    part = -(-len(lines) // 4)
    for first in range(0, len(lines), part):
        mine = lines[first : first + part]
        for shard in range(0, len(mine), store._LARGEST_SHARD):
            encoder.encode(mine[shard : shard + store._LARGEST_SHARD])
        held.append(resident())
    return len(lines), time.process_time() - start, held


def main(file: str = "", count: int = 3000, many: int = 16_384) -> None:
    from pe_core.text.encoders import _STEP, BATCH_TOKENS

    runs = {n: in_child("embedding", "encode", file, count, n, _STEP) for n in BATCHES}
    most = max(done / spent for (done, spent, _), _ in runs.values())
    rows = [
        [n, done / spent, done / spent / most, peak] for n, ((done, spent, _), peak) in runs.items()
    ]
    header = ["batch_tokens", "texts/CPU s", "of the fastest", "peak MB"]
    print(table(f"{count:,} texts, {MODEL['model']} in {MODEL['dtype']}", header, rows))

    ways = {"any width": 1, f"steps of {_STEP}": _STEP}
    rows = []
    for name, step in ways.items():
        (done, spent, held), peak = in_child("embedding", "encode", file, many, BATCH_TOKENS, step)
        rows.append([name, done / spent, *map(round, [*held, peak])])
    header = ["padding", "texts/CPU s", "model alone, MB"]
    header += [f"after {done * n // 4:,}" for n in range(1, 5)]
    print(table(f"memory held, batch_tokens = {BATCH_TOKENS:,}", [*header, "peak MB"], rows))


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:4]))
