"""From the rows of a file to users' records, in two passes and bounded memory."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from pe_core.errors import InputError
from pe_core.text.datasets.frame import (
    PUBLIC,
    Dataset,
    check_range,
    numbered,
    shared_texts,
    word_count,
)

FIELDS = ("user", "label", "group", "text")
SCHEMA = dict.fromkeys(FIELDS, pl.String)

UNLIMITED = 2**31 - 1
FILTERS: dict[str, object] = {
    "minimum_records": 1,
    "maximum_records": UNLIMITED,
    "minimum_words": 1,
    "maximum_words": UNLIMITED,
    "public_records": 1000,
    "on_bad": "error",
}

_EXAMPLES = 20
_COUNTED_ROWS = 1_000_000


class BadRow(Exception):
    """A row that cannot be used: a short reason to count by, and what was found."""

    def __init__(self, reason: str, found: str = "") -> None:
        super().__init__(f"{reason}: {found}" if found else reason)
        self.reason = reason


class Skips:
    """What becomes of bad rows: the first is an error, or all are counted and some are shown."""

    def __init__(self, path: Path, on_bad: str) -> None:
        self.path = path
        self.on_bad = on_bad
        self.counts: Counter[str] = Counter()
        self.examples: list[str] = []

    def add(self, where: str, bad: BadRow, rows: int = 1) -> None:
        """Record that `rows` rows from `where` ("line 3") on are bad.

        Raises:
            InputError: bad rows are errors.

        Example:
            >>> skips = Skips(Path("a.csv"), "skip")
            >>> skips.add("line 3", BadRow("empty text"))
            >>> dict(skips.counts), skips.examples
            ({'empty text': 1}, ['line 3: empty text'])
        """
        if self.on_bad == "error":
            raise InputError(
                f"{self.path}, {where}: {bad} (on_bad: skip counts such rows and goes on)"
            )
        self.counts[bad.reason] += rows
        if len(self.examples) < _EXAMPLES:
            self.examples.append(f"{where}: {bad}")


def usable(row: Mapping[str, object], labels: frozenset[str]) -> tuple[str, str, str, str]:
    """Return user, label, group and text of one row as texts.

    Users, labels and groups may be texts, numbers or truth values (a whole number is written
    without a point); label and group may be none. A text must be a text with a word in it.

    Args:
        row: values by field; label and group may be absent.
        labels: allowed labels, or none for any.

    Raises:
        BadRow: the row is none of that.

    Example:
        >>> usable({"user": 7, "label": 5.0, "text": "good"}, frozenset("12345"))
        ('7', '5', '', 'good')
    """
    text = row["text"]
    if not isinstance(text, str):
        raise BadRow("text is no text", repr(text)[:80])
    if not text.strip():
        raise BadRow("empty text")
    user = _scalar("user", row["user"])
    if not user.strip():
        raise BadRow("empty user")
    label = _scalar("label", row.get("label"))
    if labels and label not in labels:
        raise BadRow("label is not allowed", f"{label!r}; allowed: {', '.join(sorted(labels))}")
    found = (user, label, _scalar("group", row.get("group")), text)
    if any(_SURROGATE.search(value) for value in found):
        raise BadRow("bytes or escapes that are no character")
    return found


def all_usable(batch: pl.DataFrame, labels: frozenset[str]) -> bool:
    """Return whether every row of a batch of texts is `usable` as it is, none of them null.

    Example:
        >>> all_usable(frame([("a", "", "", "hello")]), frozenset())
        True
        >>> all_usable(frame([("a", "", "", " ")]), frozenset())
        False
    """
    needed = pl.col("user", "text").str.strip_chars() == ""
    nulls = pl.all().is_null()
    if batch.select(pl.any_horizontal(needed.any(), nulls.any())).item():
        return False
    return not labels or bool(batch["label"].is_in(list(labels)).all())


def with_all_fields(batch: pl.DataFrame) -> pl.DataFrame:
    """Return a batch with label and group, "" where it has none.

    Example:
        >>> with_all_fields(pl.DataFrame({"text": ["hello"], "user": ["a"]})).row(0)
        ('a', '', '', 'hello')
    """
    return batch.with_columns(
        pl.lit("").alias(field) for field in FIELDS if field not in batch.columns
    ).select(FIELDS)


def frame(rows: Iterable[tuple[str, str, str, str]]) -> pl.DataFrame:
    """Return rows of user, label, group and text as a frame of texts.

    Example:
        >>> frame([("a", "", "", "hello")])["text"].to_list()
        ['hello']
    """
    return pl.DataFrame(list(rows), schema=SCHEMA, orient="row")


def source(path: str) -> Path:
    """Return the path of a file that has something in it.

    Raises:
        InputError: there is no such file, or it is empty.

    Example:
        >>> source("nowhere.csv")
        Traceback (most recent call last):
        pe_core.errors.InputError: nowhere.csv: no such file
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file}: no such file")
    if not file.stat().st_size:
        raise InputError(f"{file}: the file is empty")
    return file


def select(
    path: Path,
    batches: Callable[[Skips], Iterator[pl.DataFrame]],
    chosen: Mapping[str, Any],
    name: str,
) -> Dataset:
    """Return the records of users who pass the filters, reading the file twice.

    The first pass counts each user's records, the second keeps those of the users who pass, so
    that memory holds one batch, a number a user, and what is kept.

    Args:
        path: the file, for messages and notes.
        batches: called once a pass with where bad rows go; yields frames of user, label, group and
            text in source order.
        chosen: the options of `FILTERS`: records with too few or too many words are left out first,
            then users with too few or too many records. The first `public_records` records of
            users who are left out are the public texts.
        name: the dataset's name.

    Raises:
        InputError: a filter is wrong, a row is bad, or no user passes.

    Example:
        >>> rows = frame([("a", "", "", "to be"), ("b", "", "", "or"), ("a", "", "", "not to be")])
        >>> filters = {**FILTERS, "minimum_records": 2}
        >>> two = select(Path("x"), lambda skips: iter([rows]), filters, "table")
        >>> two.records["text"].to_list(), two.public["text"].to_list()
        (['to be', 'not to be'], ['or'])
    """
    for key in ("records", "words"):
        check_range(name, key, chosen[f"minimum_{key}"], chosen[f"maximum_{key}"])
    if chosen["on_bad"] not in ("error", "skip"):
        raise InputError(f"dataset {name}: on_bad is {chosen['on_bad']!r}; allowed: error, skip")
    if chosen["public_records"] < 0:
        raise InputError(f"dataset {name}: public_records is negative")
    least, most = chosen["minimum_words"], chosen["maximum_words"]
    skips = Skips(path, chosen["on_bad"])
    sizes, counts = _sizes(batches(skips), least, most)
    enough = pl.col("records").is_between(chosen["minimum_records"], chosen["maximum_records"])
    passed = sizes.filter(enough).select("user")
    if not passed.height:
        raise InputError(
            f"{path}: none of {sizes.height} users has from {chosen['minimum_records']} to "
            f"{chosen['maximum_records']} usable records; the most that one has is "
            f"{max(sizes['records'].to_list(), default=0)}"
        )
    kept = []
    public = [frame([])]
    free = chosen["public_records"]
    for batch in batches(Skips(path, chosen["on_bad"])):
        ours = batch.join(passed, on="user", how="semi", maintain_order="left")
        kept.append(_words_between(ours, least, most))
        if free:
            left = batch.join(passed, on="user", how="anti", maintain_order="left")
            public.append(_words_between(left, least, most).head(free))
            free -= public[-1].height
    records = numbered(pl.concat(kept))
    skipped = {
        **skips.counts,
        "record with too few words": counts["short"],
        "record with too many words": counts["long"],
        "user with too few or too many records": sizes.height - passed.height,
    }
    return Dataset(
        records=records,
        public=pl.concat(public).select(PUBLIC),
        notes={
            "source": path.name,
            "read": {"users": sizes.height, "records": counts["read"]},
            "kept": {"users": passed.height, "records": records.height},
            "public": chosen["public_records"] - free,
            "skipped": {reason: count for reason, count in skipped.items() if count},
            "bad_rows": skips.examples,
            "shared_texts": shared_texts(records),
            "remarks": [],
        },
    )


def _sizes(
    batches: Iterator[pl.DataFrame], least: int, most: int
) -> tuple[pl.DataFrame, Counter[str]]:
    """Return each user's number of records of allowed length, and what was read and left out."""
    sizes = pl.DataFrame(schema={"user": pl.String, "records": pl.UInt64})
    counts: Counter[str] = Counter()
    waiting: list[pl.DataFrame] = []
    for batch in batches:
        longer = _words_between(batch, least, UNLIMITED)
        fit = _words_between(longer, 1, most)
        counts["read"] += batch.height
        counts["short"] += batch.height - longer.height
        counts["long"] += longer.height - fit.height
        waiting.append(fit.group_by("user").agg(pl.len().cast(pl.UInt64).alias("records")))
        if sum(counted.height for counted in waiting) > _COUNTED_ROWS:
            sizes, waiting = _added(sizes, waiting), []
    return _added(sizes, waiting), counts


def _words_between(batch: pl.DataFrame, least: int, most: int) -> pl.DataFrame:
    # Counting words costs more than reading the file, and every usable text has one.
    if least <= 1 and most == UNLIMITED:
        return batch
    return batch.filter(word_count().is_between(least, most))


def _added(sizes: pl.DataFrame, waiting: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([sizes, *waiting]).group_by("user").sum()


def _scalar(field: str, value: object) -> str:
    if value is None and field != "user":
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return str(int(value)) if value.is_integer() else repr(value)
    raise BadRow(f"{field} is neither text nor number", repr(value)[:80])


# Lone surrogates: a byte that could not be decoded, or half of an escaped pair.
_SURROGATE = re.compile("[\ud800-\udfff]")
