"""Users divided into the disjoint cohorts of an audit."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pe_core import seeds
from pe_core.errors import InputError

COHORTS = ("canary", "auxiliary", "calibration", "test")


def split(
    records: pl.DataFrame,
    sizes: Mapping[str, int],
    canary_records: int,
    maximum_records: int,
    seed: int,
    names: tuple[str | int, ...] = (),
) -> pl.DataFrame:
    """Draw the users of every cohort at random and return their records.

    No user is in two cohorts, and no group is: users that a chain of shared groups connects go
    together, and those whom their cohort has no place for are left out. Canaries are drawn first,
    from the users with enough records; then the groups, in random order, each go to the cohort
    that still lacks most users.

    Args:
        records: rows of `user`, `record`, `label`, `text`, and optionally `group` ("" for none),
            in any order.
        sizes: users in each of the cohorts `canary`, `auxiliary`, `calibration` and `test`.
        canary_records: records of a canary: a user with fewer cannot be one, and the first so many
            are kept.
        maximum_records: most records of any other user (m); the first so many are kept.
        seed: the config's seed.
        names: what the draw is for, e.g. the dataset's name.

    Returns:
        The cohorts' rows of `user`, `record`, `cohort`, `label`, `text` (and `group` where it was
        given), by cohort, user in the order drawn, and record. More canaries keep the first ones.

    Raises:
        InputError: a column is missing, a record's number occurs twice, a size is not allowed, or
            there are too few users.

    Example:
        >>> rows = pl.DataFrame({"user": ["a", "b", "c", "d"], "record": 0, "label": "",
        ...                      "text": "x"})
        >>> drawn = split(rows, {"canary": 1, "auxiliary": 1, "calibration": 1, "test": 1}, 1, 1, 0)
        >>> drawn["cohort"].to_list(), drawn["user"].n_unique()
        (['canary', 'auxiliary', 'calibration', 'test'], 4)
    """
    _check(records, sizes, canary_records, maximum_records)
    users = records.group_by("user").len("records").sort("user")
    component = _components(records, users["user"])
    enough = users["records"].to_numpy() >= canary_records
    order = np.argsort(
        seeds.generator(seed, *names, "cohorts").permutation(component.max(initial=-1) + 1)
    )
    members = [np.flatnonzero(component == part) for part in range(order.size)]
    drawn: dict[str, list[int]] = {cohort: [] for cohort in COHORTS}
    rest = []
    for part in order:
        canaries = members[part][enough[members[part]]]
        free = sizes["canary"] - len(drawn["canary"])
        if free and canaries.size:
            drawn["canary"] += canaries[:free].tolist()
        else:
            rest.append(members[part])
    for group in rest:
        lacking = {name: sizes[name] - len(drawn[name]) for name in COHORTS[1:]}
        cohort = max(lacking, key=lambda name: lacking[name])
        drawn[cohort] += group[: lacking[cohort]].tolist()
    if any(len(drawn[cohort]) < sizes[cohort] for cohort in COHORTS):
        raise InputError(_too_few(sizes, canary_records, enough, order.size, drawn))
    return _rows(records, users["user"], drawn, canary_records, maximum_records)


def outside(records: pl.DataFrame, cohorts: pl.DataFrame) -> pl.DataFrame:
    """Return the records of users who are in no cohort and share no group with anyone who is.

    Args:
        records: what `split` divided.
        cohorts: what it returned.

    Returns:
        Rows of `records`, in their order.

    Raises:
        InputError: a column is missing, or a cohort's user has no record.

    Example:
        >>> rows = pl.DataFrame({"user": ["a", "b", "c"], "group": ["g", "g", ""]})
        >>> outside(rows, rows.head(1))["user"].to_list()
        ['c']
    """
    for name, frame in (("records", records), ("cohorts", cohorts)):
        if "user" not in frame.columns:
            raise InputError(f"{name} have no column user; found: {', '.join(frame.columns)}")
    users = records["user"].unique().sort()
    taken = users.is_in(cohorts["user"].unique().to_list()).to_numpy()
    if taken.sum() != cohorts["user"].n_unique():
        raise InputError("a user of the cohorts has no record in the records given")
    component = _components(records, users)
    free = users.to_frame().filter(~np.isin(component, component[taken]))
    return records.join(free, on="user", how="semi", maintain_order="left")


def _check(
    records: pl.DataFrame, sizes: Mapping[str, int], canary_records: int, maximum_records: int
) -> None:
    missing = [name for name in ("user", "record", "label", "text") if name not in records.columns]
    if missing:
        raise InputError(
            f"records have no column {', '.join(missing)}; found: {', '.join(records.columns)}"
        )
    twice = records.select("user", "record").is_duplicated()
    if twice.any():
        user, record = records.select("user", "record").filter(twice).row(0)
        raise InputError(f"record {record} of user {user!r} occurs more than once")
    if set(sizes) != set(COHORTS):
        raise InputError(f"cohort sizes name {', '.join(sizes)}; they must name {COHORTS}")
    for name, size in sizes.items():
        if size < 0:
            raise InputError(f"cohort {name} has size {size}; it must be at least 0")
    if not 1 <= canary_records <= maximum_records:
        raise InputError(
            f"canary_records is {canary_records} and maximum_records {maximum_records}; "
            f"it must be 1 ≤ canary_records ≤ maximum_records"
        )


def _components(records: pl.DataFrame, users: pl.Series) -> NDArray[np.int32]:
    """Return for each user (sorted) which set of connected users it belongs to.

    Two users are connected when a group holds records of both.
    """
    if "group" not in records.columns:
        return np.arange(users.len(), dtype=np.int32)
    links = records.filter(pl.col("group").fill_null("") != "").select("user", "group").unique()
    user = users.search_sorted(links["user"]).to_numpy()
    group = links["group"].rank("dense").to_numpy().astype(np.int64) - 1 + users.len()
    size = users.len() + links["group"].n_unique()
    graph = coo_array((np.ones(user.size, np.int8), (user, group)), shape=(size, size))
    label = connected_components(graph, directed=False)[1][: users.len()]
    # Numbered by their first user, so that the numbers depend on nothing else.
    first, inverse = np.unique(label, return_index=True, return_inverse=True)[1:]
    return np.argsort(np.argsort(first))[inverse].astype(np.int32)


def _rows(
    records: pl.DataFrame,
    users: pl.Series,
    drawn: Mapping[str, list[int]],
    canary_records: int,
    maximum_records: int,
) -> pl.DataFrame:
    table = pl.concat(
        pl.DataFrame({"user": users.gather(drawn[cohort])}).with_columns(
            pl.lit(cohort).alias("cohort"),
            pl.lit(canary_records if cohort == "canary" else maximum_records).alias("most"),
        )
        for cohort in COHORTS
    ).with_row_index("place")
    columns = [name for name in ("label", "text", "group") if name in records.columns]
    return (
        records.join(table, on="user")
        .sort("place", "record")
        .filter(pl.int_range(pl.len()).over("user") < pl.col("most"))
        .select("user", "record", "cohort", *columns)
    )


def _too_few(
    sizes: Mapping[str, int],
    canary_records: int,
    enough: NDArray[np.bool_],
    groups: int,
    drawn: Mapping[str, list[int]],
) -> str:
    needed = ", ".join(f"{sizes[cohort]} {cohort}" for cohort in COHORTS)
    found = ", ".join(f"{len(drawn[cohort])} {cohort}" for cohort in COHORTS)
    return (
        f"too few users: the cohorts need {needed} ({sum(sizes.values())} users, each canary with "
        f"at least {canary_records} records); there are {enough.size} users, {enough.sum()} of "
        f"them with so many records, in {groups} groups that may not be divided, "
        f"which fill {found}"
    )
