"""The scripts of a round on a small population, with a generator and an encoder made up here."""

import contextlib
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import artifacts
import evolve_audits
import generator
import population
from pe_core import InputError, contribution, evolution, routing, seeds
from pe_core.text import acceptance, encoders, successors
from pe_core.text.answers import Response
from tests.workflow import scripted

SIZES = {"canary": 2, "auxiliary": 4, "calibration": 3, "test": 6}
RECORDS, SIZE, PROBES = 8, 24, 3
MECHANISM = {**scripted.MECHANISM, "participation": 0.5, "noise_multiplier": 1.1088}
QUIET = {**MECHANISM, "noise_multiplier": 0.0}
WHERE = {"dataset": "toy", "bank": "A", "encoder": "unit", "transcript": "0"}


def encode(texts):
    rows = np.array([seeds.generator(0, text).standard_normal(8) for text in texts])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def run(script, folder, inputs, outputs, params, **wildcards):
    """Run a script for this dataset, bank, encoder and transcript."""
    scripted.run(script, folder, inputs, outputs, params, **WHERE, **wildcards)


@pytest.fixture
def folder(tmp_path):
    """Records, a bank, synthetic canaries and their pool, with embeddings and routes."""
    rows = [
        {"user": f"{cohort} {u}", "cohort": cohort, "text": f"{cohort} {u} says {r}"}
        for cohort, size in SIZES.items()
        for u in range(size)
        for r in range(RECORDS)
    ]
    tables = {
        "records": pl.DataFrame(rows),
        "public": pl.DataFrame({"text": ["known to everybody"]}),
        "nonces": pl.DataFrame({"canary": 0, "text": [f"nonce {r}" for r in range(RECORDS)]}),
        "pool": pl.DataFrame({"canary": 0, "text": [f"nonce near {r}" for r in range(9)]}),
        "arm": pl.DataFrame({"label": "x", "text": [f"arm {j}" for j in range(30)]}),
    }
    for name, table in tables.items():
        with artifacts.writing(tmp_path / f"{name}.parquet") as path:
            table.write_parquet(path)
        artifacts.save_array(tmp_path / f"{name}.npy", encode(table["text"].to_list()))
    run(
        "evolve_bank",
        tmp_path,
        {"bank": tmp_path / "arm.parquet", "embeddings": tmp_path / "arm.npy"},
        {"bank": tmp_path / "bank.parquet", "embeddings": tmp_path / "bank.npy"},
        {"size": SIZE, "seed": 1},
    )
    run(
        "route",
        tmp_path,
        {name: tmp_path / f"{name}.npy" for name in ("records", "bank", "nonces")},
        {"routes": tmp_path / "routes.npz"},
        {"votes": 5, "probes": PROBES, "seed": 1, "routing": {"approximate_above": 100}},
    )
    return tmp_path


def start(folder, name):
    probed = None if name != "audited" else ("nonce", 0)
    artifacts.save_arrays(folder / "chosen.npz", chosen=np.array([4, 0, 7]))
    run(
        "evolve_start",
        folder,
        {
            "bank": folder / "bank.parquet",
            "embeddings": folder / "bank.npy",
            "routes": folder / "routes.npz",
            "chosen": folder / "chosen.npz",
            "pool": folder / "pool.parquet",
            "pool_embeddings": folder / "pool.npy",
        },
        {"bank": folder / name / "0.parquet", "embeddings": folder / name / "0.npy"},
        {"probed": probed},
        run=name,
    )


def release(folder, name, t, mechanism=MECHANISM):
    here = folder / name
    run(
        "evolve_release",
        folder,
        {
            "records": folder / "records.parquet",
            "record_embeddings": folder / "records.npy",
            "nonces": folder / "nonces.parquet",
            "nonce_embeddings": folder / "nonces.npy",
            "bank": here / f"{t - 1}.parquet",
            "embeddings": here / f"{t - 1}.npy",
            "routes": folder / "routes.npz" if t == 1 else here / f"routes-{t - 1}.npz",
        },
        {
            "routes": here / f"routes-{t}.npz",
            "votes": here / f"votes-{t}.npz",
            "release": here / f"release-{t}.npz",
        },
        {
            "mechanism": mechanism,
            "probed": ("nonce", 0) if name == "audited" else None,
            "seed": 1,
        },
        run=name,
        round=str(t),
    )
    return artifacts.load_arrays(here / f"release-{t}.npz")["histogram"]


@pytest.fixture
def models(monkeypatch):
    """A generator that answers with its prompt's digest, and the encoder above."""
    asked = []

    class Client:
        model, concurrency = "made up", 1

        def complete(self, requests):
            for request in requests:
                asked.append(request)
                word = seeds.sequence(0, request.prompt, request.seed).entropy[1]
                yield request, Response(f"written line {word}", "stop")

    @contextlib.contextmanager
    def opened(*_):
        yield Client()

    monkeypatch.setattr(generator, "opened", opened)
    monkeypatch.setattr(
        encoders,
        "load",
        lambda _: SimpleNamespace(
            identity="0" * 32, dimension=8, encode=lambda texts, progress=None: encode(texts)
        ),
    )
    return asked


def evolve(folder, name, t, **rules):
    here = folder / name
    run(
        "evolve_round",
        folder,
        {
            "bank": here / f"{t - 1}.parquet",
            "embeddings": here / f"{t - 1}.npy",
            "release": here / f"release-{t}.npz",
            "public": folder / "public.parquet",
        },
        {
            "bank": here / f"{t}.parquet",
            "embeddings": here / f"{t}.npy",
            "notes": here / f"{t}.json",
        },
        {
            "generator": {"source": "gguf", "rules": rules},
            "prompts": {"labels": {}},
            "encoder": {},
            "rules": {"keep": 0.1, "high": 2, "low": 1},
            "seed": 1,
            "cache": str(folder / "cache"),
        },
        run=name,
        round=str(t),
    )


def test_the_first_round_is_the_single_release(folder):
    """The same probes on the same bank, by the single release's own script."""
    start(folder, "audited")
    release(folder, "audited", 1)
    found = artifacts.load_arrays(folder / "audited" / "votes-1.npz")
    records = artifacts.load_array(folder / "records.npy")
    people = np.repeat(np.arange(sum(SIZES.values())), RECORDS)
    bank = artifacts.load_array(folder / "audited" / "0.npy")
    reserved = artifacts.load_arrays(folder / "routes.npz")["reserved"]
    assert (bank[reserved] == artifacts.load_array(folder / "pool.npy")[[4, 0, 7]]).all()
    everyone = contribution.contributions(
        routing.top_k(records, bank, 5).index, people, 15, SIZE, 0.1
    ).toarray()[2:, reserved]
    dense = np.zeros(found["shape"])
    rows = np.repeat(np.arange(13), np.diff(found["indptr"]))
    dense[rows, found["indices"]] = found["data"]
    assert np.array_equal(dense, everyone)
    own = routing.top_k(artifacts.load_array(folder / "nonces.npy"), bank, 5).index
    mine = contribution.contributions(own, np.zeros(RECORDS, int), 1, SIZE, 0.1).toarray()[0]
    assert np.array_equal(found["canary"], mine[reserved])
    assert found["first"].tolist() == [0, 4, 7, 13]


def test_the_canary_is_absent_from_the_transcript(folder):
    """Without noise and with everybody in, the histogram is the test users' sum alone."""
    start(folder, "audited")
    histogram = release(folder, "audited", 1, {**QUIET, "participation": 1.0})
    routes = artifacts.load_arrays(folder / "audited" / "routes-1.npz")
    rows = slice(7 * RECORDS, 13 * RECORDS)
    users = np.repeat(np.arange(6), RECORDS)
    tested = contribution.contributions(routes["index"][rows], users, 6, SIZE, 0.1)
    assert histogram == pytest.approx(np.asarray(tested.sum(axis=0)), rel=1e-12)


def test_runs_share_participation_and_noise(folder):
    histograms = {}
    for name in ("audited", "unaudited", "noiseless"):
        start(folder, name)
        histograms[name] = release(folder, name, 1, QUIET if name == "noiseless" else MECHANISM)
    names = ("toy", "A", "unit", "evolution", 0, "noise", 1)
    noise = 1.1088 * 0.1 * seeds.generator(1, *names).standard_normal(SIZE)
    assert histograms["unaudited"] == pytest.approx(histograms["noiseless"] + noise, rel=1e-12)
    people = {
        name: int(artifacts.load_arrays(folder / name / "votes-1.npz")["participants"])
        for name in histograms
    }
    assert len(set(people.values())) == 1
    assert artifacts.load_arrays(folder / "unaudited" / "votes-1.npz")["probe_share"] == 0.0
    assert artifacts.load_arrays(folder / "audited" / "votes-1.npz")["canary"].any()


def test_a_bank_that_stays_short_says_what_became_of_the_answers(folder, models, capsys):
    start(folder, "audited")
    release(folder, "audited", 1)
    with pytest.raises(SystemExit, match="1"):
        evolve(folder, "audited", 1, min_words=9)
    said = capsys.readouterr().err
    assert "18 of 18 new texts are missing after 24 attempts" in said
    counts = re.search(r"all answers: asked ([\d,]+), accepted 0, too short ([\d,]+)", said)
    assert counts is not None
    assert counts[1] == counts[2]


def test_rounds_follow_one_another(folder, models):
    start(folder, "audited")
    for t in (1, 2, 3):
        histogram = release(folder, "audited", t)
        before = pl.read_parquet(folder / "audited" / f"{t - 1}.parquet")
        evolve(folder, "audited", t)
        bank = pl.read_parquet(folder / "audited" / f"{t}.parquet")
        notes = artifacts.load_json(folder / "audited" / f"{t}.json")
        vectors = artifacts.load_array(folder / "audited" / f"{t}.npy")
        assert np.array_equal(vectors, encode(bank["text"].to_list()))
        probes = np.flatnonzero(bank["reserved"])
        free = np.setdiff1d(np.arange(SIZE), probes)
        best = free[np.argsort(-histogram[free], kind="stable")][:3]
        assert notes["survivors"] == best.tolist()
        stay = np.union1d(probes, best)
        assert bank["text"][stay].to_list() == before["text"][stay].to_list()
        assert (bank["written"].to_numpy()[np.setdiff1d(free, best)] == t).all()
        assert notes["written"] == SIZE - PROBES - 3
        # Only the voters' order is private; where each record votes is what routing says.
        routes = artifacts.load_arrays(folder / "audited" / f"routes-{t}.npz")
        records = artifacts.load_array(folder / "records.npy")[2 * RECORDS :]
        voters = np.concatenate([records, artifacts.load_array(folder / "nonces.npy")])
        published = artifacts.load_array(folder / "audited" / f"{t - 1}.npy")
        expected = routing.top_k(voters, published, 5)
        assert np.array_equal(routes["index"], expected.index)
        assert np.array_equal(routes["distance"], expected.squared_distance)
    shown = " ".join(request.prompt for request in models)
    private = pl.read_parquet(folder / "records.parquet")["text"].to_list()
    assert not any(text in shown for text in private)
    assert not any(f"nonce near {r}" in shown for r in range(9))


def test_the_round_by_script_is_the_core(folder, models):
    """evolution.run with the same streams makes the same banks."""
    start(folder, "unaudited")
    for t in (1, 2):
        release(folder, "unaudited", t)
        evolve(folder, "unaudited", t)
    records = artifacts.load_array(folder / "records.npy")[-6 * RECORDS :]
    table = pl.read_parquet(folder / "unaudited" / "0.parquet")
    mechanism = replace(population.mechanism(MECHANISM, 6), releases=2)
    rounds = evolution.run(
        evolution.Bank(tuple(table["text"]), tuple(table["label"])),
        evolution.Voters(records, np.repeat(np.arange(6), RECORDS), 6),
        mechanism,
        evolution.Rules(keep=0.1, high=2, low=1),
        author(),
        encode,
        lambda purpose, t: seeds.generator(1, "toy", "A", "unit", "evolution", 0, purpose, t),
    )
    for t, each in enumerate(rounds, 1):
        histogram = artifacts.load_arrays(folder / "unaudited" / f"release-{t}.npz")["histogram"]
        assert np.array_equal(each.release.histogram, histogram)
        bank = pl.read_parquet(folder / "unaudited" / f"{t}.parquet")
        assert tuple(bank["text"]) == each.bank.texts


def author():
    with generator.opened() as client:
        return successors.Successors(
            client,
            successors.FORMS["examples"],
            acceptance.Rules(),
            acceptance.Public(["known to everybody"]),
            {},
        )


def audited(folder, rounds):
    proof = {
        f"epsilon_theory{end}": 1.0 + 0.01 * len(end) for end in ("", "_low", "_estimate", "_high")
    }
    prefixes = [{"releases": t, **proof} for t in range(1, rounds + 1)]
    artifacts.save_json(folder / "accounting.json", {"prefixes": prefixes})
    run(
        "evolve_audit",
        folder,
        {
            "votes": [folder / "audited" / f"votes-{t}.npz" for t in range(1, rounds + 1)],
            "accounting": folder / "accounting.json",
        },
        {"audit": folder / f"audit-{rounds}.json"},
        {
            "mechanism": MECHANISM,
            "evaluation": {"trials": 20000, "alpha": 0.05, "shrinkage": 0.1, "ridge": 1e-9},
            "probed": ("nonce", 0),
            "canaries": 1,
            "seed": 1,
        },
        run="audited",
    )
    return evolve_audits.load_audit(folder / f"audit-{rounds}.json")


def test_the_audit_of_several_rounds_begins_with_that_of_one(folder, models):
    start(folder, "audited")
    for t in (1, 2):
        release(folder, "audited", t)
        evolve(folder, "audited", t)
    once, twice = audited(folder, 1), audited(folder, 2)
    assert twice["prefixes"][0] == once["prefixes"][0]
    assert twice["rounds"][0] == once["rounds"][0]
    first, second = (each["epsilon"]["exact_best"] for each in twice["prefixes"])
    assert 0.0 < first < second
    broken = {**once, "prefixes": []}
    with pytest.raises(InputError, match=r"x\.json: \$\.prefixes"):
        evolve_audits.save_audit(str(folder / "x.json"), broken)


def test_a_bank_that_is_too_small_is_named(folder, capsys):
    with pytest.raises(SystemExit):
        run(
            "evolve_bank",
            folder,
            {"bank": folder / "arm.parquet", "embeddings": folder / "arm.npy"},
            {"bank": folder / "x.parquet", "embeddings": folder / "x.npy"},
            {"size": 31, "seed": 1},
        )
    assert re.search(
        r"evolution\.size = 31: the bank .*arm\.parquet has 30", capsys.readouterr().err
    )
    assert not (folder / "x.parquet").exists()


def test_fewer_probes_than_positions_are_named(folder, capsys):
    artifacts.save_arrays(folder / "short.npz", chosen=np.array([1]))
    with pytest.raises(SystemExit):
        run(
            "evolve_start",
            folder,
            {
                "bank": folder / "bank.parquet",
                "embeddings": folder / "bank.npy",
                "routes": folder / "routes.npz",
                "chosen": folder / "short.npz",
            },
            {"bank": folder / "y.parquet", "embeddings": folder / "y.npy"},
            {"probed": ("exact", 0)},
        )
    assert "1 probes for 3 reserved positions" in capsys.readouterr().err
