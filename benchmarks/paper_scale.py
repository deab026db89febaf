"""An audit at the paper's scale on a file of users' texts: the tables, and what each stage costs.

    python benchmarks/paper_scale.py scotus FILE FOLDER
    python benchmarks/paper_scale.py ubuntu_irc FILE FOLDER

FILE holds one text a row, with columns user, label, text (and group, where users share topics);
FOLDER receives everything. Banks are texts of users who are in no cohort and share no group with
anyone who is: bank A and bank B are disjoint draws of them, where there are enough. Paraphrases are
a stand-in, not a model's: a record's clauses in another order with some of its words left out. A
stage's memory is that of its largest process. A second run repeats only what has changed, so the
times are those of a first run in an empty FOLDER.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import yaml
from measure import table
from numpy.random import Generator

from pe_core import seeds
from pe_core.text.acceptance import plain

ROOT = Path(__file__).resolve().parent.parent
PAPER = yaml.safe_load((ROOT / "config/paper.yaml").read_text())
SEED = PAPER["seed"]
SETTINGS = {
    # The paper's own sizes for Yelp, canaries drawn for each attack apart.
    "scotus": {
        "cohorts": PAPER["datasets"][0]["cohorts"],
        "columns": {"user": "user", "text": "text", "label": "label", "group": "group"},
        **{key: PAPER[key] for key in ("banks", "bank", "pool", "canaries")},
        "encoders": ["all-MiniLM-L6-v2"],
    },
    # Half of everything; 903 users leave 98 for one bank, and 300 for the test.
    "ubuntu_irc": {
        "cohorts": {"canary": 5, "auxiliary": 250, "calibration": 250, "test": 300},
        "columns": {"user": "user", "text": "text", "label": "label"},
        "banks": ["A"],
        "bank": {"size": 4096, "probes": 32},
        "pool": {"size": 256},
        "canaries": {"count": 5, "records": 64},
        "encoders": ["all-MiniLM-L6-v2", "bge-small-en", "all-mpnet-base-v2"],
    },
}


def main(name: str, file: str, folder: str) -> None:
    settings, work = SETTINGS[name], Path(folder).resolve()
    work.mkdir(parents=True, exist_ok=True)
    config = work / "config.yaml"
    config.write_text(yaml.safe_dump(configuration(name, Path(file).resolve()), sort_keys=False))

    banks, names = settings["banks"], settings["encoders"]
    texts = ["records", "nonces", "pool-paraphrase", "pool-nonce", *(f"bank-{b}" for b in banks)]
    rows = [stage(config, "load, cohorts", [f"results/{name}/records.parquet"])]
    bring(work, name, settings)
    for encoder in names:
        made = [f"results/{name}/embeddings/{encoder}/{text}.npy" for text in texts]
        rows.append(stage(config, f"embed, {encoder}", made))
        if encoder == names[0]:
            # Table 2 is one arm with one encoder: every attack and canary of it.
            arm = ["results/tables/table2.csv"]
            rows.append(stage(config, "one arm, 8 attacks × 5 canaries", arm))
    # One arm has no table of arms, and one encoder none of encoders.
    tables = ["table2", "table3" if len(names) > 1 else "table4"]
    rows.append(stage(config, tables[1], [f"results/tables/{tables[1]}.csv"]))

    print(table("stages", ["stage", "seconds", "CPU s", "peak MB"], rows))
    shown = ["bank", "encoder", "attack"]
    shown += ["epsilon_lower", "epsilon_exact", "epsilon_exact_best", "epsilon_ceiling"]
    for each in tables:
        frame = pl.read_csv(work / f"results/tables/{each}.csv")
        columns = [column for column in shown if column in frame.columns]
        print(table(each, columns, frame.select(columns).rows()))


def configuration(name: str, file: Path) -> dict[str, object]:
    """Return the config of a dataset's audit: the paper's values, but for the sizes above."""
    settings = SETTINGS[name]
    return {
        "seed": SEED,
        "datasets": [
            {
                "name": name,
                "loader": "table",
                "options": {"path": str(file), "columns": settings["columns"]},
                "cohorts": settings["cohorts"],
            }
        ],
        "encoders": [{"name": each, "dtype": "bfloat16"} for each in settings["encoders"]],
        "generator": {
            "source": "file",
            "banks": {bank: f"inputs/bank-{bank}.parquet" for bank in settings["banks"]},
            "pools": "inputs/paraphrases.parquet",
        },
        **{key: settings[key] for key in ("banks", "bank", "pool", "canaries")},
        **{key: PAPER[key] for key in ("mechanism", "evaluation")},
    }


def stage(config: Path, what: str, targets: list[str]) -> list[object]:
    """Make `targets` and return what it took, Snakemake's own time included."""
    command = [sys.executable, "-m", "snakemake", *targets, "--cores", "all"]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(config.parent)]
    command += ["--configfile", str(config), "--profile", str(ROOT / "profiles/default")]
    start = time.perf_counter()
    with open(config.parent / "snakemake.log", "ab") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            cwd=config.parent,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{what}: snakemake failed; see {config.parent / 'snakemake.log'}")
    spent = time.perf_counter() - start
    return [what, spent, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]


def bring(work: Path, name: str, settings: dict) -> None:
    """Write the banks and the paraphrases that the config names, unless they are there."""
    inputs = work / "inputs"
    if (inputs / "paraphrases.parquet").exists():
        return
    inputs.mkdir(exist_ok=True)
    public = pl.read_parquet(work / f"results/{name}/public.parquet")
    size = settings["bank"]["size"]
    # Distinct as the workflow counts it: but for case, spacing and punctuation.
    distinct = public.with_columns(plain=pl.Series([plain(t) for t in public["text"]])).unique(
        "plain", keep="first", maintain_order=True
    )
    drawn = distinct.select("label", "text").sample(size * len(settings["banks"]), seed=SEED)
    for i, bank in enumerate(settings["banks"]):
        drawn.slice(i * size, size).write_parquet(inputs / f"bank-{bank}.parquet")
    records = pl.read_parquet(work / f"results/{name}/records.parquet").filter(cohort="canary")
    rows = []
    for canary, (_, mine) in enumerate(records.group_by("user", maintain_order=True)):
        rng = seeds.generator(SEED, name, "stand-in paraphrases", canary)
        rows += pool(canary, mine["text"].to_list(), settings["pool"]["size"], rng)
    pl.DataFrame(rows, schema=["canary", "source", "text"], orient="row").write_parquet(
        inputs / "paraphrases.parquet"
    )


def pool(canary: int, texts: list[str], size: int, rng: Generator) -> list[tuple[int, int, str]]:
    """Return `size` distinct rewrites of a canary's texts, in turn over the texts."""
    rows, seen = [], {"", *(plain(text) for text in texts)}
    turn = 0
    while len(rows) < size:
        source = turn % len(texts)
        # Short texts have few rewrites: the share of words left out grows until one is new.
        for attempt in range(100):
            text = rewrite(texts[source], min(0.15 + attempt / 100, 0.6), rng)
            if plain(text) not in seen:
                seen.add(plain(text))
                rows.append((canary, source, text))
                break
        turn += 1
        if turn > 4 * size:
            raise SystemExit(f"canary {canary}: only {len(rows)} rewrites of {size}")
    return rows


def rewrite(text: str, left_out: float, rng: Generator) -> str:
    clauses = [part.strip() for part in re.split(r"[,.;:?!–—-]+\s", text) if part.strip()]
    order = rng.permutation(len(clauses))
    words = " , ".join(clauses[i] for i in order).split()
    return " ".join(word for word in words if rng.random() >= left_out)


if __name__ == "__main__":
    main(*sys.argv[1:])
