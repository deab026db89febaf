"""CSV files row by row, so that every bad row has its line."""

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

import polars as pl

from pe_core.errors import InputError
from pe_core.text.datasets.rows import BadRow, Skips, frame, usable

BATCH_ROWS = 65_536


def batches(
    path: Path,
    columns: Mapping[str, str],
    skips: Skips,
    *,
    header: tuple[str, ...] = (),
    encoding: str = "utf-8-sig",
    delimiter: str = ",",
    labels: frozenset[str] = frozenset(),
    decode: Callable[[str], str] = str,
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a delimited file; quoted values may hold line ends.

    Args:
        path: the file.
        columns: the column's name of each field; user and text, and label and group where there
            are any.
        skips: where bad rows go. A quote that is never closed counts every line it swallowed.
        header: names of the columns of a file that has no header.
        encoding: the file's encoding.
        delimiter: what stands between values.
        labels: allowed labels, or none for any.
        decode: what the file's writer did to a text, undone.

    Yields:
        Frames of user, label, group and text, in source order.

    Raises:
        InputError: a column is missing, or there is a bad row where bad rows are errors.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "a.csv"
        >>> _ = file.write_text('who,what\\na,"hello,\\nyou"\\n')
        >>> next(batches(file, {"user": "who", "text": "what"}, Skips(file, "error"))).row(0)
        ('a', '', '', 'hello,\\nyou')
    """
    # The default of 128 KB is less than a long text.
    csv.field_size_limit(2**31 - 1)
    with path.open(encoding=encoding, errors="surrogateescape", newline="") as file:
        numbered = _numbered(file, delimiter, skips)
        names = header or tuple(next(numbered, ("", []))[1])
        missing = [name for name in columns.values() if name not in names]
        if missing:
            raise InputError(
                f"{path}, line 1: no column {', '.join(missing)}; found: {', '.join(names)}"
            )
        rows = []
        for where, values in numbered:
            try:
                if len(values) != len(names):
                    raise BadRow("wrong number of columns", f"{len(values)}, not {len(names)}")
                by_name = dict(zip(names, values))
                row = {field: by_name[name] for field, name in columns.items()}
                rows.append(usable({**row, "text": decode(row["text"])}, labels))
            except BadRow as bad:
                skips.add(where, bad)
            if len(rows) == BATCH_ROWS:
                yield frame(rows)
                rows = []
        yield frame(rows)


def _numbered(file: TextIO, delimiter: str, skips: Skips) -> Iterator[tuple[str, list[str]]]:
    """Yield each row that is not blank with the line it starts on."""
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    while True:
        before = reader.line_num
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            bad = BadRow("broken quoting", f"{error} (is the file cut off?)")
            skips.add(f"line {before + 1}", bad, rows=reader.line_num - before)
            continue
        if values:
            yield f"line {before + 1}", values
