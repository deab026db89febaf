"""The bank and the pools with a generator whose every answer is chosen by the test."""

import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from pe_core.errors import InputError
from pe_core.text.acceptance import Rules, plain
from pe_core.text.answers import Response
from pe_core.text.client import Request
from pe_core.text.forms import Form
from pe_core.text.writing import bank, paraphrases

FORM = Form(
    'A {label} says:\n{examples}"', chat=False, sampling={"max_tokens": 9}, example="<{text}>\n"
)
REWRITE = Form("Rewrite: {text}", chat=True)
PUBLIC = {
    label: [f"public {label} line number {i}" for i in range(6)] for label in ("comedy", "tragedy")
}


class Scripted:
    """A client whose answers are a function of the request and of how many came before."""

    def __init__(self, write: Callable[[Request, int], Response], concurrency: int = 4):
        self.write, self.concurrency, self.requests = write, concurrency, []

    def complete(self, requests):
        for request in requests:
            self.requests.append(request)
            yield request, self.write(request, len(self.requests) - 1)


class BagOfWords:
    """Cosine of word counts, so that a test can say what the similarity is."""

    def encode(self, texts):
        rows = np.zeros((len(texts), 512))
        for row, text in zip(rows, texts):
            for word in plain(text).split():
                row[int.from_bytes(word.encode()[-6:], "big") % 509] += 1
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def fresh(request, n):
    return Response(f"a new line, the {n}th", "stop")


def test_bank_entries_carry_label_prompt_and_seed_in_bank_order():
    client = Scripted(fresh)
    rows, counts = bank(client, ["comedy", "tragedy"], 5, "A", PUBLIC, FORM, Rules(), 1, "x")
    assert [row.label for row in rows] == ["comedy", "tragedy", "comedy", "tragedy", "comedy"]
    assert {row.prompt for row in rows} == {'A comedy says:\n"', 'A tragedy says:\n"'}
    assert len({row.text for row in rows}) == len({row.seed for row in rows}) == 5
    assert counts["accepted"] == 5
    asked = {(request.prompt, request.seed) for request in client.requests}
    assert {(row.prompt, row.seed) for row in rows} <= asked


def test_the_arms_differ_in_the_examples_alone():
    clients = {arm: Scripted(fresh) for arm in "AB"}
    for arm, client in clients.items():
        bank(client, ["comedy", "tragedy"], 12, arm, PUBLIC, FORM, Rules(), 1, "x")
    for request in clients["B"].requests:
        label = re.match(r"A (\w+) says", request.prompt)[1]
        examples = re.findall(r"<(.*)>\n", request.prompt)
        assert len(set(examples)) == 3
        assert set(examples) <= set(PUBLIC[label])
        assert re.sub(r"<.*>\n", "", request.prompt) == FORM.template.format(
            label=label, examples=""
        )
        assert (request.chat, request.sampling) == (False, FORM.sampling)
    assert {(r.chat, str(r.sampling)) for r in clients["A"].requests} == {
        (False, str(FORM.sampling))
    }
    assert len({request.prompt for request in clients["B"].requests}) > 6


def test_the_same_seed_asks_the_same_and_names_keep_streams_apart():
    def asked(arm, seed, *names):
        client = Scripted(fresh)
        bank(client, ["comedy"], 4, arm, PUBLIC, FORM, Rules(), seed, *names)
        return [(request.prompt, request.seed) for request in client.requests]

    assert asked("B", 1, "x") == asked("B", 1, "x")
    different = [asked("B", 1, "x"), asked("B", 2, "x"), asked("B", 1, "y"), asked("A", 1, "x")]
    seeds = [seed for run in different for _, seed in run]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_refusals_are_counted_by_reason_and_made_up_for():
    script = [
        Response("", "stop"),
        Response("As an AI language model I will not", "stop"),
        Response("a line that was cut", "length"),
        Response("too short", "stop"),
        Response("word " * 61, "stop"),
        Response("Public COMEDY line, number 2", "stop"),
        Response("twice the same line", "stop"),
        Response("Twice the SAME line!", "stop"),
    ]
    client = Scripted(lambda request, n: script[n] if n < 8 else fresh(request, n))
    rows, counts = bank(client, ["comedy"], 8, "A", PUBLIC, FORM, Rules(), 1)
    reasons = ["empty", "refusal", "cut off", "too short", "too long", "verbatim", "repeated"]
    assert {reason: counts[reason] for reason in reasons} == dict.fromkeys(reasons, 1)
    assert counts["accepted"] == len(rows) == 8
    assert counts["asked"] == len(client.requests) == sum(counts.values()) - counts["asked"]


def test_idle_slots_write_spare_lines_and_no_more():
    client = Scripted(lambda r, n: Response("", "stop") if n == 0 else fresh(r, n), concurrency=8)
    rows, counts = bank(client, ["comedy"], 8, "A", PUBLIC, FORM, Rules(), 1)
    # One of eight is missing after the first batch; the eight slots all try for it.
    assert (counts["asked"], counts["accepted"], counts["spare"]) == (16, 8, 7)
    assert [row.text for row in rows] == [f"a new line, the {n}th" for n in range(1, 9)]


def test_a_generator_that_repeats_itself_stops_with_the_counts():
    client = Scripted(lambda request, n: Response("always the same line", "stop"))
    with pytest.raises(InputError, match=r"cannot fill bank A of 6: 18 asked, 1 accepted, 17 rep"):
        bank(client, ["comedy"], 6, "A", PUBLIC, FORM, Rules(attempts=3), 1)
    assert len(client.requests) == 18


def test_progress_ends_at_the_size():
    seen = []
    bank(
        Scripted(fresh),
        ["comedy"],
        10,
        "A",
        PUBLIC,
        FORM,
        Rules(),
        1,
        progress=lambda done, of: seen.append((done, of)),
    )
    assert seen == [(4, 10), (8, 10), (10, 10)]


RECORDS = [f"{letter * 3} bb{i} cc{i} dd{i}" for i, letter in enumerate("pqr")]


def near(request, n):
    """Three of the four words of the source and a new one: cosine 3/4."""
    return Response(
        f"{request.prompt.rsplit(maxsplit=1)[0].removeprefix('Rewrite: ')} n{n}", "stop"
    )


def test_paraphrases_are_spread_evenly_in_turns_over_the_records():
    client = Scripted(near)
    rows, counts = paraphrases(client, BagOfWords(), RECORDS, 8, REWRITE, Rules(), 1, "x")
    assert [row.source for row in rows] == [0, 1, 2, 0, 1, 2, 0, 1]
    assert all(row.prompt == f"Rewrite: {RECORDS[row.source]}" for row in rows)
    np.testing.assert_allclose([row.similarity for row in rows], 0.75, atol=1e-6)
    assert all(request.chat for request in client.requests)
    assert counts["accepted"] == 8


def test_paraphrases_keep_between_the_two_bounds():
    def write(request, n):
        source = request.prompt.removeprefix("Rewrite: ").split()
        return Response(
            [
                " ".join(source),  # the source itself
                " ".join(source[::-1]),  # the same words: cosine 1
                "nothing of it at all",
                " ".join([*source[:3], f"n{n}"]),
            ][n % 4],
            "stop",
        )

    client = Scripted(write, concurrency=1)
    rows, counts = paraphrases(client, BagOfWords(), RECORDS[:1], 3, REWRITE, Rules(), 1)
    assert counts == {
        "asked": 12,
        "accepted": 3,
        "verbatim": 3,
        "too near the source": 3,
        "too far from the source": 3,
    }
    assert all(0.5 <= row.similarity <= 0.95 for row in rows)


def test_a_paraphrase_may_be_no_other_record_either():
    other = RECORDS[1]
    client = Scripted(lambda r, n: Response(other, "stop") if n == 0 else near(r, n))
    _, counts = paraphrases(client, BagOfWords(), RECORDS, 3, REWRITE, Rules(), 1)
    assert counts["verbatim"] == 1


def test_a_record_without_paraphrases_hands_its_share_on():
    def write(request, n):
        return Response("", "stop") if RECORDS[1] in request.prompt else near(request, n)

    client = Scripted(write, concurrency=1)
    rows, counts = paraphrases(client, BagOfWords(), RECORDS, 6, REWRITE, Rules(attempts=5), 1)
    assert Counter(row.source for row in rows) == {0: 3, 2: 3}
    assert counts["handed on"] == 2
    assert counts["empty"] == 10


def test_a_generator_that_cannot_fill_the_pool_stops_with_the_counts():
    client = Scripted(lambda request, n: Response("", "stop"), concurrency=1)
    with pytest.raises(InputError, match="pool of 6 paraphrases: 12 asked, 0 accepted, 12 empty"):
        paraphrases(client, BagOfWords(), RECORDS, 6, REWRITE, Rules(attempts=2), 1)
    one = Scripted(lambda request, n: Response("aaa bb0 cc0 nn", "stop"), concurrency=1)
    with pytest.raises(InputError, match="cannot fill a pool"):
        paraphrases(one, BagOfWords(), RECORDS, 6, REWRITE, Rules(attempts=2), 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arm": "C"}, "arm = 'C'"),
        ({"size": 0}, "0 lines"),
        ({"labels": []}, "distinct labels"),
        ({"labels": ["comedy", "comedy"]}, "distinct labels"),
        ({"labels": ["history"], "arm": "B"}, "'history': 0 public lines of at most 60 words"),
        ({"form": Form("A line:", False)}, "needed are"),
        ({"form": Form("{label} {examples} {text}", False)}, "needed are"),
        ({"form": Form("{label} {examples", False)}, "prompt"),
        ({"form": Form("{label} {examples}", False, example="x")}, "needed are"),
    ],
)
def test_bad_bank_arguments_are_refused_before_anything_is_asked(change, message):
    arguments = {"labels": ["comedy"], "size": 4, "arm": "A", "form": FORM, **change}
    client = Scripted(fresh)
    with pytest.raises(InputError, match=message):
        bank(client, public=PUBLIC, rules=Rules(), seed=1, **arguments)
    assert not client.requests


def test_bad_pool_arguments_are_refused():
    for records, size in (([], 4), (RECORDS, 0)):
        with pytest.raises(InputError, match="at least 1 of each"):
            paraphrases(Scripted(near), BagOfWords(), records, size, REWRITE, Rules(), 1)


def test_braces_in_texts_are_text():
    public = {"comedy": ["a {curly} line", "another {0} line", "a third {label} line"]}
    client = Scripted(fresh)
    bank(client, ["comedy"], 1, "B", public, FORM, Rules(), 1)
    assert "{curly}" in client.requests[0].prompt
