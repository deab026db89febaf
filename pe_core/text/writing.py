"""Bank lines and paraphrases from a language model.

Both arms of the bank use one prompt form: bank A leaves the examples out, bank B puts three public
lines in, so that the arms differ in nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pe_core import seeds
from pe_core.errors import InputError
from pe_core.text.acceptance import Rules
from pe_core.text.client import Client, Request
from pe_core.text.forms import Form, check_fields
from pe_core.text.writer import Progress, Writer

ARMS = ("A", "B")
EXAMPLES = 3


class Encodes(Protocol):
    """What similarity needs of an encoder."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, one per text."""


@dataclass(frozen=True)
class Line:
    """One bank entry with what wrote it."""

    label: str
    text: str
    prompt: str
    seed: int


@dataclass(frozen=True)
class Paraphrase:
    """One pool entry: `source` is the position of its record, `similarity` their cosine."""

    source: int
    text: str
    prompt: str
    seed: int
    similarity: float


def bank(
    client: Client,
    labels: Sequence[str],
    size: int,
    arm: str,
    public: Mapping[str, Sequence[str]],
    form: Form,
    rules: Rules,
    seed: int,
    *names: str | int,
    progress: Progress | None = None,
) -> tuple[list[Line], dict[str, int]]:
    """Write a bank.

    Args:
        client: where texts are written.
        labels: the labels; position i of the bank has label i modulo their number.
        size: number of entries, ≥ 1.
        arm: "A" (label only) or "B" (three public lines of the label as examples, drawn anew for
            each line).
        public: public lines by label. Examples come from them; verbatim copies of them are refused
            in both arms.
        form: prompt and sampling, the same for both arms.
        rules: what is accepted.
        seed, names: what the sampling seeds are keyed by.
        progress: called with (lines accepted, size).

    Returns:
        The lines in bank order; and the counts: "asked", "accepted" and one per reason of refusal.

    Raises:
        InputError: an argument out of range, a label with too few public lines, a prompt without
            its fields, or a generator that cannot fill the bank; the message has the counts.

    Example, with a stand-in for the client:
        >>> from pe_core.text.answers import Response
        >>> class Author:
        ...     concurrency = 1
        ...     def complete(self, requests):
        ...         for request in requests:
        ...             yield request, Response(f"Ship {request.seed} came home", "stop")
        >>> form = Form("A line of a {label}:{examples}", chat=False)
        >>> lines, counts = bank(Author(), ["play"], 2, "A", {}, form, Rules(), 1, "toy")
        >>> len(lines), counts["accepted"]
        (2, 2)
    """
    check_fields(form.template, {"label", "examples"})
    check_fields(form.example, {"text"})
    if arm not in ARMS:
        raise InputError(f"arm = {arm!r}: allowed are {', '.join(ARMS)}")
    if size < 1 or not labels or len(set(labels)) != len(labels):
        raise InputError(f"{size} lines of labels {list(labels)}: 1 and distinct labels at least")
    shown_lines = {
        label: [text for text in public.get(label, ()) if len(text.split()) <= form.example_words]
        for label in labels
    }
    if arm == "B":
        for label, lines in shown_lines.items():
            if len(lines) < EXAMPLES:
                raise InputError(
                    f"label {label!r}: {len(lines)} public lines of at most {form.example_words} "
                    f"words, and bank B needs {EXAMPLES} of each label for its examples"
                )

    def ask(group: int, attempt: int) -> tuple[Request, list[str]]:
        label = labels[group]
        examples: list[str] = []
        if arm == "B":
            draw = seeds.generator(seed, *names, "examples", label, attempt)
            chosen = draw.choice(len(shown_lines[label]), EXAMPLES, replace=False)
            examples = [shown_lines[label][i] for i in chosen]
        shown = "".join(form.example.format(text=text) for text in examples)
        prompt = form.template.format(label=label, examples=shown)
        key = _seed(seed, *names, "line", arm, label, attempt)
        return Request(prompt, form.chat, key, form.sampling), examples

    wanted = [len(range(group, size, len(labels))) for group in range(len(labels))]
    writer = Writer(client, ask, rules, [text for lines in public.values() for text in lines])
    writer.write(wanted, progress)
    if writer.missing(wanted):
        raise InputError(f"the generator cannot fill bank {arm} of {size}: {writer.describe()}")
    rows = [writer.accepted[i % len(labels)][i // len(labels)] for i in range(size)]
    return [
        Line(labels[i % len(labels)], row.text, row.request.prompt, row.request.seed)
        for i, row in enumerate(rows)
    ], dict(writer.counts)


def paraphrases(
    client: Client,
    encoder: Encodes,
    records: Sequence[str],
    size: int,
    form: Form,
    rules: Rules,
    seed: int,
    *names: str | int,
    progress: Progress | None = None,
) -> tuple[list[Paraphrase], dict[str, int]]:
    """Write a pool of non-verbatim rewrites, spread evenly over the records.

    A record that stays without its share after `attempts` tries a text hands the rest on to the
    others; "handed on" in the counts says how many texts moved so.

    Args:
        client: where texts are written.
        encoder: decides the similarity to the source.
        records: the canary's texts, at least one.
        size: M, number of paraphrases, ≥ 1.
        form: prompt and sampling.
        rules: what is accepted.
        seed, names: what the sampling seeds are keyed by.
        progress: called with (paraphrases accepted, size).

    Returns:
        The paraphrases: the first of each record in record order, then the second ones, and so on;
        and the counts: "asked", "accepted" and one per reason of refusal.

    Raises:
        InputError: an argument out of range, a prompt without its field, or a generator that cannot
            fill the pool; the message has the counts.

    Example, with stand-ins for the client and the encoder:
        >>> from pe_core.text.answers import Response
        >>> class Author:
        ...     concurrency = 1
        ...     def complete(self, requests):
        ...         for request in requests:
        ...             yield request, Response(f"The ship of {request.seed} is back", "stop")
        >>> class Alike:
        ...     def encode(self, texts):
        ...         return np.sqrt([[0.9, 0.1] if "back" in text else [0.5, 0.5] for text in texts])
        >>> form = Form("Rewrite: {text}", chat=False)
        >>> pool, _ = paraphrases(Author(), Alike(), ["Home it came"], 1, form, Rules(), 1, "toy")
        >>> pool[0].source, round(pool[0].similarity, 3)
        (0, 0.894)
    """
    check_fields(form.template, {"text"})
    if size < 1 or not records:
        raise InputError(
            f"{size} paraphrases of {len(records)} records: at least 1 of each is needed"
        )
    sources = np.asarray(encoder.encode(records), dtype=np.float64)

    def ask(group: int, attempt: int) -> tuple[Request, list[str]]:
        prompt = form.template.format(text=records[group])
        key = _seed(seed, *names, "paraphrase", group, attempt)
        return Request(prompt, form.chat, key, form.sampling), [records[group]]

    def similarity(groups: Sequence[int], texts: Sequence[str]) -> NDArray[np.float64]:
        vectors = np.asarray(encoder.encode(texts), dtype=np.float64)
        return np.einsum("ij,ij->i", vectors, sources[list(groups)])

    writer = Writer(client, ask, rules, records, similarity)
    wanted = [len(range(group, size, len(records))) for group in range(len(records))]
    writer.write(wanted, progress)
    while missing := writer.missing(wanted):
        wanted = [len(accepted) for accepted in writer.accepted]
        willing = [group for group in range(len(records)) if wanted[group]]
        for turn in range(missing):
            if not willing:
                break
            wanted[willing[turn % len(willing)]] += 1
        before = sum(map(len, writer.accepted))
        writer.write(wanted, progress)
        moved = sum(map(len, writer.accepted)) - before
        if not moved:
            raise InputError(
                f"the generator cannot fill a pool of {size} paraphrases: {writer.describe()}"
            )
        writer.counts["handed on"] += moved
    rows = [
        (rank, group, row)
        for group, accepted in enumerate(writer.accepted)
        for rank, row in enumerate(accepted)
    ]
    rows.sort(key=lambda item: item[:2])
    return [
        Paraphrase(group, row.text, row.request.prompt, row.request.seed, row.similarity)
        for _, group, row in rows
    ], dict(writer.counts)


def _seed(seed: int, *names: str | int) -> int:
    """A sampling seed: 31 bits, which every endpoint takes."""
    return int(seeds.sequence(seed, *names).generate_state(1)[0] >> 1)
