"""Texts a second of our encoding beside `SentenceTransformer.encode`, and what bfloat16 costs.

    python benchmarks/encoders.py [model] [texts]

The texts are lines of Shakespeare. All ways of encoding take turns on the same texts, so that what
else the machine does falls on all of them; the shortest of the rounds counts. Agreement is the
share of the peer's top-5 bank entries that a way finds too. ε is the best exact one of an attack by
exact copies of eight records, the largest of five canaries against 180 other roles: how far it
moves says what the rounding of the vectors does to an audit.
"""

import os
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import polars as pl
from measure import table
from sentence_transformers import SentenceTransformer

from pe_core import Mechanism, background, best, exact, routing
from pe_core.contribution import contributions
from pe_core.score import LinearScore
from pe_core.text import datasets, encoders, packaged

ROUNDS = 3
VOTES, CLIP, PROBES, CANARIES, RECORDS = 5, 0.1, 8, 5, 64
AUXILIARY, TEST, RECORDS_OF_OTHERS = 80, 180, 8


def main(model: str = "all-MiniLM-L6-v2", count: int = 600) -> None:
    data = datasets.load("shakespeare", {})
    bank = data.public["text"].unique(maintain_order=True).head(512).to_list()
    texts = data.records["text"].unique(maintain_order=True).sample(count, seed=1).to_list()

    ours = {dtype: encoders.load({"model": model, "dtype": dtype}) for dtype in encoders.DTYPES}
    peer = SentenceTransformer(str(encoders.PACKAGED[model](packaged.cache_folder())), device="cpu")
    ways = {
        "SentenceTransformer.encode": lambda t: peer.encode(t, normalize_embeddings=True),
        "ours, float32": ours["float32"].encode,
        "ours, bfloat16": ours["bfloat16"].encode,
    }
    best_time = dict.fromkeys(ways, np.inf)
    vectors = {}
    for _ in range(ROUNDS):
        for name, encode in ways.items():
            start = time.perf_counter()
            vectors[name] = encode(texts)
            best_time[name] = min(best_time[name], time.perf_counter() - start)

    plain = next(iter(ways))
    votes = {name: routing.top_k(v, ways[name](bank), VOTES).index for name, v in vectors.items()}
    rows = []
    for name in ways:
        agree = np.mean([len(set(a) & set(b)) / VOTES for a, b in zip(votes[plain], votes[name])])
        epsilon = largest_epsilon(data.records, bank, ways[name])
        speed = best_time[plain] / best_time[name]
        rows.append([name, count / best_time[name], speed, agree, epsilon])
    header = ["way", "texts/s", "times the peer", "top-5 agreement", "ε (exact copies)"]
    words = np.mean([len(text.split()) for text in texts])
    print(table(f"{model}, {count} texts of {words:.0f} words on average", header, rows))


def largest_epsilon(records: pl.DataFrame, bank: list[str], encode) -> float:
    """The largest best exact ε of the canaries; probes are copies of their first records."""
    sizes = records.group_by("user", maintain_order=True).len()
    canaries = sizes.filter(pl.col("len") >= RECORDS)["user"].head(CANARIES)
    others = sizes.filter(pl.col("len") >= RECORDS_OF_OTHERS)["user"]
    others = (
        others.filter(~others.is_in(canaries.to_list()))
        .sample(AUXILIARY + TEST, seed=1, shuffle=True)
        .to_list()
    )
    chosen = records.filter(pl.col("user").is_in(others) & (pl.col("record") < RECORDS_OF_OTHERS))
    place = {user: i for i, user in enumerate(others)}
    users = np.array([place[user] for user in chosen["user"]])
    mechanism = Mechanism(TEST, 0.1, 1.0, CLIP, 1e-5, VOTES)
    base = encode(bank[PROBES:])
    theirs = encode(chosen["text"].to_list())
    to_bank = routing.top_k(theirs, base, VOTES)
    size = len(bank)
    reserved = np.arange(len(base), size)

    def inspected(vectors, routes, probes, users, count):
        merged = routing.merge_top_k(routes, reserved, routing.squared_distances(vectors, probes))
        return contributions(merged.index, users, count, size, CLIP)[:, reserved].toarray()

    found = []
    for user in canaries:
        mine = encode(records.filter(user=user)["text"].head(RECORDS).to_list())
        probes = mine[:PROBES]
        everyone = inspected(theirs, to_bank, probes, users, len(others))
        routes = routing.top_k(mine, base, VOTES)
        own = inspected(mine, routes, probes, np.zeros(RECORDS, int), 1)[0]
        model = background.estimate(everyone[:AUXILIARY], mechanism)
        score = LinearScore.fit(own, model, mechanism)
        test = exact.linear_test(score, everyone[AUXILIARY:], own, mechanism)
        found.append(best.best_epsilon(test, mechanism.delta).epsilon)
    return max(found)


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
