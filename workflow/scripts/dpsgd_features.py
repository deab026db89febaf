"""Labelled features from wherever they are: sentence embeddings, scikit-learn's digits, a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from artifacts import checked, load_array
from pe_core import InputError
from pe_core.seeds import generator

SPLITS = ("records", "auxiliary", "test")


class Features(NamedTuple):
    """All records of a source.

    Attributes:
        values: (records, d) float32.
        labels: (records,) int64, positions in `names`.
        names: the classes, sorted.
    """

    values: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]
    names: list[str]


def load(settings: Mapping[str, Any], files: Sequence[str]) -> Features:
    """Read one entry of `dpsgd.data`.

    Args:
        settings: the entry.
        files: what it is read from: records and embeddings, the user's file, or nothing.

    Raises:
        InputError: a file that does not hold what its source needs; names file, line or column.
    """
    if settings["source"] == "digits":
        return _digits()
    if settings["source"] == "embeddings":
        return _embeddings(*files)
    (path,) = files
    if Path(path).suffix == ".npz":
        return _arrays(path)
    return _table(path, settings["label"])


def split(
    features: Features, settings: Mapping[str, Any], seed: int
) -> dict[str, npt.NDArray[np.int64]]:
    """Draw disjoint training, auxiliary and test records; return their rows, sorted.

    Raises:
        InputError: fewer records than the three need, or a class that is missing in training.
    """
    sizes = [settings[name] for name in SPLITS]
    count = len(features.labels)
    if sum(sizes) > count:
        wanted = " + ".join(f"{name} {size}" for name, size in zip(SPLITS, sizes))
        raise InputError(
            f"dpsgd.data.{settings['name']}: {count} records, {wanted} = {sum(sizes)} are needed"
        )
    drawn = generator(seed, "dpsgd", settings["name"], "split").permutation(count)
    ends = np.cumsum(sizes)
    rows = {name: np.sort(drawn[end - size : end]) for name, size, end in zip(SPLITS, sizes, ends)}
    missing = set(range(len(features.names))) - set(features.labels[rows["records"]].tolist())
    if missing:
        names = ", ".join(features.names[label] for label in sorted(missing))
        raise InputError(
            f"dpsgd.data.{settings['name']}: no training record of class {names}; raise `records`"
        )
    return rows


def _digits() -> Features:
    from sklearn.datasets import load_digits

    images = load_digits()
    # Pixels are whole numbers from 0 to 16.
    values = (images.data / 16.0).astype(np.float32)
    return _classes(values, [str(label) for label in images.target], "digits")


def _embeddings(records: str, embeddings: str) -> Features:
    labels = pl.read_parquet(checked(records), columns=["label"])["label"]
    values = load_array(embeddings)
    if len(values) != len(labels):
        raise InputError(
            f"{embeddings}: {len(values)} rows for the {len(labels)} records of {records}"
        )
    if labels.null_count():
        raise InputError(f"{records}: row {labels.is_null().arg_max()} has no label")
    return _classes(values.astype(np.float32), labels.cast(pl.String).to_list(), records)


def _arrays(path: str) -> Features:
    try:
        with np.load(path, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not an .npz of plain arrays ({error})") from error
    if not {"features", "labels"} <= found.keys():
        raise InputError(
            f"{path}: arrays {', '.join(found) or 'none'}; features and labels are needed"
        )
    values, labels = found["features"], found["labels"]
    if labels.ndim == 2:
        labels = labels.argmax(axis=1)
    if values.ndim != 2 or labels.shape != values.shape[:1]:
        raise InputError(
            f"{path}: features {values.shape} and labels {found['labels'].shape}; "
            "records × features and one label a record are needed"
        )
    if labels.dtype.kind not in "iu":
        raise InputError(f"{path}: labels of type {labels.dtype}; whole numbers are needed")
    return _classes(values.astype(np.float32), labels.astype(str).tolist(), path)


def _table(path: str, label: str | int) -> Features:
    suffix = Path(path).suffix
    if suffix not in (".csv", ".parquet"):
        raise InputError(f"{path}: allowed are .npz, .csv and .parquet")
    try:
        if suffix == ".csv":
            table = pl.read_csv(path, has_header=isinstance(label, str))
        else:
            table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: {error}") from error
    name = label if isinstance(label, str) else dict(enumerate(table.columns)).get(label)
    if name not in table.columns:
        raise InputError(
            f"{path}: no column {label!r} for the label; there are {table.width}: "
            f"{', '.join(table.columns[:8])}{', …' if table.width > 8 else ''}"
        )
    values, labels = table.drop(name), table[name]
    if labels.null_count():
        raise InputError(f"{path}: record {labels.is_null().arg_max()} has no label")
    for column in values:
        if not column.dtype.is_numeric() or column.null_count():
            raise InputError(
                f"{path}: column {column.name} of type {column.dtype} with {column.null_count()} "
                "empty cells; features are numbers, one in every cell"
            )
    return _classes(values.to_numpy().astype(np.float32), labels.cast(pl.String).to_list(), path)


def _classes(values: npt.NDArray[np.float32], labels: list[str], source: str) -> Features:
    # Whole numbers in their own order, so that class 10 comes after class 9.
    whole = all(name.lstrip("-").isdigit() for name in set(labels))
    names = sorted(set(labels), key=int if whole else str)
    if len(names) < 2:
        raise InputError(f"{source}: {len(names)} classes; at least 2 are needed")
    at = {name: position for position, name in enumerate(names)}
    return Features(values, np.array([at[name] for name in labels], np.int64), names)
