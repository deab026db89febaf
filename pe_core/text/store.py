"""Embeddings on disk: each text is encoded once per encoder, whatever dataset or arm it is in."""

import hashlib
import os
import time
import uuid
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pe_core.text.encoders import check_texts

# A shard is written about this often, and never holds more texts than the last of these: what a
# kill loses.
_SHARD_SECONDS = 20.0
_FIRST_SHARD, _LARGEST_SHARD = 256, 4096
_KEY_BYTES = 16


class Encodes(Protocol):
    """What the store needs of an encoder."""

    identity: str
    dimension: int

    def encode(
        self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        """Unit rows, one per text."""


class EmbeddingStore:
    """Embeddings in a folder, keyed by the content of the text and the encoder's identity.

    Each encoder has a folder of shards below it. A shard is one file with the texts' digests, their
    rows and a checksum over both, written under a temporary name and renamed. Several processes may
    use a store at once: a text that two of them encode at the same time is in two shards, and the
    one whose name sorts first counts for everybody who reads later.

    Args:
        folder: made when it is not there.

    Example:
        >>> EmbeddingStore(Path("results") / "embeddings").folder.name
        'embeddings'
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def embed(
        self,
        texts: Sequence[str],
        encoder: Encodes,
        progress: Callable[[int, int], None] | None = None,
    ) -> NDArray[np.float32]:
        """Return the embeddings of texts, encoding those that are not stored.

        Args:
            texts: any strings.
            encoder: encodes what is missing.
            progress: called with (texts encoded, texts to encode) while encoding.

        Returns:
            float32 (len(texts), dimension), unit rows in input order, equal for equal texts.

        Raises:
            InputError: an entry is not a string or has no UTF-8 form.

        Warns:
            UserWarning: a damaged shard, by its path; its texts are encoded again.
        """
        check_texts(texts)
        position: dict[bytes, int] = {}
        row = np.empty(len(texts), np.intp)
        distinct: list[str] = []
        for i, text in enumerate(texts):
            row[i] = position.setdefault(_key(text), len(distinct))
            if row[i] == len(distinct):
                distinct.append(text)
        rows = np.empty((len(distinct), encoder.dimension), np.float32)
        there = np.zeros(len(distinct), bool)
        folder = self.folder / encoder.identity
        for path in sorted(folder.glob("*.npz")):
            self._take(path, position, rows, there)
        missing = np.flatnonzero(~there)
        start, size = 0, _FIRST_SHARD
        while start < len(missing):
            part = missing[start : start + size]
            began = time.monotonic()
            rows[part] = encoder.encode(
                [distinct[i] for i in part], _shifted(progress, start, len(missing))
            )
            seconds = time.monotonic() - began
            _write(folder, np.stack([_as_bytes(_key(distinct[i])) for i in part]), rows[part])
            start += len(part)
            size = int(min(_LARGEST_SHARD, max(1.0, len(part) * _SHARD_SECONDS / (seconds + 1e-9))))
        return np.ascontiguousarray(rows[row])

    def _take(
        self,
        path: Path,
        position: dict[bytes, int],
        rows: NDArray[np.float32],
        there: NDArray[np.bool_],
    ) -> None:
        """Copy what a shard has of the texts wanted; remove it, with a warning, if damaged."""
        try:
            with np.load(path, allow_pickle=False) as file:
                keys, stored, checksum = file["keys"], file["rows"], file["checksum"]
            if checksum.tobytes() != _checksum(keys, stored):
                raise ValueError("its checksum does not fit")
            if stored.shape != (len(keys), rows.shape[1]) or stored.dtype != np.float32:
                raise ValueError(f"{stored.dtype} rows of shape {stored.shape}")
        except FileNotFoundError:
            return  # Another process found it damaged first.
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            warnings.warn(f"{path}: damaged ({error}); its texts are encoded again", stacklevel=3)
            path.unlink(missing_ok=True)
            return
        for i, key in enumerate(keys):
            wanted = position.get(key.tobytes())
            if wanted is not None and not there[wanted]:
                rows[wanted] = stored[i]
                there[wanted] = True


def _shifted(
    progress: Callable[[int, int], None] | None, start: int, total: int
) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, _: progress(start + done, total)


def _write(folder: Path, keys: NDArray[np.uint8], rows: NDArray[np.float32]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    checksum = _checksum(keys, rows)
    temporary = folder / f".{uuid.uuid4().hex}.tmp"
    try:
        with temporary.open("wb") as file:
            np.savez(file, keys=keys, rows=rows, checksum=_as_bytes(checksum))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / f"{checksum.hex()}.npz")
    finally:
        temporary.unlink(missing_ok=True)


def _checksum(keys: NDArray[np.uint8], rows: NDArray[np.float32]) -> bytes:
    digest = hashlib.blake2b(f"{keys.shape} {rows.shape} {rows.dtype}".encode(), digest_size=16)
    digest.update(keys.tobytes())
    digest.update(rows.tobytes())
    return digest.digest()


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=_KEY_BYTES).digest()


def _as_bytes(value: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(value, np.uint8)
