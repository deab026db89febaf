import json

import polars as pl
import pytest

from pe_core.errors import InputError
from pe_core.text.datasets import jsonlines, load


def review(user, stars=4.0, text="Good\nfood \ud83c\udf55"):
    return json.dumps(
        {
            "review_id": "r",
            "user_id": user,
            "business_id": "b",
            "stars": stars,
            "useful": 0,
            "funny": 0,
            "cool": 0,
            "text": text,
            "date": "2018-07-07 22:09:11",
        }
    )


def write(folder, lines):
    path = folder / "review.json"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_users_with_exactly_64_reviews_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonlines, "BLOCK_BYTES", 1000)
    lines = [review("u63", text=f"a {i}") for i in range(63)]
    lines += [review("u65", text=f"b {i}") for i in range(65)]
    # Interleaved, so that the user's records are spread over the blocks.
    for i in range(64):
        lines.insert(3 * i, review("u64", stars=float(i % 5 + 1), text=f"good\n🍕 {i}"))
    data = load("yelp", {"path": str(write(tmp_path, lines)), "public_records": 70})
    assert data.records["user"].unique().to_list() == ["u64"]
    assert data.records["text"].to_list() == [f"good\n🍕 {i}" for i in range(64)]
    assert data.records["label"].to_list() == [str(i % 5 + 1) for i in range(64)]
    assert data.records["record"].to_list() == list(range(64))
    assert data.public["text"].to_list() == [f"a {i}" for i in range(63)] + [
        f"b {i}" for i in range(7)
    ]
    assert data.notes["read"] == {"users": 3, "records": 192}
    assert data.notes["skipped"] == {"user with too few or too many records": 2}


def test_a_bad_review_is_named_or_counted(tmp_path):
    bad = [
        (review("a", text="  "), "empty text"),
        (review("a", stars=7.0), "label is not allowed"),
        (review("a", stars=None), "label is not allowed"),
        (review("a", text=5), "text is no text"),
        (review("a").replace("user_id", "userid"), "missing field"),
        (review("a")[:-30], "not a JSON object"),
        (review("a", text="half \ud83c pair"), "bytes or escapes that are no character"),
    ]
    good = [review("a") for _ in range(64)]
    for line, reason in bad:
        path = write(tmp_path, [*good, line])
        with pytest.raises(InputError, match=rf"review\.json, line 65: {reason}"):
            load("yelp", {"path": str(path)})
    lines = [line for line, _ in bad]
    data = load(
        "yelp", {"path": str(write(tmp_path, lines[:3] + good + lines[3:])), "on_bad": "skip"}
    )
    assert data.records.height == 64
    assert set(data.notes["skipped"]) == {reason for _, reason in bad}
    assert sum(data.notes["skipped"].values()) == len(bad)
    assert data.notes["bad_rows"][3].startswith("line 68: ")


def test_too_few_reviews_say_how_many_there_are(tmp_path):
    path = write(tmp_path, [review("a")] * 63)
    with pytest.raises(InputError, match=r"none of 1 users has from 64 to 64 .* one has is 63"):
        load("yelp", {"path": str(path)})
    assert load("yelp", {"path": str(path), "minimum_records": 63}).records.height == 63
    assert isinstance(load("yelp", {"path": str(path), "minimum_records": 63}).public, pl.DataFrame)
