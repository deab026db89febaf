import itertools
from dataclasses import replace

import pytest

from pe_core import InputError
from pe_core.evolution import Feedback
from pe_core.text.acceptance import Public, Rules
from pe_core.text.answers import Response
from pe_core.text.forms import Form
from pe_core.text.successors import FORMS, Successors, form_of

FORM = Form("{label}|{low}|{high}", chat=False, example="<{text}>")


class Scripted:
    """A client that answers from a list, and remembers what it was asked."""

    def __init__(self, answers, concurrency=1):
        self.concurrency = concurrency
        self.answers = itertools.cycle(answers)
        self.asked = []

    def complete(self, requests):
        for request in requests:
            self.asked.append(request)
            first, *others = (Response(*next(self.answers)) for _ in range(request.choices))
            yield request, Response(first.text, first.finish, tuple(others))


def different(text="a new line here"):
    """Answers that keep the rules and differ from each other."""
    return ((f"{text} {number}", "stop") for number in range(99))


def feedback(n, seed=7, same=False):
    return [
        Feedback(
            j, "comedies", (f"a strong line {j * (not same)}", "one more here"), ("a weak line",),
            seed + j,
        )
        for j in range(n)
    ]  # fmt: skip


def successors(client, form=FORM, public=(), **words):
    return Successors(client, form, Rules(), Public(public), words)


def test_the_prompt_holds_the_feedback_and_nothing_else():
    client = Scripted(different())
    write = successors(client, comedies="comedy")
    assert write(feedback(2)) == ["a new line here 0", "a new line here 1"]
    assert [request.prompt for request in client.asked] == [
        f"comedy|<a weak line>|<a strong line {j}><one more here>" for j in (0, 1)
    ]
    assert [request.seed for request in client.asked] == [7, 8]
    assert [request.choices for request in client.asked] == [1, 1]
    assert successors(client)(feedback(1)) == ["a new line here 2"]
    assert client.asked[-1].prompt.startswith("comedies|")


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ("", "stop", "empty"),
        ("two words", "stop", "too short"),
        ("a line cut in the", "length", "cut off"),
        ("A strong line 0!", "stop", "verbatim"),
        ("so a weak line, it is", "stop", "verbatim"),
        ("known to the public", "stop", "verbatim"),
        ("I cannot assist with that", "stop", "refusal"),
    ],
)
def test_what_breaks_a_rule_is_no_answer_and_is_counted(text, finish, reason):
    write = successors(Scripted([(text, finish)]), public=["it is known to the public now"])
    assert write(feedback(1)) == [None]
    assert write.counts == {"asked": 1, "accepted": 0, reason: 1}


def test_what_is_asked_alike_is_one_request_and_good_answers_fill_its_places():
    answers = [
        *[("no", "stop"), ("a good line here", "stop"), ("A good line, here!", "stop")],
        *[("a later good line", "stop"), ("and one line more", "stop")],
        *[("a good line here", "stop"), ("a line to spare", "stop")],
    ]
    client = Scripted(answers, concurrency=8)
    write = successors(client)
    asked = [*feedback(4, same=True), replace(feedback(1)[0], label="tragedies")]
    asked = [asked[0], asked[4], *asked[1:4]]
    # Four of five are thought to be accepted.
    found = write(asked)
    assert [(r.prompt.split("|")[0], r.seed, r.choices) for r in client.asked] == [
        ("comedies", 7, 5),
        ("tragedies", 7, 2),
    ]
    assert found == [
        *["a good line here", "a line to spare"],
        *["a later good line", "and one line more", None],
    ]
    assert write.counts == {"asked": 7, "accepted": 4, "too short": 1, "repeated": 2}


def test_more_is_asked_where_less_was_accepted():
    client = Scripted([*[("no", "stop")] * 19, *different()], concurrency=40)
    write = successors(client)
    assert write(feedback(15, same=True)) == [None] * 15
    # Now 4 of 24 are thought to be accepted.
    assert None not in write(feedback(3, same=True))
    assert [request.choices for request in client.asked] == [19, 18]
    assert write.counts["spare"] == 15


@pytest.mark.parametrize(
    ("wanted", "concurrency", "choices"),
    [(1, 1, [1]), (1, 2, [2]), (4, 5, [5]), (5, 5, [5, 2]), (9, 10, [10, 2]), (20, 16, [15, 10])],
)
def test_a_request_is_no_larger_than_what_is_written_at_a_time(wanted, concurrency, choices):
    client = Scripted(different(), concurrency=concurrency)
    assert None not in successors(client)(feedback(wanted, same=True))
    assert [request.choices for request in client.asked] == choices


def test_an_endpoint_that_writes_one_choice_leaves_places_open():
    class Single(Scripted):
        def complete(self, requests):
            return ((r, Response(a.text, a.finish)) for r, a in super().complete(requests))

    found = successors(Single(different(), concurrency=8))(feedback(3, same=True))
    assert found == ["a new line here 0", None, None]


def test_nothing_asked_is_nothing_written():
    client = Scripted([("x", "stop")])
    assert successors(client)([]) == []
    assert client.asked == []


def test_progress_is_told():
    told = []
    client = Scripted(different(), concurrency=8)
    write = Successors(client, FORM, Rules(), Public([]), {}, lambda *n: told.append(n))
    write([*feedback(2), *feedback(2, same=True)])
    assert told == [(3, 4), (4, 4)]


@pytest.mark.parametrize("template", ["{label}", "{high} {text}", "nothing"])
def test_a_prompt_with_other_fields_is_refused(template):
    allowed = r"needed are \['high'\], allowed too are \['label', 'low'\]"
    with pytest.raises(InputError, match=allowed):
        successors(Scripted([]), Form(template, chat=True))


@pytest.mark.parametrize("rule", sorted(FORMS))
def test_the_default_prompts_have_their_fields(rule):
    client = Scripted([("a good line here", "stop")])
    assert successors(client, FORMS[rule])(feedback(1)) == ["a good line here"]
    assert "a strong line 0" in client.asked[0].prompt
    assert ("a weak line" in client.asked[0].prompt) == (rule == "examples")


def test_each_feedback_rule_has_the_datasets_own_prompt():
    prompts = {
        "evolve": {"template": "{low}|{high}", "chat": False, "example": "<{text}>"},
        "paraphrase": {"template": "Anew: {text}", "chat": True, "sampling": {"max_tokens": 9}},
    }
    assert form_of("examples", prompts) == Form("{low}|{high}", chat=False, example="<{text}>")
    client = Scripted(different())
    successors(client, form_of("paraphrases", prompts))(
        [Feedback(0, "x", ("a line to rewrite",), (), 1)]
    )
    assert client.asked[0].prompt == "Anew: a line to rewrite"
    assert (client.asked[0].chat, client.asked[0].sampling) == (True, {"max_tokens": 9})
    for rule, form in FORMS.items():
        assert form_of(rule, {"labels": {}}) == form
