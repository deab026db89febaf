import re
from collections import Counter
from itertools import chain

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_core.errors import InputError
from pe_core.text.datasets import load, roles, shakespeare


@pytest.fixture(scope="module")
def plays():
    return {play: (genre, markdown) for genre, play, markdown in shakespeare._plays()}


@pytest.fixture(scope="module")
def data():
    return load("shakespeare", {})


sentences = st.lists(
    st.tuples(st.integers(1, 60), st.sampled_from([".", "!", "?", ".'", '?"'])), max_size=12
)


@given(sentences)
@settings(deadline=None, max_examples=100, derandomize=True)
def test_records_hold_a_speech_word_by_word_between_the_limits(lengths):
    spoken = [["word"] * (n - 1) + [f"end{end}"] for n, end in lengths]
    records = shakespeare.split_speech(" ".join(w for sentence in spoken for w in sentence))
    words = [record.split() for record in records]
    assert list(chain(*words)) == list(chain(*spoken))
    assert all(1 <= len(record) <= 40 for record in words)
    # Only the speech's end and the rest of a cut run are short; both end in a sentence's end.
    for i, record in enumerate(words[:-1]):
        assert len(record) >= 8 or (len(words[i - 1]) == 40 and record[-1].startswith("end"))


def test_short_sentences_are_joined_until_eight_words():
    assert shakespeare.split_speech("One two. Three four five. Six seven eight. Nine! Ten?") == [
        "One two. Three four five. Six seven eight.",
        "Nine! Ten?",
    ]
    assert shakespeare.split_speech("a; b: c, d -- e, f; g: h, i.") == [
        "a; b: c, d -- e, f; g: h, i."
    ]


def test_a_speech_keeps_its_words_and_loses_every_direction():
    markdown = (
        "# A Play\n\n## ACT I\n\n### SCENE I. A street which\ngoes on.\n\n"
        "_Enter ANNE,\nand others_\n\n"
        "**ANNE**  \n_\\[Aside to BEN]_  \nWho's there? __\\[Awaking]_  \nI, quoth he,\\--no.\n\n"
        "_Exit BEN_\n\nStill I.\n\n**BEN**  \n[Within]_  \nHo! \\[dispersedly, within_\n\n"
        "**Here stand I**  \nlady.\n\n**Scene III**  \nA room.\n\nGHOST\n\n**OF BEN**\nBoo!\n\n"
        "SONG.\nFull fathom five\n\n**ANNE**\n\n**BEN**\nLast."
    )
    assert list(shakespeare.speeches(markdown)) == [
        ("ANNE", "Who's there? I, quoth he,--no. Still I."),
        ("BEN", "Ho! Here stand I lady."),
        ("OF BEN", "Boo!"),
        ("BEN", "Last."),
    ]


def test_every_marked_speech_of_the_plays_is_read(plays):
    for play, (_, markdown) in plays.items():
        marked = Counter(re.findall(r"^\*\*(.+?)\*\*\s*$", markdown, re.MULTILINE))
        for name in [*roles.MISPRINTED_SPEAKERS, "Scene III"]:
            del marked[name]
        read = Counter(name for name, _ in shakespeare.speeches(markdown))
        assert not read - marked
        # A few speeches consist of a direction alone.
        assert (marked - read).total() <= 0.01 * marked.total(), play


def test_roles_are_about_as_many_as_in_the_feasibility_run(data):
    # 353 roles with at least 32 records and 229 with at least 64, before persons of several plays
    # were one user.
    sizes = data.records.group_by("user").len()["len"]
    assert 0.95 * 353 <= sizes.len() <= 1.05 * 353
    assert 0.95 * 229 <= (sizes >= 64).sum() <= 1.05 * 229
    assert sizes.min() >= 32
    # The default audit: 5 canaries, 80 auxiliary, 80 calibration and 180 test users.
    assert sizes.len() >= 345


def test_records_are_clean_and_numbered_within_the_role(data):
    assert data.records.columns == ["user", "record", "label", "group", "text"]
    assert data.records.equals(data.records.sort("user", "record"))
    counted = data.records.group_by("user").agg(pl.col("record"))
    assert all(row == list(range(len(row))) for row in counted["record"].to_list())
    words = data.records["text"].str.count_matches(r"\S+")
    assert words.min() >= 1
    assert words.max() == 40
    assert not data.records["text"].str.contains(r"[_*#\[\]\\]").any()
    hamlet = data.records.filter(pl.col("user") == "hamlet/HAMLET")
    assert hamlet["text"][0] == "A little more than kin, and less than kind."
    assert set(hamlet["label"]) == {"tragedies"}
    assert "edward-iii" not in "".join(data.records["user"].unique())


def test_a_person_of_several_plays_is_one_user_with_one_genre(data):
    assert data.records.group_by("user").agg(pl.col("label").n_unique())["label"].max() == 1
    henry = data.records.filter(pl.col("user") == "King Henry V")["text"].str.join(" ").item()
    for line in (
        "I know you all, and will awhile uphold",  # Henry IV, Part I
        "This new and gorgeous garment, majesty,",  # Henry IV, Part II
        "Once more unto the breach, dear friends, once more;",  # Henry V
    ):
        assert line in henry
    assert roles.person("king-john", "PRINCE HENRY") != "King Henry V"
    assert roles.person("richard-iii", "PRINCE EDWARD") != roles.person(
        "henry-vi-part-3", "PRINCE EDWARD"
    )


def test_every_name_of_the_roles_table_speaks(plays):
    spoken = {(p, name) for p, (_, text) in plays.items() for name, _ in shakespeare.speeches(text)}
    assert set(roles._PERSONS) <= spoken
    genre = {play: genre for play, (genre, _) in plays.items()}
    for where in roles.roles_of_several_plays().values():
        assert len({genre[play] for play in where}) == 1


@pytest.mark.parametrize(
    ("name", "generic"),
    [
        ("All", True),
        ("BOTH", True),
        ("First Lord", True),
        ("FIRST GENTLEMAN", True),
        ("Messenger", True),
        ("Several Citizens", True),
        ("CLOTEN & Lords", True),
        ("Gentlewoman", True),
        ("PRINCE", False),
        ("LORD BARDOLPH", False),
        ("MISTRESS PAGE", False),
        ("Clown", False),
    ],
)
def test_generic_roles(name, generic):
    assert roles.is_generic(name) is generic


def test_public_lines_are_of_the_smaller_roles_alone(data, plays):
    everyone = load("shakespeare", {"minimum_records": 8})
    assert everyone.public.is_empty()
    users = set(data.records["user"])
    smaller = everyone.records.filter(~pl.col("user").is_in(users))
    assert sorted(smaller["text"]) == sorted(data.public["text"])
    sizes = smaller.group_by("user").len()["len"]
    assert sizes.is_between(8, 31).all()
    assert set(data.public["label"]) == {genre for genre, _ in plays.values()}


def test_notes_say_what_was_decided(data):
    text = str(data.notes)
    assert "split by role" in text
    assert "Falstaff" in text
    assert data.notes["kept"]["records"] == data.records.height
    assert data.notes["public"] == data.public.height


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(shakespeare, "_PACKAGE", "no-such-plays")
    with pytest.raises(InputError, match="no-such-plays is not installed"):
        load("shakespeare", {})
    monkeypatch.setattr(shakespeare, "_PACKAGE", "pytest")
    with pytest.raises(InputError, match="holds no plays"):
        load("shakespeare", {})


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"minimum_records": 7}, "at least 8"),
        ({"minimum_records": "many"}, "'many'; it must be a whole number"),
        ({"minimum_records": True}, "whole number"),
        ({"path": "a"}, "unknown option path"),
    ],
)
def test_wrong_options(options, found):
    with pytest.raises(InputError, match=re.escape(found)):
        load("shakespeare", options)


def test_an_unknown_dataset_is_named():
    with pytest.raises(
        InputError, match=r"'imdb'; allowed: shakespeare, yelp, sentiment140, table"
    ):
        load("imdb", {})
