import pytest

from pe_core.errors import InputError
from pe_core.text.acceptance import Public, Rules, clean, plain

RULES = Rules(min_words=3, max_words=6)
PUBLIC = Public(["The rest is silence, my good lord.", "Who's there?"])


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ("", "stop", "empty"),
        ("", "content_filter", "refusal"),
        ("As an AI, I must not rewrite that", "stop", "refusal"),
        ("I'm sorry, but I can't help with that.", "stop", "refusal"),
        ("I cannot but weep for thee", "stop", None),
        ("one two three four", "length", "cut off"),
        ("one two", "stop", "too short"),
        ("… — ! ?", "stop", "too short"),
        ("one two three", "stop", None),
        ("one two three four five six", "stop", None),
        ("one two three four five six seven", "stop", "too long"),
        ("THE REST  is silence", "stop", "verbatim"),
        ("he rest is silence", "stop", None),
        ("silence my good lord who s there", "stop", "too long"),
        ("good lord who s there", "stop", None),
        ("quoth he: the source text", "stop", "verbatim"),
        ("quoth he: the source texts", "stop", None),
        ("🙂 🙂 three emoji words", "stop", None),
    ],
)
def test_each_rule_refuses_what_it_says(text, finish, reason):
    if finish == "content_filter":
        text = "some words that came"
    assert RULES.fault(text, finish, PUBLIC, ["The source, text!"]) == reason


def test_a_source_without_words_forbids_nothing():
    assert RULES.fault("one two three", "stop", Public([]), ["!?"]) is None
    assert RULES.fault("one two three", "stop", Public(["…", ""])) is None


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  two\n lines \t", "two lines"),
        ('"Quoted."', "Quoted."),
        ("“Curly”", "Curly"),
        ("- an item", "an item"),
        ("12) a number", "a number"),
        ("12 angry men", "12 angry men"),
        ("'Tis the lark's", "'Tis the lark's"),
        (' "\n', ""),
    ],
)
def test_cleaning_takes_away_marks_and_no_words(text, cleaned):
    assert clean(text) == cleaned
    assert plain(clean(text)) in plain(text)


@pytest.mark.parametrize(
    "bounds",
    [
        {"min_words": 0},
        {"min_words": 9, "max_words": 8},
        {"min_similarity": 0.9, "max_similarity": 0.9},
        {"max_similarity": 1.1},
        {"min_similarity": -1.1},
        {"attempts": 0},
    ],
)
def test_impossible_rules_are_refused(bounds):
    with pytest.raises(InputError, match=next(iter(bounds))):
        Rules(**bounds)
