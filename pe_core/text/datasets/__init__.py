"""Datasets of users' texts, by the names that the config gives them.

`shakespeare` ships with the environment; `yelp` and `sentiment140` read the original files; `table`
reads any Parquet, CSV or JSON-lines file. See `docs/datasets.md` for every option.
"""

from collections.abc import Callable, Mapping

from pe_core.errors import InputError
from pe_core.text.datasets import sentiment140, shakespeare, table, yelp
from pe_core.text.datasets.frame import Dataset

__all__ = ["Dataset", "load"]

_LOADERS: dict[str, Callable[[Mapping[str, object]], Dataset]] = {
    "shakespeare": shakespeare.load,
    "yelp": yelp.load,
    "sentiment140": sentiment140.load,
    "table": table.load,
}


def load(name: str, options: Mapping[str, object]) -> Dataset:
    """Return the dataset called `name`.

    Args:
        name: `shakespeare`, `yelp`, `sentiment140` or `table`.
        options: that dataset's options, as its module's `load` lists them.

    Raises:
        InputError: no such dataset, a wrong option, or input that cannot be used, with its file and
            line or row.

    Example:
        >>> load("shakespeare", {}).records.columns
        ['user', 'record', 'label', 'group', 'text']
    """
    if name not in _LOADERS:
        raise InputError(f"unknown dataset {name!r}; allowed: {', '.join(_LOADERS)}")
    return _LOADERS[name](options)
