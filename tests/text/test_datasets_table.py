import json
import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_core.errors import InputError
from pe_core.text.datasets import delimited, jsonlines, load, parquet

COLUMNS = {"user": "who", "text": "what", "label": "kind", "group": "case"}
HARD = [
    "plain words",
    "emoji 👩‍👩‍👧 and\nnew\r\nlines,\ttabs",
    "word " * 10_000 + "end",
    '<script>alert("x")</script> {0} %s $HOME \\n',
    "[deleted]",
    '{"a": 1}',
    "12",
    "true",
    "a null \0 character",
    "“curly” é ﷽ \u2028 line separator",
    '"',
]


def rows_of(texts, users=("b", "a")):
    return [
        {"who": users[i % len(users)], "what": text, "kind": "k", "case": f"c{i % len(users)}"}
        for i, text in enumerate(texts)
    ]


def write(folder, ending, rows):
    path = folder / f"data{ending}"
    if ending == ".parquet":
        pl.DataFrame(rows).write_parquet(path, row_group_size=2)
    elif ending in (".csv", ".tsv"):
        pl.DataFrame(rows).write_csv(path, separator="," if ending == ".csv" else "\t")
    else:
        ascii_only = ending == ".json"
        path.write_text(
            "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows), "utf-8"
        )
    return path


def table(path, **options):
    return load("table", {"path": str(path), "columns": COLUMNS, **options})


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".json"])
def test_hard_texts_survive_in_every_format(tmp_path, ending):
    data = table(write(tmp_path, ending, rows_of(HARD)))
    assert data.records.schema == {
        "user": pl.String,
        "record": pl.Int64,
        "label": pl.String,
        "group": pl.String,
        "text": pl.String,
    }
    assert data.records.filter(pl.col("user") == "b")["text"].to_list() == HARD[0::2]
    assert data.records.filter(pl.col("user") == "a")["text"].to_list() == HARD[1::2]
    assert data.records["user"].to_list() == sorted(data.records["user"])
    assert set(data.records.select("user", "group").unique().rows()) == {("b", "c0"), ("a", "c1")}
    assert data.notes["kept"] == {"users": 2, "records": len(HARD)}
    assert data.notes["skipped"] == {}
    json.dumps(data.notes)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_rows_and_their_numbers_do_not_depend_on_the_batch(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 3)
    monkeypatch.setattr(delimited, "BATCH_ROWS", 3)
    texts = [f"text {i}" for i in range(10)]
    data = table(write(tmp_path, ending, rows_of(texts, users=("a",))))
    assert data.records["text"].to_list() == texts
    bad = write(tmp_path, ending, rows_of([*texts, " "]))
    with pytest.raises(InputError, match="row 11: empty" if ending == ".parquet" else "line 12: "):
        table(bad)


line = st.one_of(
    st.fixed_dictionaries(
        {
            "who": st.sampled_from(["a", "b", 7, 7.5, 1e5, True, None, "", [1]]),
            "what": st.one_of(
                st.text(max_size=8), st.sampled_from(["x y", "7", "[z]", 7, None, {}, "\ud800"])
            ),
        },
        optional={"kind": st.sampled_from(["k", 1, 2.0, None, {"a": 1}])},
    ).map(lambda row: json.dumps(row).encode()),
    st.sampled_from(
        [b"", b"  ", b"{", b"[1]", b'{"who":"a","what":"\xff","kind":"k"}', b"null", b"{} {}"]
    ),
    st.just(b'{"who": "a", "what": "good words", "kind": "k"}'),
)


def json_twin(lines):
    """The rows and the bad lines of a file, as the docstrings say, by json alone."""

    def text_of(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float):
            return str(int(value)) if value == int(value) else str(value)
        return str(value)

    good, bad = [], []
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            row = json.loads(raw)
            who, what, kind = row["who"], row["what"], row["kind"]
            fine = (
                isinstance(who, str | int | float)
                and str(who).strip()
                and isinstance(what, str)
                and what.strip()
                and (kind is None or isinstance(kind, str | int | float))
            )
            what.encode()
        except (ValueError, KeyError, TypeError, AttributeError):
            fine = False
        if fine:
            good.append((text_of(who), "" if kind is None else text_of(kind), what))
        else:
            bad.append(number)
    return good, bad


@given(st.lists(line, min_size=1, max_size=30), st.integers(1, 300), st.booleans())
@settings(deadline=None, max_examples=200, derandomize=True)
def test_json_lines_equal_a_plain_reading_at_any_block_size(tmp_path_factory, lines, block, end):
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    path.write_bytes(b"\n".join(lines) + (b"\n" if end else b" "))
    good, bad = json_twin(lines)
    columns = {"user": "who", "text": "what", "label": "kind"}
    options = {"path": str(path), "columns": columns}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonlines, "BLOCK_BYTES", block)
        if bad:
            with pytest.raises(InputError, match=rf"a\.jsonl, line {bad[0]}: "):
                load("table", options)
        if not good:
            with pytest.raises(InputError):
                load("table", {**options, "on_bad": "skip"})
            return
        data = load("table", {**options, "on_bad": "skip"})
    expected = sorted(good, key=lambda row: row[0].encode())
    assert data.records.select("user", "label", "text").rows() == expected
    assert sum(data.notes["skipped"].values()) == len(bad)
    assert [int(re.match(r"line (\d+)", e)[1]) for e in data.notes["bad_rows"]] == bad[:20]


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        (
            "a.csv",
            b"who,kind,case\na,k,c\n",
            "a.csv, line 1: no column what; found: who, kind, case",
        ),
        ("a.csv", b"who,what,kind,case\na,x,k,c\na,x,k\n", "line 3: wrong number of columns: 3"),
        ("a.csv", b'who,what,kind,case\na,"x\ny",k,c\na,\xff,k,c\n', "line 4: bytes or escapes"),
        ("a.csv", b"who,what,kind,case\na,x,k,c\na, ,k,c\n", "line 3: empty text"),
        ("a.csv", b'who,what,kind,case\na,x,k,c\na,"cut o', "line 3: broken quoting"),
        ("a.csv", b'who,what,kind,case\na,"x"y,k,c\n', "line 2: broken quoting"),
        ("a.csv", b"who,what,kind,case\n", "none of 0 users"),
        ("a.jsonl", b'{"who":"a","what":"x","kind":"k","case":"c"}\n{"who":"a","wh', "line 2: not"),
        (
            "a.jsonl",
            b'{"who":"a","text":"x","kind":"k"}\n',
            "line 1: missing field: what; found: who",
        ),
        ("a.jsonl", b'{"who":"a","what":7,"kind":"k","case":""}\n', "line 1: text is no text: 7"),
        ("a.jsonl", b'\n{"who":["a"],"what":"x","kind":"","case":""}', "line 2: user is neither"),
        ("a.jsonl", b'{"who":"a","what":"\xff","kind":"","case":""}', "line 1: a byte that is not"),
        ("a.jsonl", b"", "the file is empty"),
        ("a.parquet", b"PAR1 this is not", "cannot be read as Parquet"),
        ("a.txt", b"hello", "the name must end in one of .parquet, .csv"),
    ],
)
def test_bad_files_are_named_with_their_line(tmp_path, name, content, found):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(found)) as error:
        table(path)
    assert name in str(error.value)


def test_a_truncated_parquet_file_is_named(tmp_path):
    path = write(tmp_path, ".parquet", rows_of(HARD))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"data\.parquet: cannot be read as Parquet"):
        table(path)


def test_bad_parquet_rows_are_named_and_counted(tmp_path):
    path = tmp_path / "a.parquet"
    frame = pl.DataFrame(
        {"who": [1, 2, None, 1], "what": ["x", None, "y", " "], "kind": "k", "case": None}
    )
    frame.write_parquet(path)
    with pytest.raises(InputError, match=r"a\.parquet, row 2: text is no text: None"):
        table(path)
    data = table(path, on_bad="skip")
    assert data.records.rows() == [("1", 0, "k", "", "x")]
    assert sum(data.notes["skipped"].values()) == 3
    pl.DataFrame({"who": ["a"], "what": [1.5], "kind": "k", "case": ""}).write_parquet(path)
    with pytest.raises(InputError, match=r"row 1: text is no text: 1\.5"):
        table(path)
    with pytest.raises(InputError, match="no column name; found: who, what"):
        table(path, columns={**COLUMNS, "user": "name"})


def test_an_unclosed_quote_counts_every_line_it_swallowed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('who,what,kind,case\na,x,k,c\nb,"never closed,k,c\na,y,k,c\na,z,k,c\n')
    data = table(path, on_bad="skip")
    assert data.records["text"].to_list() == ["x"]
    assert data.notes["skipped"] == {"broken quoting": 3}


def test_a_byte_order_mark_is_no_part_of_the_data(tmp_path):
    for name, content in (
        ("a.csv", 'who,what,kind,case\n"a",x,k,c\n'),
        ("a.jsonl", '{"who":"a","what":"x","kind":"k","case":"c"}\n'),
    ):
        path = tmp_path / name
        path.write_bytes(b"\xef\xbb\xbf" + content.encode())
        assert table(path).records.rows() == [("a", 0, "k", "c", "x")]


def test_filters_leave_out_records_then_users_and_count_both(tmp_path):
    texts = {
        "few": ["two words"],
        "fit": ["one", "two words", "now three words", "four words are here"],
        "many": ["two words"] * 3,
    }
    rows = [{"who": u, "what": t, "kind": "", "case": ""} for u, ts in texts.items() for t in ts]
    path = write(tmp_path, ".jsonl", rows)
    data = table(
        path,
        minimum_words=2,
        maximum_words=3,
        minimum_records=2,
        maximum_records=2,
        public_records=3,
    )
    assert data.records.select("user", "record", "text").rows() == [
        ("fit", 0, "two words"),
        ("fit", 1, "now three words"),
    ]
    assert data.notes["skipped"] == {
        "record with too few words": 1,
        "record with too many words": 1,
        "user with too few or too many records": 2,
    }
    assert data.notes["read"] == {"users": 3, "records": 8}
    assert data.public.rows() == [("", "two words")] * 3
    with pytest.raises(InputError, match="none of 3 users has from 9 to"):
        table(path, minimum_records=9)


def test_exact_duplicates_across_users_are_counted(tmp_path):
    path = write(tmp_path, ".csv", rows_of(["x", "x", "x", "y", "z", "y"]))
    # x belongs to both users (three records), y to one alone.
    assert table(path).notes["shared_texts"] == {"texts": 1, "records": 3}


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"columns": {"user": "who"}}, "columns has no text"),
        ({"columns": {**COLUMNS, "author": "x"}}, "'author': 'x'"),
        ({"columns": {**COLUMNS, "label": 3}}, "'label': 3"),
        ({"columns": "who"}, "columns is 'who'; it must be a mapping"),
        ({"minimum_words": 0}, "minimum_words is 0"),
        (
            {"minimum_records": 3, "maximum_records": 2},
            "minimum_records is 3 and maximum_records is 2",
        ),
        ({"on_bad": "ignore"}, "on_bad is 'ignore'; allowed: error, skip"),
        ({"public_records": -1}, "public_records is negative"),
        ({"colour": "red"}, "unknown option colour"),
        ({"path": 3}, "path is 3; it must be a text"),
        ({"path": "nowhere.csv"}, "nowhere.csv: no such file"),
    ],
)
def test_wrong_options(tmp_path, options, found):
    path = write(tmp_path, ".csv", rows_of(HARD))
    with pytest.raises(InputError, match=re.escape(found)):
        load("table", {"path": str(path), "columns": COLUMNS, **options})
    with pytest.raises(InputError, match="option columns is missing"):
        load("table", {"path": str(path)})
