"""Parquet files in slices."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
import polars.selectors as cs
from polars.exceptions import PolarsError

from pe_core.errors import InputError
from pe_core.text.datasets.rows import BadRow, Skips, all_usable, frame, usable, with_all_fields

BATCH_ROWS = 65_536


def batches(path: Path, columns: Mapping[str, str], skips: Skips) -> Iterator[pl.DataFrame]:
    """Yield the rows of a Parquet file.

    Args:
        path: the file.
        columns: the column's name of each field; user and text, and label and group where there
            are any.
        skips: where bad rows go.

    Yields:
        Frames of user, label, group and text, in source order.

    Raises:
        InputError: the file is not Parquet, a column is missing, or there is a bad row where bad
            rows are errors.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "a.parquet"
        >>> pl.DataFrame({"who": [1], "what": ["hello"]}).write_parquet(file)
        >>> next(batches(file, {"user": "who", "text": "what"}, Skips(file, "error"))).row(0)
        ('1', '', '', 'hello')
    """
    try:
        names = pl.read_parquet_schema(path)
        missing = [name for name in columns.values() if name not in names]
        if missing:
            raise InputError(f"{path}: no column {', '.join(missing)}; found: {', '.join(names)}")
        rows = pl.scan_parquet(path).select(
            **{field: pl.col(name) for field, name in columns.items()}
        )
        at = 0
        while (batch := rows.slice(at, BATCH_ROWS).collect()).height:
            yield _usable(batch, at, skips)
            at += batch.height
    except (PolarsError, OSError) as error:
        raise InputError(f"{path}: cannot be read as Parquet: {error}") from None


def _usable(batch: pl.DataFrame, before: int, skips: Skips) -> pl.DataFrame:
    texts = batch.with_columns(cs.integer().exclude("text").cast(pl.String))
    if all(kind == pl.String for kind in texts.dtypes) and all_usable(texts, frozenset()):
        return with_all_fields(texts)
    kept = []
    for at, row in enumerate(batch.iter_rows(named=True), before + 1):
        try:
            kept.append(usable(row, frozenset()))
        except BadRow as bad:
            skips.add(f"row {at}", bad)
    return frame(kept)
