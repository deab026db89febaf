import hashlib
import multiprocessing
import zipfile

import numpy as np
import pytest

from pe_core.errors import InputError
from pe_core.text import store
from pe_core.text.store import EmbeddingStore


class Counting:
    """An encoder whose rows follow from the text alone, and that remembers what it encoded."""

    def __init__(self, identity="one", dimension=6):
        self.identity, self.dimension, self.encoded = identity, dimension, []

    def row(self, text):
        seed = int.from_bytes(hashlib.sha256(f"{self.identity}{text}".encode()).digest()[:8], "big")
        row = np.random.default_rng(seed).standard_normal(self.dimension)
        return (row / np.linalg.norm(row)).astype(np.float32)

    def encode(self, texts, progress=None):
        self.encoded += texts
        if progress is not None:
            progress(len(texts), len(texts))
        return np.array([self.row(text) for text in texts], np.float32).reshape(-1, self.dimension)


class Killed(Counting):
    """Dies after some calls, as a kill would."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def encode(self, texts, progress=None):
        if not self.calls:
            raise KeyboardInterrupt
        self.calls -= 1
        return super().encode(texts, progress)


def texts(count, start=0):
    return [f"text {i} 🙂\n" for i in range(start, start + count)]


def assert_right(rows, encoder, wanted):
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, [encoder.row(text) for text in wanted])


def test_each_text_is_encoded_once_whatever_the_call(tmp_path):
    encoder = Counting()
    wanted = [*texts(10), *texts(5), "other"]
    assert_right(EmbeddingStore(tmp_path).embed(wanted, encoder), encoder, wanted)
    assert len(encoder.encoded) == 11
    again = [*texts(3, 9), "other", "other"]
    assert_right(EmbeddingStore(tmp_path).embed(again, encoder), encoder, again)
    assert encoder.encoded[11:] == texts(2, 10)


def test_no_texts_have_no_rows(tmp_path):
    assert EmbeddingStore(tmp_path).embed([], Counting()).shape == (0, 6)
    assert not list(tmp_path.rglob("*"))


def test_encoders_do_not_share_rows(tmp_path):
    known = EmbeddingStore(tmp_path)
    for encoder in (Counting("one"), Counting("two"), Counting("three", dimension=9)):
        for _ in range(2):
            assert_right(known.embed(texts(4), encoder), encoder, texts(4))
        assert len(encoder.encoded) == 4
    again = Counting("one")
    assert_right(known.embed(texts(4), again), again, texts(4))
    assert not again.encoded


def test_a_killed_run_keeps_its_finished_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_FIRST_SHARD", 10)
    monkeypatch.setattr(store, "_LARGEST_SHARD", 10)
    with pytest.raises(KeyboardInterrupt):
        EmbeddingStore(tmp_path).embed(texts(35), Killed(calls=2))
    encoder = Counting()
    assert_right(EmbeddingStore(tmp_path).embed(texts(35), encoder), encoder, texts(35))
    assert encoder.encoded == texts(15, 20)
    assert not list(tmp_path.rglob("*.tmp"))


def cut(path):
    path.write_bytes(path.read_bytes()[:-300])


def empty(path):
    path.write_bytes(b"")


def flip_row(path):
    """A flipped bit in a row, with the archive's own checksum made to fit."""
    with np.load(path) as file:
        parts = dict(file)
    parts["rows"].view(np.uint8)[0, 0] ^= 1
    with path.open("wb") as file:
        np.savez(file, **parts)


def flip_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 64
    path.write_bytes(data)


def not_an_archive(path):
    path.write_bytes(b"once upon a time")


def pickled(path):
    with path.open("wb") as file:
        np.savez(file, keys=np.array([{}]), rows=np.array([{}]), checksum=np.array([{}]))


def without_rows(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("something", "else")


@pytest.mark.parametrize(
    "damage", [cut, empty, flip_row, flip_byte, not_an_archive, pickled, without_rows]
)
def test_a_damaged_shard_is_named_and_made_again(tmp_path, monkeypatch, damage):
    monkeypatch.setattr(store, "_FIRST_SHARD", 4)
    monkeypatch.setattr(store, "_LARGEST_SHARD", 4)
    EmbeddingStore(tmp_path).embed(texts(8), Counting())
    path = sorted(tmp_path.rglob("*.npz"))[0]
    damage(path)
    encoder = Counting()
    with pytest.warns(UserWarning, match=f"{path.name}: damaged"):
        rows = EmbeddingStore(tmp_path).embed(texts(8), encoder)
    assert_right(rows, encoder, texts(8))
    assert len(encoder.encoded) == 4
    EmbeddingStore(tmp_path).embed(texts(8), encoder)
    assert len(encoder.encoded) == 4


def write_part(folder, start):
    EmbeddingStore(folder).embed(texts(60, start), Counting())


def test_processes_may_write_at_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write_part, args=(tmp_path, s)) for s in (0, 30, 30)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    encoder = Counting()
    assert_right(EmbeddingStore(tmp_path).embed(texts(90), encoder), encoder, texts(90))
    assert encoder.encoded == []


def test_progress_counts_what_is_encoded(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_FIRST_SHARD", 10)
    monkeypatch.setattr(store, "_LARGEST_SHARD", 10)
    EmbeddingStore(tmp_path).embed(texts(5), Counting())
    seen = []
    EmbeddingStore(tmp_path).embed(texts(30), Counting(), lambda done, of: seen.append((done, of)))
    assert seen == [(10, 25), (20, 25), (25, 25)]


@pytest.mark.parametrize("entry", [None, 3, b"bytes", "lone \ud800 surrogate"])
def test_what_is_no_text_is_refused(tmp_path, entry):
    with pytest.raises(InputError, match="text 1: "):
        EmbeddingStore(tmp_path).embed(["fine", entry], Counting())
