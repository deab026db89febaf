"""Any Parquet, CSV or JSON-lines file of users' texts."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import polars as pl

from pe_core.errors import InputError
from pe_core.text.datasets import delimited, jsonlines, parquet
from pe_core.text.datasets.frame import Dataset, options
from pe_core.text.datasets.rows import FIELDS, FILTERS, Skips, select, source

_READERS: dict[str, Callable[[Path, Mapping[str, str], Skips], Iterator[pl.DataFrame]]] = {
    ".parquet": parquet.batches,
    ".csv": delimited.batches,
    ".tsv": partial(delimited.batches, delimiter="\t"),
    ".jsonl": jsonlines.batches,
    ".ndjson": jsonlines.batches,
    ".json": jsonlines.batches,
}


def load(given: Mapping[str, object]) -> Dataset:
    """Return the users of a table.

    Args:
        given: the dataset's options. `path`, whose ending says the format: .parquet; .csv or .tsv
            (UTF-8, with a header); .jsonl, .ndjson or .json (one object a line). `columns`, the
            file's name of `user` and `text`, and of `label` and `group` where it has them. And
            those of `rows.FILTERS`.

    Raises:
        InputError: an option is wrong, the file is missing or empty or of another format, a column
            is missing, a row is bad (where bad rows are errors), or no user passes.

    Example:
        >>> load({"path": "mail.csv", "columns": {"user": "from"}})
        Traceback (most recent call last):
        pe_core.errors.InputError: dataset table: columns has no text; it must name user and text
    """
    chosen = options("table", given, {"path": str, "columns": dict, **FILTERS})
    columns = _columns(chosen["columns"])
    reader = _READERS.get(Path(chosen["path"]).suffix)
    if reader is None:
        raise InputError(f"{chosen['path']}: the name must end in one of {', '.join(_READERS)}")
    path = source(chosen["path"])
    return select(path, lambda skips: reader(path, columns, skips), chosen, "table")


def _columns(columns: Mapping[str, object]) -> dict[str, str]:
    for needed in ("user", "text"):
        if needed not in columns:
            raise InputError(f"dataset table: columns has no {needed}; it must name user and text")
    named = {}
    for field, name in columns.items():
        if field not in FIELDS or not isinstance(name, str):
            raise InputError(
                f"dataset table: columns has {field!r}: {name!r}; "
                f"allowed are the names of columns for {', '.join(FIELDS)}"
            )
        named[field] = name
    return named
