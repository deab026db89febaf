import pytest

from pe_core.errors import InputError
from pe_core.text.datasets import load


def tweet(user, text, polarity="4"):
    quoted = text.replace('"', '""')
    return f'"{polarity}","1","Mon Apr 06 22:19:45 PDT 2009","NO_QUERY","{user}","{quoted}"\n'


def write(folder, tweets):
    path = folder / "training.csv"
    path.write_bytes("".join(tweets).encode("latin-1"))
    return path


def test_latin_1_and_html_entities_are_decoded(tmp_path):
    texts = ["café &amp; &lt;3 &quot;ol\xe9&quot;", 'she said "hi", twice', "&amp;lt; stays &lt;"]
    tweets = [tweet("ann", text, "0") for text in texts]
    tweets += [tweet("ann", f"tweet {i}") for i in range(29)] + [tweet("bob", "one")] * 31
    data = load("sentiment140", {"path": str(write(tmp_path, tweets))})
    assert data.records["user"].unique().to_list() == ["ann"]
    assert data.records["text"].to_list()[:4] == [
        'café & <3 "olé"',
        'she said "hi", twice',
        "&lt; stays <",
        "tweet 0",
    ]
    assert data.records["label"].to_list() == ["0"] * 3 + ["4"] * 29
    assert data.public["text"].to_list() == ["one"] * 31


def test_users_with_32_to_64_tweets_are_kept(tmp_path):
    tweets = [tweet(f"u{n}", f"text {i}") for n in (31, 32, 64, 65) for i in range(n)]
    data = load("sentiment140", {"path": str(write(tmp_path, tweets))})
    assert data.records["user"].unique().sort().to_list() == ["u32", "u64"]
    assert data.records.height == 96


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (tweet("ann", "x", "positive"), "label is not allowed: 'positive'; allowed: 0, 2, 4"),
        (tweet("ann", "&nbsp; "), "empty text"),
        ('"4","1","Mon","NO_QUERY","ann"\n', "wrong number of columns: 5, not 6"),
        ('"4","1","Mon","NO_QUERY","ann","cut', "broken quoting"),
    ],
)
def test_a_bad_tweet_is_named_or_counted(tmp_path, line, reason):
    path = write(tmp_path, [*[tweet("ann", f"t {i}") for i in range(32)], line])
    with pytest.raises(InputError, match=rf"training\.csv, line 33: {reason}"):
        load("sentiment140", {"path": str(path)})
    data = load("sentiment140", {"path": str(path), "on_bad": "skip"})
    assert data.records.height == 32
    assert sum(data.notes["skipped"].values()) == 1
