import itertools

import pytest

from pe_core import InputError
from pe_core.evolution import Feedback
from pe_core.text.acceptance import Public, Rules
from pe_core.text.client import Response
from pe_core.text.successors import FORMS, Successors
from pe_core.text.writing import Form

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
            yield request, Response(*next(self.answers))


def feedback(n, seed=7):
    return [
        Feedback(j, "comedies", (f"a strong line {j}", "one more here"), ("a weak line",), seed + j)
        for j in range(n)
    ]


def successors(client, form=FORM, public=(), **words):
    return Successors(client, form, Rules(), Public(public), words)


def test_the_prompt_holds_the_feedback_and_nothing_else():
    client = Scripted([("a new line here", "stop")])
    write = successors(client, comedies="comedy")
    assert write(feedback(2)) == ["a new line here"] * 2
    assert [request.prompt for request in client.asked] == [
        f"comedy|<a weak line>|<a strong line {j}><one more here>" for j in (0, 1)
    ]
    assert [request.seed for request in client.asked] == [7, 8]
    assert successors(client)(feedback(1)) == ["a new line here"]
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


def test_spare_slots_ask_again_under_other_seeds_and_the_first_good_answer_counts():
    answers = [("no", "stop"), ("a good line here", "stop"), ("a later good line", "stop")]
    client = Scripted(answers, concurrency=6)
    write = successors(client)
    found = write(feedback(3, seed=2**31 - 2))
    assert found == ["a good line here", "a later good line", "a good line here"]
    # Two tries each fit into six slots; seeds stay within 31 bits.
    assert [r.seed for r in client.asked] == [2**31 - 2, 2**31 - 1, 2**31 - 1, 0, 0, 1]
    assert write.counts == {"asked": 6, "accepted": 3, "too short": 2, "spare": 1}
    write(feedback(4))
    assert len(client.asked) == 10


def test_nothing_asked_is_nothing_written():
    client = Scripted([("x", "stop")])
    assert successors(client)([]) == []
    assert client.asked == []


def test_progress_is_told():
    told = []
    client = Scripted([("a good line here", "stop")])
    write = Successors(client, FORM, Rules(), Public([]), {}, lambda *n: told.append(n))
    write(feedback(3))
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("template", ["{label}", "{high} {text}", "nothing"])
def test_a_prompt_with_other_fields_is_refused(template):
    with pytest.raises(InputError, match="high is needed, low and label are allowed"):
        successors(Scripted([]), Form(template, chat=True))


@pytest.mark.parametrize("rule", sorted(FORMS))
def test_the_default_prompts_have_their_fields(rule):
    client = Scripted([("a good line here", "stop")])
    assert successors(client, FORMS[rule])(feedback(1)) == ["a good line here"]
    assert "a strong line 0" in client.asked[0].prompt
    assert ("a weak line" in client.asked[0].prompt) == (rule == "examples")
