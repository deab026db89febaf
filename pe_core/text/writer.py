"""Asking for texts until there are as many as are wanted, and keeping those that meet the rules."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pe_core.text.acceptance import Public, Rules, clean, plain
from pe_core.text.answers import Response
from pe_core.text.client import Client, Request

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Accepted:
    """A text that meets the rules; `similarity` is NaN where nothing was compared."""

    text: str
    request: Request
    similarity: float


class Writer:
    """Asks for texts group by group (a label, a source record) and keeps what is accepted.

    Args:
        client: where texts are written.
        ask: called with a group and the number of its earlier tries; returns the request and the
            texts in its prompt.
        rules: what is accepted.
        public: lines that a text may not repeat.
        similarity: cosines, float64 (n,), of n texts with the sources of their groups.

    Attributes:
        accepted: by group, in the order in which they were asked for.
        counts: "asked", "accepted" and one per reason of refusal.

    Example, with a stand-in for the client:
        >>> class Author:
        ...     concurrency = 1
        ...     def complete(self, requests):
        ...         for request in requests:
        ...             yield request, Response(f"Ship {request.seed} came home", "stop")
        >>> ask = lambda group, tries: (Request("A line:", False, seed=tries), [])
        >>> writer = Writer(Author(), ask, Rules(), [])
        >>> writer.write([2], None)
        >>> [row.text for row in writer.accepted[0]]
        ['Ship 0 came home', 'Ship 1 came home']
    """

    def __init__(
        self,
        client: Client,
        ask: Callable[[int, int], tuple[Request, list[str]]],
        rules: Rules,
        public: Iterable[str],
        similarity: Callable[[Sequence[int], Sequence[str]], NDArray[np.float64]] | None = None,
    ) -> None:
        self._client = client
        self._ask = ask
        self._rules = rules
        self._similarity = similarity
        self._public = Public(public)
        self._seen: set[str] = set()
        self._tries: Counter[int] = Counter()
        self.accepted: list[list[Accepted]] = []
        self.counts: Counter[str] = Counter(asked=0, accepted=0)

    def missing(self, wanted: Sequence[int]) -> int:
        """How many of the wanted texts are not there."""
        return sum(n - len(accepted) for n, accepted in zip(wanted, self.accepted))

    def describe(self) -> str:
        """The counts in words."""
        return ", ".join(f"{count} {reason}" for reason, count in self.counts.items())

    def write(self, wanted: Sequence[int], progress: Progress | None) -> None:
        """Write until each group has what is wanted of it, or has used up its tries."""
        self.accepted += [[] for _ in range(len(wanted) - len(self.accepted))]
        while batch := self._batch(wanted):
            requests = [request for _, request, _ in batch]
            answers = self._client.complete(requests)
            # Judged in parts, so that progress shows while a long batch is being written.
            for start in range(0, len(batch), self._client.concurrency):
                part = batch[start : start + self._client.concurrency]
                self._judge(part, [next(answers)[1] for _ in part], wanted)
                if progress is not None:
                    progress(sum(map(len, self.accepted)), sum(wanted))

    def _batch(self, wanted: Sequence[int]) -> list[tuple[int, Request, list[str]]]:
        needs = {
            group: n - len(self.accepted[group])
            for group, n in enumerate(wanted)
            if len(self.accepted[group]) < n and self._tries[group] < self._rules.attempts * n
        }
        # A batch smaller than the number of slots costs the same time: fill it with spare tries.
        spare = max(1, self._client.concurrency // max(1, sum(needs.values())))
        batch = []
        for group, need in needs.items():
            left = self._rules.attempts * wanted[group] - self._tries[group]
            for _ in range(min(need * spare, left)):
                request, sources = self._ask(group, self._tries[group])
                self._tries[group] += 1
                batch.append((group, request, sources))
        return batch

    def _judge(
        self,
        batch: Sequence[tuple[int, Request, list[str]]],
        answers: Sequence[Response],
        wanted: Sequence[int],
    ) -> None:
        texts = [clean(answer.text) for answer in answers]
        reasons = [
            self._rules.fault(text, answer.finish, self._public, sources)
            for text, answer, (_, _, sources) in zip(texts, answers, batch)
        ]
        near = np.full(len(texts), np.nan)
        sound = [i for i, reason in enumerate(reasons) if reason is None]
        if self._similarity is not None and sound:
            near[sound] = self._similarity([batch[i][0] for i in sound], [texts[i] for i in sound])
        for i, (group, request, _) in enumerate(batch):
            reason = reasons[i]
            if near[i] < self._rules.min_similarity:
                reason = "too far from the source"
            elif near[i] > self._rules.max_similarity:
                reason = "too near the source"
            elif reason is None and plain(texts[i]) in self._seen:
                reason = "repeated"
            elif reason is None and len(self.accepted[group]) == wanted[group]:
                reason = "spare"
            self.counts["asked"] += 1
            self.counts[reason or "accepted"] += 1
            if reason is None:
                self._seen.add(plain(texts[i]))
                self.accepted[group].append(Accepted(texts[i], request, float(near[i])))
