"""Banks and pools that the user brings in a file, held to the same rules as written ones."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from pe_core.errors import InputError
from pe_core.text.acceptance import plain

_READERS: dict[str, Callable[..., pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".csv": pl.read_csv,
    ".jsonl": pl.read_ndjson,
    ".ndjson": pl.read_ndjson,
}


def bank(file: str, size: int) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the first `size` distinct entries of a bank's file.

    Args:
        file: path of a table (.parquet, .csv, .jsonl), columns `text` and optionally `label`.
        size: p, entries wanted.

    Returns:
        Columns label and text, in the file's order; and the counts "read", "repeated", "accepted".

    Raises:
        InputError: a file that cannot be read, a missing column, an empty text (with its row), or
            fewer distinct texts than wanted.

    Example:
        >>> bank("missing.csv", 8)
        Traceback (most recent call last):
        ...
        pe_core.errors.InputError: missing.csv: no such file
    """
    table = _read(Path(file), ["text"])
    if "label" not in table.columns:
        table = table.with_columns(label=pl.lit(""))
    kept = _distinct(table, [])
    if len(kept) < size:
        raise InputError(
            f"{file}: {len(kept)} distinct texts of {len(table)} rows; "
            f"bank.size = {size} are needed"
        )
    counts = {"read": len(table), "repeated": len(table) - len(kept), "accepted": size}
    return kept.head(size).select(pl.col("label").cast(pl.String).fill_null(""), "text"), counts


def pools(
    file: str, records: Mapping[int, Sequence[str]], size: int
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the first `size` paraphrases of each canary from the user's file.

    Args:
        file: a table with columns `canary`, `source` (position of the record that a text
            rewrites) and `text`.
        records: each canary's records.
        size: M, paraphrases wanted of each canary.

    Returns:
        Columns canary, index, source, text; and the counts "read", "repeated", "verbatim",
        "accepted". A text that is equal to its source but for case, spacing and punctuation is
        verbatim and left out.

    Raises:
        InputError: a file that cannot be read, a missing column, an empty text, a source
            that the canary does not have (with its row), or too few texts for a canary.

    Example:
        >>> pools("missing.csv", {0: ["a text"]}, 8)
        Traceback (most recent call last):
        ...
        pe_core.errors.InputError: missing.csv: no such file
    """
    table = _read(Path(file), ["canary", "source", "text"]).with_row_index("row", 1)
    for column in ("canary", "source"):
        if not table[column].dtype.is_integer():
            raise InputError(f"{file}: column {column} holds {table[column].dtype}, not integers")
    wanted = table.filter(pl.col("canary").is_in(list(records)))
    for row in wanted.iter_rows(named=True):
        if not 0 <= row["source"] < len(records[row["canary"]]):
            raise InputError(
                f"{file}, row {row['row']}: source {row['source']}; canary {row['canary']} has "
                f"records 0 to {len(records[row['canary']]) - 1}"
            )
    verbatim = [
        plain(row["text"]) == plain(records[row["canary"]][row["source"]])
        for row in wanted.iter_rows(named=True)
    ]
    new = wanted.filter(~pl.Series(verbatim, dtype=pl.Boolean))
    kept = _distinct(new, ["canary"])
    parts = []
    for canary in records:
        mine = kept.filter(canary=canary).head(size)
        if len(mine) < size:
            raise InputError(
                f"{file}: {len(mine)} usable paraphrases of canary {canary}; "
                f"pool.size = {size} are needed"
            )
        parts.append(
            mine.select(
                pl.lit(canary, pl.Int64).alias("canary"),
                pl.int_range(size, dtype=pl.Int64).alias("index"),
                pl.col("source").cast(pl.Int64),
                "text",
            )
        )
    return pl.concat(parts), {
        "read": len(wanted),
        "verbatim": sum(verbatim),
        "repeated": len(new) - len(kept),
        "accepted": size * len(records),
    }


def _read(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: allowed are {', '.join(_READERS)} files")
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        table = reader(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        # What it could not parse may be somebody's text.
        why = re.sub(r"`.*`", "a cell", str(error), flags=re.DOTALL).strip().splitlines()[0]
        raise InputError(f"{path}: cannot be read as {path.suffix}: {why}") from None
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise InputError(
            f"{path}: no column {missing[0]!r}; it has {', '.join(table.columns) or 'none'}"
        )
    if table["text"].dtype != pl.String:
        raise InputError(f"{path}: column text holds {table['text'].dtype}, not strings")
    empty = (table["text"].fill_null("").str.strip_chars() == "").arg_true()
    if len(empty):
        raise InputError(f"{path}, row {empty[0] + 1}: the text is empty")
    return table


def _distinct(table: pl.DataFrame, within: list[str]) -> pl.DataFrame:
    """Keep the first of texts that are equal but for case, spacing and punctuation."""
    key = pl.Series("key", [plain(text) for text in table["text"]], dtype=pl.String)
    return table.with_columns(key).unique([*within, "key"], keep="first", maintain_order=True)
