"""Rows a second and peak memory of the `yelp` loader beside a plain loop over `json.loads`.

    python benchmarks/datasets.py [rows]

A file of reviews like Yelp's is generated (about 1,000 bytes a row; one user in a hundred has
exactly 64 reviews, the others 20 on average). The plain loop keeps every user's reviews until the
end, as one must who reads once. Each reader has a process of its own, so that its peak is its own,
and they take turns, so that what else the machine does falls on both.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

ROUNDS = 3


def generate(path: Path, rows: int) -> None:
    """Write reviews of users of whom one in five has 64, in random order."""
    rng = np.random.default_rng(0)
    sizes = []
    while sum(sizes) < rows:
        sizes += [64, *rng.geometric(0.05, 99).tolist()]
    users = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))[:rows]
    vocabulary = [f"word{i}" for i in range(5000)] + ["caf\u00e9", "\U0001f355", "so\ngood"]
    pool = [" ".join(rng.choice(vocabulary, int(rng.integers(20, 160)))) for _ in range(5000)]
    with path.open("w", encoding="utf-8") as file:
        for i, user in enumerate(users):
            review = {
                "review_id": f"{i:022d}",
                "user_id": f"{user:022d}",
                "business_id": f"{i % 1000:022d}",
                "stars": float(i % 5 + 1),
                "useful": 0,
                "funny": 0,
                "cool": 0,
                "text": f"{i} {pool[i % len(pool)]}",
                "date": "2018-07-07 22:09:11",
            }
            file.write(json.dumps(review, ensure_ascii=bool(i % 2)) + "\n")


def plain(path: Path) -> int:
    """Return how many reviews users with exactly 64 wrote, by json alone."""
    texts = defaultdict(list)
    with path.open("rb") as file:
        for line in file:
            review = json.loads(line)
            texts[review["user_id"]].append((str(int(review["stars"])), review["text"]))
    return sum(len(reviews) for reviews in texts.values() if len(reviews) == 64)


def loader(path: Path) -> int:
    """Return the same through the package."""
    from pe_core.text.datasets import load

    return load("yelp", {"path": str(path)}).records.height


def measure(reader: str, path: Path) -> tuple[float, float, int]:
    """Run a reader in its own process and return seconds, peak MB and reviews kept."""
    command = [sys.executable, __file__, reader, str(path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(out[0]), float(out[1]), int(out[2])


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "review.json"
        generate(path, rows)
        size = path.stat().st_size / 1e6
        runs: dict[str, list[tuple[float, float, int]]] = {"plain": [], "loader": []}
        for _ in range(ROUNDS):
            for name, each in runs.items():
                each.append(measure(name, path))
    assert len({run[2] for each in runs.values() for run in each}) == 1
    print(f"{rows} rows, {size:.0f} MB, {runs['plain'][0][2]} kept; best of {ROUNDS}")
    print(f"{'reader':<8}{'rows/s':>12}{'seconds':>10}{'peak MB':>10}")
    best = {name: (min(r[0] for r in each), min(r[1] for r in each)) for name, each in runs.items()}
    for name, (seconds, peak) in best.items():
        print(f"{name:<8}{rows / seconds:>12.0f}{seconds:>10.2f}{peak:>10.0f}")
    print(
        f"loader / plain: {best['plain'][0] / best['loader'][0]:.2f} times the speed, "
        f"{best['loader'][1] / best['plain'][1]:.2f} times the memory"
    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        read = {"plain": plain, "loader": loader}[sys.argv[1]]
        start = time.perf_counter()
        kept = read(Path(sys.argv[2]))
        seconds = time.perf_counter() - start
        print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, kept)
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 400_000)
