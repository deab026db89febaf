import polars as pl
import pytest

from pe_core import InputError
from pe_core.text import files

TEXTS = ["One text.", "Another text", "one  TEXT", "A third 😀\nwith a newline"]
WRITERS = {
    "parquet": pl.DataFrame.write_parquet,
    "csv": pl.DataFrame.write_csv,
    "jsonl": pl.DataFrame.write_ndjson,
}


def write(path, table):
    WRITERS[path.suffix[1:]](table, path)
    return str(path)


@pytest.mark.parametrize("kind", WRITERS)
def test_a_bank_keeps_its_order_and_drops_repeats(tmp_path, kind):
    path = write(tmp_path / f"a.{kind}", pl.DataFrame({"text": TEXTS}))
    table, counts = files.bank(path, 3)
    assert table["text"].to_list() == [TEXTS[0], TEXTS[1], TEXTS[3]]
    assert table["label"].to_list() == ["", "", ""]
    assert counts == {"read": 4, "repeated": 1, "accepted": 3}


def test_labels_are_kept(tmp_path):
    path = write(tmp_path / "a.csv", pl.DataFrame({"text": ["x", "y"], "label": [4, 5]}))
    assert files.bank(path, 2)[0]["label"].to_list() == ["4", "5"]


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("a.parquet", pl.DataFrame({"text": TEXTS}), "3 distinct texts of 4 rows; bank.size = 4"),
        ("a.parquet", pl.DataFrame({"line": TEXTS}), "no column 'text'; it has line"),
        ("a.csv", pl.DataFrame({"text": ["x", "  ", "y"]}), "row 2: the text is empty"),
        ("a.parquet", pl.DataFrame({"text": [1, 2]}), "holds Int64, not strings"),
    ],
)
def test_a_bank_that_cannot_be_used_is_named(tmp_path, name, table, message):
    path = write(tmp_path / name, table)
    with pytest.raises(InputError, match=message) as caught:
        files.bank(path, 4)
    assert path in str(caught.value)


def test_files_that_are_none(tmp_path):
    empty = tmp_path / "e.parquet"
    empty.write_bytes(b"")
    for path, message in [
        (tmp_path / "no.csv", "no such file"),
        (tmp_path / "a.xls", "allowed are .parquet, .csv"),
        (empty, "cannot be read as .parquet"),
    ]:
        with pytest.raises(InputError, match=message):
            files.bank(str(path), 1)


RECORDS = {0: ["To be.", "Or not."], 2: ["Who's there?"]}


def pool(tmp_path, rows):
    table = pl.DataFrame(rows, schema=["canary", "source", "text"], orient="row")
    return write(tmp_path / "pool.parquet", table)


def test_no_error_quotes_a_text(tmp_path):
    broken = tmp_path / "broken.csv"
    broken.write_text('text,label\n"What only one person said,b\nx,"y\n')
    with pytest.raises(
        InputError, match=r"cannot be read as \.csv: could not parse a cell"
    ) as caught:
        files.bank(str(broken), 1)
    assert "only one person" not in str(caught.value)


def test_pools_by_canary_without_verbatim_copies(tmp_path):
    path = pool(
        tmp_path,
        [(2, 0, "Is someone there?"), (0, 1, "OR NOT"), (0, 0, "To exist."), (0, 1, "to exist"),
         (1, 0, "of no canary"), (0, 1, "Else not."), (2, 0, "Name yourself.")],
    )  # fmt: skip
    table, counts = files.pools(path, RECORDS, 2)
    assert table.rows() == [
        (0, 0, 0, "To exist."),
        (0, 1, 1, "Else not."),
        (2, 0, 0, "Is someone there?"),
        (2, 1, 0, "Name yourself."),
    ]
    assert counts == {"read": 6, "verbatim": 1, "repeated": 1, "accepted": 4}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 5, "x")], "row 1: source 5; canary 0 has records 0 to 1"),
        ([(0, 0, "x")], "1 usable paraphrases of canary 0; pool.size = 2"),
        ([(0.5, 0, "x")], "column canary holds Float64"),
    ],
)
def test_a_pool_that_cannot_be_used_is_named(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        files.pools(pool(tmp_path, rows), RECORDS, 2)
