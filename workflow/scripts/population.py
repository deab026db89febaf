"""The cohorts as arrays, and the mechanism that they meet."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from artifacts import checked
from pe_core import Mechanism

# The order of the cohorts in records.parquet and in every array over users.
COHORTS = ("canary", "auxiliary", "calibration", "test")


class Population(NamedTuple):
    """Users numbered in the row order of records.parquet.

    Attributes:
        user: number of every record's user, int64 (records,).
        first: where each cohort's users begin, and their total at the end, int64 (5,).
    """

    user: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]

    def users(self, cohort: str) -> slice:
        """Return the users of one cohort."""
        at = COHORTS.index(cohort)
        return slice(int(self.first[at]), int(self.first[at + 1]))


def load(path: str) -> Population:
    """Read the users and cohorts of records.parquet."""
    table = pl.read_parquet(checked(path), columns=["user", "cohort"])
    names, cohorts = table["user"].to_numpy(), table["cohort"].to_numpy()
    starts = np.ones(len(table), bool)
    starts[1:] = names[1:] != names[:-1]
    sizes = [int(np.sum(starts & (cohorts == cohort))) for cohort in COHORTS]
    return Population(np.cumsum(starts) - 1, np.cumsum([0, *sizes]))


def mechanism(settings: Mapping[str, Any], population: int) -> Mechanism:
    """Return the mechanism of the config for `population` eligible users besides the canary."""
    names = ("participation", "noise_multiplier", "clip", "delta", "votes")
    return Mechanism(population=population, **{name: settings[name] for name in names})
