"""JSON-lines files in blocks: polars for clean blocks, line by line where something is off."""

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from pe_core.text.datasets.rows import BadRow, Skips, all_usable, frame, usable, with_all_fields

BLOCK_BYTES = 1 << 23

# What polars writes for a value that was no text; a text that looks so is read again.
_LOOKS_PARSED = r"^[\[{]|^(?:true|false|-?[0-9][0-9.eE+-]*)$"


def batches(
    path: Path, columns: Mapping[str, str], skips: Skips, labels: frozenset[str] = frozenset()
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file of one JSON object a line, in blocks of about 8 MB.

    Args:
        path: the file; UTF-8, with or without a byte-order mark. Blank lines are passed over.
        columns: the key of each field; user and text, and label and group where there are any.
        skips: where bad lines go.
        labels: allowed labels, or none for any.

    Yields:
        Frames of user, label, group and text, in source order.

    Raises:
        InputError: a bad line, where bad rows are errors.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "a.jsonl"
        >>> _ = file.write_text('{"who": "a", "what": "hello"}')
        >>> next(batches(file, {"user": "who", "text": "what"}, Skips(file, "error"))).row(0)
        ('a', '', '', 'hello')
    """
    first = 1
    with path.open("rb") as file:
        if file.read(3) != b"\xef\xbb\xbf":
            file.seek(0)
        while block := file.read(BLOCK_BYTES):
            block += file.readline()
            clean = _parsed(block, columns, labels)
            yield _by_line(block, first, columns, skips, labels) if clean is None else clean
            first += block.count(b"\n")


def _parsed(
    block: bytes, columns: Mapping[str, str], labels: frozenset[str]
) -> pl.DataFrame | None:
    """Return a block's rows, or None where a line needs a second look."""
    try:
        read = pl.read_ndjson(
            io.BytesIO(block), schema=dict.fromkeys(columns.values(), pl.String)
        ).select(**{field: pl.col(key) for field, key in columns.items()})
    except PolarsError:
        return None
    doubtful = pl.any_horizontal(
        # What polars makes of half of an escaped surrogate pair.
        pl.all().str.contains("\0", literal=True).any(),
        pl.col("text").str.contains(_LOOKS_PARSED).any(),
        pl.all().exclude("text").str.contains(r"^[\[{]").any(),
    )
    if read.select(doubtful).item() or not all_usable(read, labels):
        return None
    return with_all_fields(read)


def _by_line(
    block: bytes,
    first: int,
    columns: Mapping[str, str],
    skips: Skips,
    labels: frozenset[str],
) -> pl.DataFrame:
    rows = []
    for at, line in enumerate(block.removesuffix(b"\n").split(b"\n"), first):
        if line.strip():
            try:
                rows.append(usable(_fields(line, columns), labels))
            except BadRow as bad:
                skips.add(f"line {at}", bad)
    return frame(rows)


def _fields(line: bytes, columns: Mapping[str, str]) -> dict[str, object]:
    try:
        found = json.loads(line)
    except UnicodeDecodeError as error:
        raise BadRow("a byte that is not UTF-8", f"byte {error.start + 1} of the line") from None
    except (ValueError, RecursionError) as error:
        raise BadRow("not a JSON object", f"{error} (is the file cut off?)") from None
    if not isinstance(found, dict):
        raise BadRow("not a JSON object", repr(found)[:80])
    for key in columns.values():
        if key not in found:
            raise BadRow("missing field", f"{key}; found: {', '.join(found)[:200]}")
    return {field: found[key] for field, key in columns.items()}
