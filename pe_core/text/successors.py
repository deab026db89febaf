"""New candidates for Private Evolution from a language model, which is told `Feedback` alone."""

import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from pe_core.errors import InputError
from pe_core.evolution import Feedback
from pe_core.text.acceptance import Public, Rules, clean
from pe_core.text.client import Client, Request
from pe_core.text.writing import Form

Progress = Callable[[int, int], None]
# Of a request in a batch that leaves room. On two cores more of them cost what they save in passes.
SEEDS = 2

FORMS: Mapping[str, Form] = {
    "examples": Form(
        "Weak examples of {label}:\n\n{low}\nStrong examples of {label}:\n\n{high}-",
        chat=False,
        sampling={"max_tokens": 96, "temperature": 1.0, "top_k": 40, "min_p": 0.07, "stop": ["\n"]},
    ),
    "paraphrases": Form(
        "Rewrite this sentence in different words:\n\n{high}",
        chat=True,
        sampling={"max_tokens": 96, "temperature": 0.8, "top_k": 40, "min_p": 0.1, "stop": ["\n"]},
        example="{text}",
    ),
}
"""Prompts by feedback rule, for a dataset that brings none of its own."""


class Successors:
    """Writes the texts that a round asks for; an `evolution.Generate`.

    Where at most half as many texts are asked for as the endpoint writes at a time, each is asked
    for under two seeds, and the first answer that meets the rules is given.

    Args:
        client: where texts are written.
        form: a prompt with the field {high}, and possibly {low} and {label}.
        rules: what is accepted; a copy of an example is not.
        public: lines that a text may not repeat.
        words: what a label is called in the prompt, where that is not the label itself.
        progress: called with (texts answered, texts asked for in this call).

    Attributes:
        counts: requests asked for, accepted, and refused by reason.

    Raises:
        InputError: a prompt with other fields.
    """

    def __init__(
        self,
        client: Client,
        form: Form,
        rules: Rules,
        public: Public,
        words: Mapping[str, str],
        progress: Progress | None = None,
    ) -> None:
        fields = {name for _, name, _, _ in string.Formatter().parse(form.template) if name}
        if not {"high"} <= fields <= {"high", "low", "label"}:
            raise InputError(
                f"prompt {form.template!r}: fields {sorted(fields)}; high is needed, low and label "
                "are allowed"
            )
        self._client = client
        self._form = form
        self._rules = rules
        self._public = public
        self._words = words
        self._progress = progress
        self.counts: Counter[str] = Counter(asked=0, accepted=0)

    def __call__(self, asked: Sequence[Feedback]) -> list[str | None]:
        """Return one text or None for each request, in order."""
        seeds = SEEDS if SEEDS * len(asked) <= self._client.concurrency else 1
        requests = [self._request(each, turn) for each in asked for turn in range(seeds)]
        answers = self._client.complete(requests)
        texts: list[str | None] = []
        for each in asked:
            fitting = None
            for _ in range(seeds):
                response = next(answers)[1]
                text = clean(response.text)
                shown = [*each.high, *each.low]
                fault = self._rules.fault(text, response.finish, self._public, shown)
                self.counts["asked"] += 1
                self.counts[fault or ("accepted" if fitting is None else "spare")] += 1
                if fault is None and fitting is None:
                    fitting = text
            texts.append(fitting)
            if self._progress is not None:
                self._progress(len(texts), len(asked))
        return texts

    def _request(self, each: Feedback, turn: int) -> Request:
        high, low = (
            "".join(self._form.example.format(text=text) for text in texts)
            for texts in (each.high, each.low)
        )
        label = self._words.get(each.label, each.label)
        prompt = self._form.template.format(label=label, high=high, low=low)
        seed = (each.seed + turn) % 2**31
        return Request(prompt, self._form.chat, seed, self._form.sampling)
