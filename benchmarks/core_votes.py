"""Contributions from routes beside a product of sparse matrices."""

from collections.abc import Iterator

import numpy as np
from core_routing import BANK, K
from measure import growth, in_child, least
from scipy import sparse
from scipy.sparse import linalg

from pe_core.contribution import contributions

USERS = {
    "quick": [1_000, 10_000],
    "default": [1_000, 10_000, 100_000],
    "full": [1_000, 10_000, 100_000, 1_000_000],
}
# Why a column may grow faster than its size; printed where it does.
REASONS = {
    "CPU ms": "the system clears fresh pages for the rows; time in user mode is linear",
    "scipy CPU ms": "the system clears fresh pages for the matrices",
    "peak MB": "a process starts at 110 MB, so few users hardly show",
}


def votes(users: int) -> tuple[np.ndarray, np.ndarray]:
    """Sixteen records a user, votes in runs of the bank so that users repeat their candidates."""
    rng = np.random.default_rng(4)
    user = np.repeat(np.arange(users), 16)
    first = rng.integers(0, BANK - K, users)[user] + rng.integers(0, 20, user.size)
    index = (first[:, None] + np.arange(K)) % BANK
    return index.astype(np.int32), user


def count(users: int) -> None:
    contributions(*votes(users), users, BANK, 0.1)


def by_scipy(index: np.ndarray, user: np.ndarray, users: int) -> sparse.csr_array:
    entries = np.ones(index.size)
    rows = sparse.coo_array(
        (entries, (np.repeat(user, K), index.ravel())), shape=(users, BANK)
    ).tocsr()
    each = linalg.norm(rows, axis=1)
    share = 1 / (np.bincount(user, minlength=users) * K)
    return sparse.diags_array(share * np.minimum(1, 0.1 / (each * share))) @ rows


def tables(size: str) -> Iterator[str]:
    columns: dict[str, list[float]] = {
        "CPU ms": [],
        "scipy CPU ms": [],
        "scipy/ours": [],
        "peak MB": [],
    }
    for users in USERS[size]:
        index, user = votes(users)
        rows = contributions(index, user, users, BANK, 0.1)
        if abs(rows - by_scipy(index, user, users)).max() > 1e-14:
            raise SystemExit("contributions and scipy disagree")
        costs = least(
            {
                "ours": lambda i=index, u=user, m=users: contributions(i, u, m, BANK, 0.1),
                "scipy": lambda i=index, u=user, m=users: by_scipy(i, u, m),
            },
            3,
        )
        columns["CPU ms"].append(costs["ours"].cpu * 1e3)
        columns["scipy CPU ms"].append(costs["scipy"].cpu * 1e3)
        columns["scipy/ours"].append(costs["scipy"].cpu / costs["ours"].cpu)
        columns["peak MB"].append(in_child("core_votes", "count", users)[1])
    yield growth(
        "users", USERS[size], columns, REASONS,
        f"Contributions: 16 records a user, {BANK:,} candidates",
    )  # fmt: skip
