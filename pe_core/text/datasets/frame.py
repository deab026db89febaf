"""The frame that every dataset ends in, and the checks that all of them share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from pe_core.errors import InputError

RECORDS = ("user", "record", "label", "group", "text")
PUBLIC = ("label", "text")


@dataclass(frozen=True)
class Dataset:
    """Texts of users.

    Attributes:
        records: one row a record, sorted by user and record: `user` (str), `record` (int64, from 0
            within the user in source order), `label` (str, "" for none), `group` (str, "" for none:
            the user is a group of their own) and `text` (str).
        public: `label` and `text` of people who can be in no cohort; may have no rows.
        notes: what was read, kept and skipped, ready for JSON.
    """

    records: pl.DataFrame
    public: pl.DataFrame
    notes: dict[str, Any]


def options(
    name: str, given: Mapping[str, object], defaults: Mapping[str, object]
) -> dict[str, Any]:
    """Return `defaults` overlaid with `given`; a default's type is the option's type.

    A default that is a type stands for a required option of that type.

    Raises:
        InputError: an unknown option, a missing one, or one of the wrong type.

    Example:
        >>> options("yelp", {"path": "a"}, {"path": str, "minimum_records": 64})
        {'path': 'a', 'minimum_records': 64}
    """
    unknown = sorted(set(given) - set(defaults))
    if unknown:
        raise InputError(
            f"dataset {name}: unknown option {', '.join(unknown)}; allowed: {', '.join(defaults)}"
        )
    chosen: dict[str, Any] = {}
    for key, default in defaults.items():
        kind = default if isinstance(default, type) else type(default)
        value = given.get(key, default)
        if isinstance(value, type):
            raise InputError(f"dataset {name}: option {key} is missing")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise InputError(
                f"dataset {name}: option {key} is {value!r}; it must be {_KINDS[kind]}"
            )
        chosen[key] = dict(value) if isinstance(value, Mapping) else value
    return chosen


def check_range(name: str, key: str, low: int, high: int) -> None:
    """Check that `1 ≤ low ≤ high` for the options `minimum_<key>` and `maximum_<key>`.

    Raises:
        InputError: they are not.

    Example:
        >>> check_range("yelp", "words", 1, 100)
    """
    if not 1 <= low <= high:
        raise InputError(
            f"dataset {name}: minimum_{key} is {low} and maximum_{key} is {high}; "
            f"it must be 1 ≤ minimum ≤ maximum"
        )


def numbered(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `rows` (user, label, group, text in source order) as sorted, numbered records.

    Example:
        >>> rows = pl.DataFrame({"user": ["b", "a", "b"], "label": "", "group": "",
        ...                      "text": ["x", "y", "z"]})
        >>> numbered(rows).select("user", "record", "text").rows()
        [('a', 0, 'y'), ('b', 0, 'x'), ('b', 1, 'z')]
    """
    return (
        rows.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over("user").alias("record"))
        .select(RECORDS)
        .sort("user", "record")
    )


def shared_texts(records: pl.DataFrame) -> dict[str, int]:
    """Return how many distinct texts several users share exactly, and how many records hold one.

    Example:
        >>> shared_texts(pl.DataFrame({"user": ["a", "a", "b"], "text": ["x", "y", "x"]}))
        {'texts': 1, 'records': 2}
    """
    shared = (
        records.group_by("text")
        .agg(pl.col("user").n_unique().alias("users"), pl.len().alias("records"))
        .filter(pl.col("users") > 1)
    )
    return {"texts": shared.height, "records": int(shared["records"].sum())}


def word_count(text: str = "text") -> pl.Expr:
    """Return the expression for the number of words (runs without white space) of a column.

    Example:
        >>> pl.DataFrame({"text": ["to be", " "]}).select(word_count())["text"].to_list()
        [2, 0]
    """
    return pl.col(text).str.count_matches(r"\S+")


_KINDS: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    dict: "a mapping",
}
