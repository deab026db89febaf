"""The tweets of Sentiment140: a Latin-1 CSV file without header, the polarity as label."""

import html
from collections.abc import Iterator, Mapping

import polars as pl

from pe_core.text.datasets import delimited
from pe_core.text.datasets.frame import Dataset, options
from pe_core.text.datasets.rows import FILTERS, Skips, select, source

_HEADER = ("polarity", "id", "date", "query", "user", "text")
_COLUMNS = {"user": "user", "label": "polarity", "text": "text"}
_POLARITIES = frozenset("024")


def load(given: Mapping[str, object]) -> Dataset:
    """Return users with 32 to 64 tweets, HTML entities decoded.

    Args:
        given: the dataset's options. `path` of `training.1600000.processed.noemoticon.csv`, and
            those of `rows.FILTERS`, where `minimum_records` is 32 and `maximum_records` 64.

    Raises:
        InputError: an option is wrong, the file is missing or empty, a row is bad (where bad rows
            are errors), or no user passes.

    Example:
        >>> load({"path": "training.csv"})
        Traceback (most recent call last):
        pe_core.errors.InputError: training.csv: no such file
    """
    defaults = {"path": str, **FILTERS, "minimum_records": 32, "maximum_records": 64}
    chosen = options("sentiment140", given, defaults)
    path = source(chosen["path"])

    def batches(skips: Skips) -> Iterator[pl.DataFrame]:
        return delimited.batches(
            path,
            _COLUMNS,
            skips,
            header=_HEADER,
            encoding="latin-1",
            labels=_POLARITIES,
            decode=html.unescape,
        )

    return select(path, batches, chosen, "sentiment140")
