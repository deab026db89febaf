"""Choice of how a trial draws who takes part: tables of group patterns, or skips for small q."""

import math
from functools import lru_cache

import numpy as np

from pe_core.kernels.sampling import BLOCK, Patterns

# Nanoseconds of the steps that the choice weighs, as benchmarks/core_trials.py prints them: a table
# draw with its random bits, an escape, a table cell filled, a pattern summed, a skip.
_DRAW, _ESCAPE, _CELL, _PATTERN, _SKIP = 0.47, 7.0, 0.25, 1.2, 12.0
# The patterns of a group that are listed, so that escapes to them cost one lookup.
_LISTED = 4096
_LARGEST_GROUP = 48
_BITS = (11, 12, 13, 14)


@lru_cache(maxsize=256)
def plan(users: int, participation: float) -> tuple[int, Patterns]:
    """Choose the cheapest way to draw Σ I_u s_u, and build its patterns.

    Args:
        users: number of users with a weight, ≥ 1.
        participation: q in (0, 1/2]; a larger q is drawn by who stays out.

    Returns:
        The number of users a group, and the patterns (without table bits where users are drawn by
        skips, a user a group).

    Example:
        >>> plan(1000, 1e-6)[1].bits
        0
    """
    best, choice = users * participation * _SKIP, (1, 0)
    for bits in _BITS:
        for size in range(1, min(users, _LARGEST_GROUP) + 1):
            cells = _cells(size, participation, bits)
            taken = sum(math.comb(size, k) * n for k, n in enumerate(cells))
            escapes = 1.0 - taken / (1 << bits)
            fixed = _CELL * (1 << bits) + _PATTERN * _listed_patterns(size)
            cost = -(-users // size) * (_DRAW + _ESCAPE * escapes + fixed / BLOCK)
            if cost < best:
                best, choice = cost, (size, bits)
    size, bits = choice
    return size, _patterns(size, participation, bits)


def _cells(size: int, participation: float, bits: int) -> list[int]:
    """Cells of one pattern with k participants, for each listed k up to the last that has any."""
    cells = []
    for k in range(_listed_sizes(size)):
        n = math.floor(_probability(size, k, participation) * (1 << bits))
        if n == 0:
            break
        cells.append(n)
    return cells


def _probability(size: int, k: int, participation: float) -> float:
    return participation**k * (1.0 - participation) ** (size - k)


def _listed_sizes(size: int) -> int:
    """How many sizes 0, 1, … have all their patterns listed."""
    total = 0
    for k in range(size + 1):
        total += math.comb(size, k)
        if total > _LISTED:
            return k
    return size + 1


def _listed_patterns(size: int) -> int:
    return sum(math.comb(size, k) for k in range(_listed_sizes(size)))


def _patterns(size: int, participation: float, bits: int) -> Patterns:
    if bits == 0:
        none = np.zeros(1, np.int64)
        return Patterns(0, none, none, none, none, np.ones(1))
    parents, members = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    largest, first = np.array([-1]), [0, 1]
    for _ in range(1, _listed_sizes(size)):
        fits = size - 1 - largest
        parent = np.repeat(np.arange(first[-2], first[-1]), fits)
        start = np.repeat(np.cumsum(fits) - fits, fits)
        member = np.repeat(largest + 1, fits) + np.arange(fits.sum()) - start
        parents.append(parent)
        members.append(member)
        largest = member
        first.append(first[-1] + parent.size)
    cells = _cells(size, participation, bits)
    per_pattern = np.repeat(cells, np.diff(first[: len(cells) + 1]))
    left = np.array(
        [
            math.comb(size, k)
            * (
                _probability(size, k, participation) * (1 << bits)
                - (cells[k] if k < len(cells) else 0)
            )
            for k in range(size + 1)
        ]
    )
    below = np.cumsum(left)
    below /= below[-1] if below[-1] > 0.0 else 1.0
    below[-1] = 1.0
    return Patterns(
        bits,
        np.concatenate(parents),
        np.concatenate(members),
        np.concatenate(([0], np.cumsum(per_pattern))).astype(np.int64),
        np.array(first, np.int64),
        below,
    )
