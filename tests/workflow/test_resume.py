"""A killed generation or embedding goes on where it was: what was answered or encoded is kept."""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import time
from collections import Counter

import numpy as np
import polars as pl
import pytest

from tests.text.endpoint import answer, endpoint
from tests.workflow import small

pytestmark = pytest.mark.slow

TEXTS = 900
LINES = 40
SLOTS = 4
EMBEDDINGS = "results/small/embeddings/all-MiniLM-L6-v2/bank-A.npy"
BANK = "results/small/banks/A.parquet"


def killed_when(folder, target, reached):
    """Start a run, and kill it with its jobs as soon as `reached()` holds."""
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(
            small.command(target),
            cwd=folder,
            env=small.environment(folder),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        while not reached():
            assert process.poll() is None, (folder / "output").read_text()
            time.sleep(0.01)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert not (folder / target).exists()
    small.snakemake(folder, "--unlock")


def test_a_killed_embedding_keeps_its_shards(tmp_path):
    folder = small.house(tmp_path, ["ordinary"])
    config = small.get_config(folder)
    config["bank"]["size"] = TEXTS
    small.set_config(folder, config)
    texts = small.sentences(TEXTS, 2)
    pl.DataFrame({"text": texts}).write_csv(folder / "data/bank.csv")

    def shards():
        return sorted((folder / "results/cache/embeddings").rglob("*.npz"))

    killed_when(folder, EMBEDDINGS, shards)
    kept = {path: path.read_bytes() for path in shards()}
    small.snakemake(folder, EMBEDDINGS)
    assert all(path.read_bytes() == before for path, before in kept.items())
    rows = np.load(folder / EMBEDDINGS)
    stored = {}
    for path in shards():
        with np.load(path) as shard:
            for key, row in zip(shard["keys"], shard["rows"], strict=True):
                # Twice would be work done again.
                assert key.tobytes() not in stored
                stored[key.tobytes()] = row
    keys = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]
    assert stored.keys() == set(keys)
    assert np.array_equal(rows, np.stack([stored[key] for key in keys]))


def slow_answer(request):
    """Say something of the request alone, after a while."""
    time.sleep(0.05)
    number = int(hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest(), 16)
    return answer(f"Sentence {number % 10**9} of someone who writes slowly.")


def test_a_killed_generation_asks_for_nothing_twice(tmp_path_factory):
    folder = small.house(tmp_path_factory.mktemp("killed"), ["ordinary"])
    config = small.get_config(folder)
    config["datasets"][0]["prompts"] = {
        "bank": {"template": "Write a {label}:\n{examples}", "chat": False, "sampling": {}}
    }
    config["bank"]["size"] = LINES
    with endpoint(slow_answer, []) as server:
        config["generator"] = {
            "source": "openai",
            "base_url": server.url,
            "model": "slow",
            "concurrency": SLOTS,
        }
        small.set_config(folder, config)
        killed_when(folder, BANK, lambda: len(server.seen) >= LINES // 2)
        small.snakemake(folder, BANK)
        asked = Counter(json.dumps(request, sort_keys=True) for request in server.seen)
        again = sum(asked.values()) - len(asked)
        # Those in flight when it was killed, at most.
        assert again <= SLOTS
        assert len(asked) >= LINES
        after = (folder / BANK).read_bytes()
        # Undisturbed, and from nothing.
        undisturbed = small.house(tmp_path_factory.mktemp("undisturbed"), ["ordinary"])
        small.set_config(undisturbed, config)
        small.snakemake(undisturbed, BANK)
        assert (undisturbed / BANK).read_bytes() == after
