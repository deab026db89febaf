"""What the generator is told, and which of its answers enter the bank.

Nothing here can reach a user: the arguments are public data, and so is all that is imported.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pe_core.errors import InputError
from pe_core.evolution.data import Bank, Release, Rules
from pe_core.evolution.selection import ranking


@dataclass(frozen=True)
class Feedback:
    """All that the generator is told for one new text.

    Attributes:
        position: bank position that the text will take.
        label: the text's label.
        high: texts to write like; for paraphrases, the one to rewrite.
        low: texts not to write like.
        seed: for the generator's own sampling, in 0 … 2³¹ − 1.
    """

    position: int
    label: str
    high: tuple[str, ...]
    low: tuple[str, ...]
    seed: int


Generate = Callable[[Sequence[Feedback]], Sequence[str | None]]
"""Answers requests in order; None, an empty text or a missing tail is a request not answered."""


def requests(
    bank: Bank,
    release: Release,
    survivors: NDArray[np.int64],
    rules: Rules,
    generator: np.random.Generator,
) -> list[Feedback]:
    """Build the feedback for every position that a new text will take, ascending.

    Under `"examples"` a new text has the label of its position and is shown `high` survivors and
    `low` of the lowest-scored entries, as many of these as there are survivors, drawn without
    replacement, once for each `together` positions of a label. Under `"paraphrases"` the i-th new
    text rewrites survivor i modulo s and takes its label. Probes are shown to nobody. What is drawn
    for a position does not depend on which other positions are free.

    Args:
        bank: the bank that was voted on.
        release: its noisy histogram.
        survivors: from `select`.
        rules: which feedback.
        generator: of the round.

    Raises:
        InputError: a histogram of another length.

    Example:
        >>> bank = Bank(("a", "b", "c"), ("x", "y", "z"))
        >>> release = Release(np.array([3.0, 1.0, 2.0]))
        >>> rules = Rules(keep=0.3, high=2)
        >>> for each in requests(bank, release, np.array([0]), rules, np.random.default_rng(0)):
        ...     print(each.position, each.label, each.high, each.low)
        1 y ('a',) ('b',)
        2 z ('a',) ('b',)
    """
    p, s = len(bank.texts), len(survivors)
    ranked = ranking(bank, release)
    others = ranked[~np.isin(ranked, survivors)]
    vacant = np.sort(others)
    seed = generator.integers(2**31, size=p)
    if rules.feedback == "paraphrases":
        return [
            Feedback(int(at), bank.labels[source], (bank.texts[source],), (), int(seed[at]))
            for at, source in zip(vacant, np.resize(survivors, len(vacant)))
        ]
    lowest = others[::-1][:s]

    leader = _leaders(bank.labels, rules.together)

    def drawn(pool: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        # The draw has s columns even where fewer entries are left, so that runs stay in step.
        order = np.argsort(generator.random((p, s))[:, : len(pool)], axis=1)
        return pool[order[leader, :count]]

    high, low = drawn(survivors, rules.high), drawn(lowest, rules.low)
    return [
        Feedback(
            int(at),
            bank.labels[at],
            tuple(bank.texts[j] for j in high[at]),
            tuple(bank.texts[j] for j in low[at]),
            int(seed[at]),
        )
        for at in vacant
    ]


def _leaders(labels: Sequence[str], together: int) -> list[int]:
    """Return for each position the first of the `together` positions of its label it belongs to.

    All positions count, whether they take a new text or not, so that runs stay in step.
    """
    seen: Counter[str] = Counter()
    first: dict[tuple[str, int], int] = {}
    found = []
    for position, label in enumerate(labels):
        found.append(first.setdefault((label, seen[label] // together), position))
        seen[label] += 1
    return found


def renew(
    bank: Bank, asked: Sequence[Feedback], generate: Generate, rules: Rules
) -> tuple[Bank, Counter[str]]:
    """Ask the generator for new texts and put them into the bank.

    A text is used when it is not empty and differs from every entry that stays and every text used
    before it. Positions that got none are asked for again under another seed, up to
    `rules.attempts` times; under `"paraphrases"` each time of the next survivor in turn, since
    there may be one that the generator only repeats.

    Args:
        bank: the bank that was voted on.
        asked: from `requests`; all other entries stay.
        generate: called with requests that still have no text.
        rules: gives the attempts.

    Returns:
        The next bank, and how many answers were refused by reason: missing, empty, duplicate.

    Raises:
        InputError: more answers than requests, or positions without a text after all attempts.

    Example:
        >>> bank = Bank(("a", "b"), ("x", "x"))
        >>> asked = [Feedback(1, "x", ("a",), (), 7)]
        >>> renew(bank, asked, lambda requests: ["c"], Rules())[0].texts
        ('a', 'c')
    """
    texts, labels = list(bank.texts), list(bank.labels)
    replaced = {each.position for each in asked}
    taken = {text for at, text in enumerate(texts) if at not in replaced}
    refused: Counter[str] = Counter()
    following = _turns(asked) if rules.feedback == "paraphrases" else {}
    todo = list(asked)
    for _ in range(rules.attempts):
        if not todo:
            break
        answers = generate(todo)
        if len(answers) > len(todo):
            raise InputError(f"generator: {len(answers)} answers to {len(todo)} requests")
        again = todo[len(answers) :]
        refused["missing"] += len(again)
        for each, answer in zip(todo, answers):
            text = (answer or "").strip()
            if text and text not in taken:
                taken.add(text)
                texts[each.position], labels[each.position] = text, each.label
                continue
            refused["missing" if answer is None else "duplicate" if text else "empty"] += 1
            again.append(each)
        todo = [_again(each, following) for each in sorted(again, key=lambda each: each.position)]
    if todo:
        counts = ", ".join(f"{count} {reason}" for reason, count in sorted(refused.items()))
        raise InputError(
            f"generator: {len(todo)} of {len(asked)} new texts are missing after "
            f"{rules.attempts} attempts (answers refused: {counts})"
        )
    return Bank(tuple(texts), tuple(labels), bank.reserved), refused


Source = tuple[tuple[str, ...], str]


def _turns(asked: Sequence[Feedback]) -> dict[Source, Source]:
    """Return for each text to rewrite, and its label, the one that comes next in turn."""
    sources = list(dict.fromkeys((each.high, each.label) for each in asked))
    return dict(zip(sources, sources[1:] + sources[:1]))


def _again(each: Feedback, following: dict[Source, Source]) -> Feedback:
    source = each.high, each.label
    high, label = following.get(source, source)
    # An odd step walks through all seeds, so no attempt repeats an earlier one's.
    return replace(each, high=high, label=label, seed=(each.seed + 0x9E3779B1) % 2**31)
