"""New candidates for Private Evolution from a language model, which is told `Feedback` alone."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pe_core.evolution import Feedback
from pe_core.text.acceptance import Public, Rules, clean, plain
from pe_core.text.client import Client, Request
from pe_core.text.forms import Form, check_fields

Progress = Callable[[int, int], None]
# What is thought of a model before it has answered: of five texts, four are accepted.
KEPT, ASKED = 4, 5

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


def form_of(feedback: str, prompts: Mapping[str, Any]) -> Form:
    """Return the prompt of a feedback rule: a dataset's own, or the plain one.

    Args:
        feedback: "examples" or "paraphrases".
        prompts: a dataset's; its `evolve` is of examples, its `paraphrase` has the field {text}.

    Example:
        >>> prompts = {"paraphrase": {"template": "Say anew: {text}", "chat": True}}
        >>> form_of("paraphrases", prompts).template
        'Say anew: {high}'
    """
    if feedback == "examples" and "evolve" in prompts:
        return Form(**prompts["evolve"])
    if feedback == "paraphrases" and "paraphrase" in prompts:
        form = Form(**prompts["paraphrase"])
        template = form.template.replace("{text}", "{high}")
        return replace(form, template=template, example="{text}")
    return FORMS[feedback]


class Successors:
    """Writes the texts that a round asks for; an `evolution.Generate`.

    Requests that say the same are sent as one, for as many texts to one prompt, which is most of a
    text's cost. Each answer that meets the rules and was not given before goes to the next of them.
    More texts than wanted are asked for, by the share of the answers so far that met the rules.

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
        check_fields(form.template, {"high"}, {"low", "label"})
        self._client = client
        self._form = form
        self._rules = rules
        self._public = public
        self._words = words
        self._progress = progress
        self._given: set[str] = set()
        self.counts: Counter[str] = Counter(asked=0, accepted=0)

    def __call__(self, asked: Sequence[Feedback]) -> list[str | None]:
        """Return one text or None for each request, in order."""
        parts = self._parts(asked)
        kept = KEPT + self.counts["accepted"] + self.counts["spare"]
        tried = ASKED + self.counts["asked"]
        answers = self._client.complete(
            self._request(
                asked[part[0]], min(-(-len(part) * tried // kept), self._client.concurrency)
            )
            for part in parts
        )
        texts: list[str | None] = [None] * len(asked)
        for done, (part, (_, response)) in enumerate(zip(parts, answers, strict=True), 1):
            shown = [*asked[part[0]].high, *asked[part[0]].low]
            vacant = iter(part)
            for each in (response, *response.others):
                text = clean(each.text)
                fault = self._rules.fault(text, each.finish, self._public, shown)
                if fault is None and plain(text) in self._given:
                    fault = "repeated"
                place = next(vacant, None) if fault is None else None
                if place is not None:
                    texts[place] = text
                    self._given.add(plain(text))
                self.counts["asked"] += 1
                self.counts[fault or ("spare" if place is None else "accepted")] += 1
            if self._progress is not None:
                self._progress(sum(map(len, parts[:done])), len(asked))
        return texts

    def _parts(self, asked: Sequence[Feedback]) -> list[list[int]]:
        """Return the requests that say the same, by number, no part larger than the endpoint."""
        alike: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[int]] = {}
        for number, each in enumerate(asked):
            alike.setdefault((each.label, each.high, each.low), []).append(number)
        # With its spares a part has about as many choices as are written at a time.
        most = max(1, self._client.concurrency * KEPT // ASKED)
        return [
            numbers[start : start + most]
            for numbers in alike.values()
            for start in range(0, len(numbers), most)
        ]

    def _request(self, each: Feedback, choices: int) -> Request:
        high, low = (
            "".join(self._form.example.format(text=text) for text in texts)
            for texts in (each.high, each.low)
        )
        label = self._words.get(each.label, each.label)
        prompt = self._form.template.format(label=label, high=high, low=low)
        return Request(prompt, self._form.chat, each.seed, self._form.sampling, choices)
