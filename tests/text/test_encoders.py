import json
import shutil

import numpy as np
import pytest

from pe_core.errors import InputError
from pe_core.text import encoders, packaged

TEXTS = [
    "To be, or not to be, that is the question.",
    "I pray thee, go to the casement.\nAnd see if you can see my master.",
    "🙂🙃 émigré naïve — “quotes” 中文",
    " ".join(["word"] * 10_000),
    "",
    "a",
    "To be, or not to be, that is the question.",
]


@pytest.fixture(scope="module")
def minilm():
    return encoders.load({"model": "all-MiniLM-L6-v2"})


@pytest.fixture(scope="module")
def reference():
    """The same weights through sentence-transformers' own encode, the peer."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(packaged.minilm_l6(packaged.cache_folder())), device="cpu")


def test_vectors_are_those_of_sentence_transformers(minilm, reference):
    wanted = reference.encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(minilm.encode(TEXTS), wanted, atol=2e-6)


def test_rows_are_float32_units_in_input_order(minilm):
    rows = minilm.encode(TEXTS)
    assert rows.shape == (len(TEXTS), minilm.dimension) == (7, 384)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(rows.astype(float), axis=1), 1, atol=1e-7)
    np.testing.assert_array_equal(rows[0], rows[6])
    np.testing.assert_allclose(minilm.encode(TEXTS[::-1])[::-1], rows, atol=2e-6)


def test_batches_do_not_change_the_answer_beyond_rounding(minilm):
    small = encoders.load({"model": "all-MiniLM-L6-v2", "batch_tokens": 1})
    np.testing.assert_allclose(small.encode(TEXTS), minilm.encode(TEXTS), atol=2e-6)
    assert small.identity == minilm.identity


def test_blocks_of_texts_do_not_change_the_answer(minilm, monkeypatch):
    whole = minilm.encode(TEXTS)
    monkeypatch.setattr(encoders, "_BLOCK", 2)
    np.testing.assert_allclose(minilm.encode(TEXTS), whole, atol=2e-6)


@pytest.mark.parametrize("step", [1, 600])
def test_padding_does_not_change_the_answer_or_pass_the_models_length(minilm, monkeypatch, step):
    stepped = minilm.encode(TEXTS)
    monkeypatch.setattr(encoders, "_STEP", step)
    np.testing.assert_allclose(minilm.encode(TEXTS), stepped, atol=2e-6)


def test_no_texts_have_no_rows(minilm):
    rows = minilm.encode([])
    assert rows.shape == (0, 384)
    assert rows.dtype == np.float32


def test_progress_ends_with_every_distinct_text(minilm):
    seen = []
    minilm.encode(TEXTS, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (6, 6)
    assert seen == sorted(seen)


def test_bfloat16_is_near_and_has_another_identity(minilm):
    rounded = encoders.load({"model": "all-MiniLM-L6-v2", "dtype": "bfloat16"})
    similarity = (rounded.encode(TEXTS) * minilm.encode(TEXTS)).sum(axis=1)
    assert similarity.min() > 0.998
    assert rounded.identity != minilm.identity


def copied(folder):
    source = packaged.minilm_l6(packaged.cache_folder())
    return shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.md", ".git*"))


def test_the_identity_follows_the_content_and_not_the_place(minilm, tmp_path):
    folder = copied(tmp_path / "renamed")
    assert encoders.load({"model": str(folder)}).identity == minilm.identity
    # One text before or after must not matter either.
    assert encoders.load({"model": "all-MiniLM-L6-v2"}).identity == minilm.identity

    settings = json.loads((folder / "1_Pooling" / "config.json").read_text())
    settings |= {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    pooled = encoders.load({"model": str(folder)}).identity
    assert pooled != minilm.identity

    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1_000_001] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    assert encoders.load({"model": str(folder)}).identity not in (pooled, minilm.identity)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "model = None"),
        ({"model": ""}, "model = ''"),
        ({"model": "all-MiniLM-L6-v2", "dtpye": "float32"}, "unknown key 'dtpye'"),
        ({"model": "all-MiniLM-L6-v2", "dtype": "int8"}, "dtype = 'int8'.*float32, bfloat16"),
        ({"model": "all-MiniLM-L6-v2", "device": "tpu"}, "device = 'tpu'"),
        ({"model": "all-MiniLM-L6-v2", "batch_tokens": 0}, "batch_tokens = 0"),
        ({"model": "/no/such/folder"}, "/no/such/folder: there is no such folder"),
    ],
)
def test_bad_specs_are_refused(spec, message):
    with pytest.raises(InputError, match=message):
        encoders.load(spec)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(InputError, match="holds no model"):
        encoders.load({"model": str(tmp_path)})


def test_a_hub_name_without_copy_or_network_is_an_error(monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        InputError, match=r"all-MiniLM-L12-v2.*no local copy.*HF_HUB_OFFLINE is set"
    ):
        encoders.load({"model": "all-MiniLM-L12-v2"})


def test_cuda_where_there_is_none_is_refused(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="no CUDA device"):
        encoders.load({"model": "all-MiniLM-L6-v2", "device": "cuda"})


@pytest.mark.parametrize("entry", [None, 3, "lone \ud800 surrogate"])
def test_what_is_no_text_is_refused(minilm, entry):
    with pytest.raises(InputError, match="text 1: "):
        minilm.encode(["fine", entry])
