"""Algorithm A.1 in one piece: publish a bank, let users vote, keep, write, and again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pe_core import contribution, routing
from pe_core.evolution.data import Bank, Release, Rules
from pe_core.evolution.feedback import Generate, renew, requests
from pe_core.evolution.rerouting import reroute
from pe_core.evolution.selection import select
from pe_core.evolution.voting import Voters, publish
from pe_core.mechanism import Mechanism

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""Embeds texts as float32 unit rows."""

Streams = Callable[[str, int], np.random.Generator]
"""The random stream of a purpose and a round; runs with equal streams share every draw."""


@dataclass(frozen=True, eq=False)
class Round:
    """What one round leaves: the bank that was voted on, and the one it became.

    Attributes:
        published: the bank voted on.
        release: its noisy histogram.
        survivors: (s,) int64 positions, largest noisy count first.
        bank: the next bank; survivors and probes stand where they stood.
        refused: answers not used, by reason (missing, empty, duplicate).
    """

    published: Bank
    release: Release
    survivors: NDArray[np.int64]
    bank: Bank
    refused: Mapping[str, int]


def run(
    bank: Bank,
    voters: Voters,
    mechanism: Mechanism,
    rules: Rules,
    generate: Generate,
    encode: Encode,
    streams: Streams,
) -> Iterator[Round]:
    """Run `mechanism.releases` rounds of Private Evolution (Algorithm A.1).

    Only new texts are encoded and routed; entries that stay keep their distances.

    Args:
        bank: the first bank, probes included.
        voters: the eligible users.
        mechanism: N, q, σ, C, k and the number of rounds.
        rules: selection and feedback.
        generate, encode: the models.
        streams: called with "participation", "noise", "selection" and "feedback" and the round.

    Yields:
        One `Round` after another, as each ends.

    Raises:
        InputError: as `publish`, `select`, `requests`, `renew`, `reroute` and `routing.top_k`.

    Example:
        >>> rows = np.eye(3, dtype=np.float32)
        >>> mechanism = Mechanism(2, 1.0, 0.0, 1.0, 1e-5, votes=1, releases=2)
        >>> rounds = run(
        ...     Bank(("0", "1", "2"), ("x",) * 3),
        ...     Voters(rows[[1, 1]], np.array([0, 1]), 2),
        ...     mechanism,
        ...     Rules(keep=0.3),
        ...     lambda asked: [f"{each.position} like {each.high[0]}" for each in asked],
        ...     lambda texts: rows[[int(text[0]) for text in texts]],
        ...     lambda purpose, t: np.random.default_rng(t),
        ... )
        >>> [each.bank.texts for each in rounds]
        [('0 like 1', '1', '2 like 1'), ('0 like 1', '1', '2 like 1')]
    """
    rules.survivors(bank)
    vectors = encode(bank.texts)
    routes = routing.top_k(voters.records, vectors, mechanism.votes)
    for t in range(1, mechanism.releases + 1):
        votes = contribution.contributions(
            routes.index, voters.user, voters.users, len(bank.texts), mechanism.clip
        )
        release = publish(votes, mechanism, streams("participation", t), streams("noise", t))
        survivors = select(bank, release, rules, streams("selection", t))
        asked = requests(bank, release, survivors, rules, streams("feedback", t))
        following, refused = renew(bank, asked, generate, rules)
        yield Round(bank, release, survivors, following, refused)
        if t < mechanism.releases and asked:
            changed = np.array([each.position for each in asked])
            vectors = vectors.copy()
            vectors[changed] = encode([following.texts[at] for at in changed])
            routes = reroute(routes, voters.records, vectors, changed)
        bank = following
