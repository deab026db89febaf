"""Sentence encoders: texts in, unit vectors out.

A script that encodes on a CPU should put OMP_WAIT_POLICY=PASSIVE into the environment before torch
is first imported: OpenMP reads it once, and its default, threads that spin while they wait, costs
much of the speed when cores are few or shared.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
from numpy.typing import NDArray

from pe_core.errors import InputError
from pe_core.text import packaged

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

PACKAGED: Mapping[str, Callable[[Path], Path]] = {
    "all-MiniLM-L6-v2": packaged.minilm_l6,
    "all-mpnet-base-v2": packaged.mpnet,
    "bge-small-en": packaged.bge_small,
}
DTYPES = ("float32", "bfloat16")
DEVICES = ("auto", "cpu", "cuda")
# Larger batches are slower on a CPU, whose caches they leave (benchmarks/embedding.py).
BATCH_TOKENS = 2048
_DEFAULTS: Mapping[str, Any] = {
    "model": None,
    "dtype": "float32",
    "device": "auto",
    "batch_tokens": BATCH_TOKENS,
}
# The same weights for other frameworks, which many repositories hold too.
_OTHER_FORMATS = ["*.onnx", "*.h5", "*.ot", "*.msgpack", "openvino/*"]
# Tokens by which batches differ in width: memory that many sizes of blocks have cut into pieces
# grows with the number of texts (benchmarks/embedding.py).
_STEP = 8
# Texts tokenised at a time: bounds the memory that token lists take.
_BLOCK = 16_384


class Encoder:
    """A sentence encoder with a content-based identity. Made by `load`.

    Attributes:
        name: the model as the config names it.
        identity: 32 hex digits over weights, tokenizer, pooling, sequence length and dtype; the
            same weights under another name or in another folder have the same identity.
        dimension: length of the vectors.
    """

    def __init__(
        self, name: str, model: "SentenceTransformer", dtype: str, device: str, batch_tokens: int
    ) -> None:
        import torch

        self.name = name
        self.identity = _identity(model, dtype)
        self.dimension = int(model.get_embedding_dimension() or 0)
        self._batch_tokens = batch_tokens
        self._device = device
        # Only the transformer runs in bfloat16. Pooling adds up tokens, and does so in float32.
        self._transformer = model[0].to(device=device, dtype=getattr(torch, dtype)).eval()
        self._head = [module.to(device=device).eval() for module in list(model)[1:]]
        self._tokenizer: Any = model.tokenizer
        # The batches below are padded after sorting, on purpose.
        self._tokenizer.deprecation_warnings["Asking-to-pad-a-fast-tokenizer"] = True
        self._length = int(model.max_seq_length or self._tokenizer.model_max_length)

    def encode(
        self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        """Encode texts.

        Args:
            texts: any strings. A text past the model's sequence length is cut there, as
                sentence-transformers does.
            progress: called with (texts done, texts in all) after each batch; texts that are equal
                are encoded once and count once.

        Returns:
            float32 (len(texts), dimension), C-contiguous, rows of unit length in input order; equal
            texts have equal rows. Rows are normalised in float64 and then rounded.

        Raises:
            InputError: an entry is not a string or has no UTF-8 form, or its vector is zero or
                not finite.

        Example:
            >>> load({"model": "all-MiniLM-L6-v2"}).encode([]).shape
            (0, 384)
        """
        check_texts(texts)
        first: dict[str, int] = {}
        row = np.fromiter((first.setdefault(t, len(first)) for t in texts), np.intp, len(texts))
        distinct = list(first)
        vectors = np.empty((len(distinct), self.dimension))
        done = 0
        for start in range(0, len(distinct), _BLOCK):
            block = distinct[start : start + _BLOCK]
            for members, rows in self._batches(block):
                vectors[start + members] = rows
                done += len(members)
                if progress is not None:
                    progress(done, len(distinct))
        norms = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
        bad = np.flatnonzero(~((norms > 0) & np.isfinite(norms)))
        if bad.size:
            raise InputError(
                f"{self.name} gives no direction for the text {distinct[bad[0]][:80]!r}"
            )
        return np.ascontiguousarray((vectors / norms).astype(np.float32)[row])

    def _batches(self, texts: list[str]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield (positions, raw vectors), longest first so that memory runs out early or never."""
        import torch

        tokens = self._tokenizer(texts, truncation=True, max_length=self._length)
        lengths = np.array([len(ids) for ids in tokens["input_ids"]])
        order = np.argsort(-lengths, kind="stable")
        start = 0
        while start < len(order):
            width = min(-(-int(lengths[order[start]]) // _STEP) * _STEP, self._length)
            size = max(1, self._batch_tokens // width)
            members = order[start : start + size]
            start += size
            features = self._tokenizer.pad(
                {name: [column[i] for i in members] for name, column in tokens.items()},
                padding="max_length",
                max_length=width,
                return_tensors="pt",
            ).to(self._device)
            with torch.inference_mode():
                output = self._transformer(dict(features))
                output["token_embeddings"] = output["token_embeddings"].float()
                for module in self._head:
                    output = module(output)
                yield members, output["sentence_embedding"].cpu().numpy()


def check_texts(texts: Sequence[str]) -> None:
    """Raise InputError for an entry that is not a string or has no UTF-8 form.

    Example:
        >>> check_texts(["one", None])
        Traceback (most recent call last):
        pe_core.errors.InputError: text 1: a string is needed, not NoneType
    """
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"text {position}: a string is needed, not {type(text).__name__}")
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise InputError(f"text {position}: {error.reason} at {error.start}") from None


def load(spec: Mapping[str, Any]) -> Encoder:
    """Load an encoder.

    Args:
        spec: `model`: a folder in sentence-transformers' format, a model packaged with this
            project's environment (`PACKAGED`), or a name on the Hugging Face hub (a bare name such
            as `all-MiniLM-L12-v2` is looked up under `sentence-transformers/`);
            `dtype`: "float32" (default) or "bfloat16" (about twice the speed on CPUs that have it);
            `device`: "auto" (default), "cpu" or "cuda";
            `batch_tokens`: tokens per batch, padding included, ≥ 1 (default 2,048).

    Returns:
        The encoder, on its device.

    Raises:
        InputError: an unknown key or value, a package that is not installed, a folder that holds no
            model, a hub name that is neither cached nor reachable.

    Example:
        >>> load({"model": "all-MiniLM-L6-v2", "dtype": "bfloat16"}).dimension
        384
    """
    settings = _checked(spec)
    import torch

    device = settings["device"]
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    elif device == "cuda" and not torch.cuda.is_available():
        raise InputError('device = "cuda": torch finds no CUDA device; allowed here: "auto", "cpu"')
    name = settings["model"]
    model = _load_model(name)
    if model.prompts.get(model.default_prompt_name or "", ""):
        raise InputError(
            f"model = {name!r}: models that put a prompt before each text are unsupported"
        )
    return Encoder(name, model, settings["dtype"], device, settings["batch_tokens"])


def _checked(spec: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(spec) - set(_DEFAULTS))
    if unknown:
        raise InputError(f"encoder: unknown key {unknown[0]!r}; allowed: {', '.join(_DEFAULTS)}")
    settings = {**_DEFAULTS, **spec}
    if not isinstance(settings["model"], str) or not settings["model"]:
        raise InputError(f"model = {settings['model']!r}: the name or folder of a model is needed")
    for key, allowed in (("dtype", DTYPES), ("device", DEVICES)):
        if settings[key] not in allowed:
            raise InputError(f"{key} = {settings[key]!r}: allowed are {', '.join(allowed)}")
    tokens = settings["batch_tokens"]
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        raise InputError(f"batch_tokens = {tokens!r}: a whole number of at least 1 is needed")
    return settings


def _load_model(name: str) -> "SentenceTransformer":
    import transformers
    from huggingface_hub import constants, snapshot_download
    from sentence_transformers import SentenceTransformer

    # The workflow has its own progress display.
    transformers.utils.logging.disable_progress_bar()
    if name in PACKAGED:
        return SentenceTransformer(
            str(PACKAGED[name](packaged.cache_folder())), device="cpu", local_files_only=True
        )
    if Path(name).is_dir():
        try:
            return SentenceTransformer(name, device="cpu", local_files_only=True)
        except (OSError, ValueError) as error:
            raise InputError(f"{name}: this folder holds no model: {_first_line(error)}") from error
    if name.startswith((".", "/", "~")):
        raise InputError(f"{name}: there is no such folder")
    source = name if "/" in name else f"sentence-transformers/{name}"
    try:
        # The local copy first: with one, no network is asked, and none that hangs is waited for.
        return SentenceTransformer(source, device="cpu", local_files_only=True)
    except (OSError, ValueError):
        offline = constants.HF_HUB_OFFLINE
    try:
        folder = snapshot_download(source, ignore_patterns=_OTHER_FORMATS, local_files_only=offline)
    except (OSError, ValueError, httpx.HTTPError) as error:
        raise InputError(
            f"model = {name!r}: there is no local copy, and "
            f"{'HF_HUB_OFFLINE is set' if offline else 'the hub gave none'} "
            f"({_first_line(error)}). Allowed are a folder, a name on the Hugging Face hub, "
            f"or one of {', '.join(PACKAGED)}"
        ) from error
    return SentenceTransformer(folder, device="cpu", local_files_only=True)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _identity(model: "SentenceTransformer", dtype: str) -> str:
    """Digest of everything that decides a vector, taken before the weights change their dtype."""
    import torch

    modules: list[Any] = list(model)
    # The state of the tokenizer's last call, and where the model was found, decide nothing.
    tokenizer = json.loads(model.tokenizer.backend_tokenizer.to_str())
    settings = {
        "dtype": dtype,
        "length": model.max_seq_length,
        "tokenizer": {k: v for k, v in tokenizer.items() if k not in ("truncation", "padding")},
        "architecture": {
            k: v
            for k, v in modules[0].config.to_dict().items()
            if k not in ("_name_or_path", "transformers_version", "dtype")
        },
        "modules": [(type(module).__name__, module.get_config_dict()) for module in modules],
    }
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps(settings, sort_keys=True, default=str).encode())
    for name, tensor in sorted(model.state_dict().items()):
        # BERT's own pooler takes no part in a sentence vector, and loading fills it at random
        # where a checkpoint lacks it.
        if ".pooler." in name:
            continue
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
