"""Read and write artifacts: whole or not at all, each with a checksum beside it.

A file is written under a temporary name in the same folder and renamed, so a killed job leaves
no half file. `name.sha256` holds its digest; a file that no longer fits it is named, removed,
and made again by the next run.
"""

import contextlib
import errno
import glob
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


class DamagedError(RuntimeError):
    """An artifact does not fit its checksum."""


class UnwritableError(RuntimeError):
    """An artifact cannot be written: a full disk, a read-only folder."""


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seal_of(path: Path) -> Path:
    """Return where the checksum of an artifact is."""
    return path.with_name(path.name + ".sha256")


def _of_the_system(error: Exception) -> bool:
    """Tell whether the system refused; polars wraps the system's words in errors of its own."""
    refusals = (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT)
    return isinstance(error, OSError) or any(os.strerror(code) in str(error) for code in refusals)


@contextlib.contextmanager
def writing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path; on success seal it and give it its name, else leave nothing.

    Raises:
        UnwritableError: the system refuses; the message names the artifact and the reason.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Snakemake lets one job at a time make a file, so these are of jobs that were killed.
        for leftover in path.parent.glob(f".{glob.escape(path.name)}.*"):
            leftover.unlink(missing_ok=True)
        yield temporary
        seal = seal_of(temporary)
        seal.write_bytes(f"{_digest(temporary)}\n".encode())
        seal.replace(seal_of(path))
        temporary.replace(path)
    except Exception as error:
        if not _of_the_system(error):
            raise
        # numpy tells how many entries it wrote, and not why no more.
        folder = next(folder for folder in path.parents if folder.is_dir())
        left = shutil.disk_usage(folder).free // 2**20
        raise UnwritableError(f"{path}: cannot be written: {error} ({left} MB are free)") from error
    finally:
        for leftover in (temporary, seal_of(temporary)):
            # A folder that lets nobody write says so even where there is nothing to remove.
            with contextlib.suppress(OSError):
                leftover.unlink()


def checked(path: str | Path) -> Path:
    """Return the path of an artifact whose bytes fit its checksum.

    Raises:
        DamagedError: they do not, and the artifact is removed, so that the next run makes it again;
            or the system cannot read it, and it is left where it is.
    """
    path = Path(path)
    seal = seal_of(path)
    try:
        fits = seal.exists() and seal.read_bytes().strip() == _digest(path).encode()
    except OSError as error:
        raise DamagedError(f"{path}: cannot be read: {error}") from error
    if not fits:
        path.unlink()
        raise DamagedError(
            f"{path}: damaged, its bytes do not fit {seal.name}. "
            "It has been removed; run the same command again to make it anew."
        )
    return path


def save_arrays(path: str | Path, **arrays: npt.ArrayLike) -> None:
    """Write an .npz of plain arrays."""
    with writing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **{name: np.asarray(a) for name, a in arrays.items()})


def load_arrays(path: str | Path) -> dict[str, npt.NDArray[Any]]:
    """Read an .npz of plain arrays."""
    with np.load(checked(path), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def save_array(path: str | Path, array: npt.NDArray[Any]) -> None:
    """Write an .npy."""
    with writing(path) as temporary, temporary.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def load_array(path: str | Path) -> npt.NDArray[Any]:
    """Read an .npy."""
    return np.load(checked(path), allow_pickle=False)


def save_json(path: str | Path, value: Mapping[str, Any]) -> None:
    """Write JSON; NaN and infinities are refused, since no JSON reader agrees on them."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    with writing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def load_json(path: str | Path) -> dict[str, Any]:
    """Read a JSON object."""
    return json.loads(checked(path).read_text(encoding="utf-8"))


def save_text(path: str | Path, text: str) -> None:
    """Write a text file."""
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
