"""The reviews of the Yelp Open Dataset: one JSON object a line, the stars as label."""

from collections.abc import Mapping

from pe_core.text.datasets import jsonlines
from pe_core.text.datasets.frame import Dataset, options
from pe_core.text.datasets.rows import FILTERS, select, source

_COLUMNS = {"user": "user_id", "label": "stars", "text": "text"}
_STARS = frozenset("12345")


def load(given: Mapping[str, object]) -> Dataset:
    """Return users with exactly 64 reviews, as the paper has them.

    Args:
        given: the dataset's options. `path` of `yelp_academic_dataset_review.json`, and those of
            `rows.FILTERS`, where `minimum_records` and `maximum_records` are 64.

    Raises:
        InputError: an option is wrong, the file is missing or empty, a line is bad (where bad rows
            are errors), or no user passes.

    Example:
        >>> load({"path": "yelp_academic_dataset_review.json"})
        Traceback (most recent call last):
        pe_core.errors.InputError: yelp_academic_dataset_review.json: no such file
    """
    defaults = {"path": str, **FILTERS, "minimum_records": 64, "maximum_records": 64}
    chosen = options("yelp", given, defaults)
    path = source(chosen["path"])
    return select(
        path, lambda skips: jsonlines.batches(path, _COLUMNS, skips, _STARS), chosen, "yelp"
    )
