import numpy as np
import polars as pl
import pytest

import artifacts
import dpsgd_features
from pe_core import InputError

FILE = {"name": "mine", "source": "file", "label": "label"}


def test_digits_are_images_in_unit_range():
    found = dpsgd_features.load({"source": "digits"}, [])
    assert found.values.shape == (1797, 64)
    assert (found.values.min(), found.values.max()) == (0.0, 1.0)
    assert found.names == [str(digit) for digit in range(10)]


def test_embeddings_take_their_labels_from_the_records(tmp_path):
    records, rows = tmp_path / "records.parquet", tmp_path / "records.npy"
    labels = pl.DataFrame({"label": ["b", "a", "b"], "text": ["x", "y", "z"]})
    with artifacts.writing(records) as path:
        labels.write_parquet(path)
    artifacts.save_array(rows, np.eye(3, dtype=np.float32))
    found = dpsgd_features.load({"source": "embeddings"}, [str(records), str(rows)])
    assert (found.labels.tolist(), found.names) == ([1, 0, 1], ["a", "b"])
    artifacts.save_array(rows, np.eye(2, dtype=np.float32))
    with pytest.raises(InputError, match="2 rows for the 3 records"):
        dpsgd_features.load({"source": "embeddings"}, [str(records), str(rows)])
    artifacts.save_array(rows, np.eye(3, dtype=np.float32))
    with artifacts.writing(records) as path:
        labels.with_columns(label=pl.Series(["a", None, "b"])).write_parquet(path)
    with pytest.raises(InputError, match="row 1 has no label"):
        dpsgd_features.load({"source": "embeddings"}, [str(records), str(rows)])


@pytest.mark.parametrize("kind", ["npz", "one-hot", "csv", "headless", "parquet"])
def test_a_users_file_in_each_format(tmp_path, kind):
    values, labels = np.array([[0.5, 1.0], [2.0, 3.0], [4.0, 5.0]]), np.array([10, 9, 10])
    suffix = {"one-hot": "npz", "headless": "csv"}.get(kind, kind)
    path, settings = tmp_path / f"mine.{suffix}", FILE
    if kind == "npz":
        np.savez(path, features=values, labels=labels)
    elif kind == "one-hot":
        np.savez(path, features=values, labels=np.eye(11)[labels][:, 9:])
    elif kind == "headless":
        path.write_text("10,0.5,1\n9,2,3\n10,4,5\n")
        settings = FILE | {"label": 0}
    else:
        table = pl.DataFrame({"a": values[:, 0], "label": labels, "b": values[:, 1]})
        table.write_csv(path) if kind == "csv" else table.write_parquet(path)
    found = dpsgd_features.load(settings, [str(path)])
    np.testing.assert_array_equal(found.values, values.astype(np.float32))
    assert found.labels.tolist() == [1, 0, 1]
    assert found.names == (["0", "1"] if kind == "one-hot" else ["9", "10"])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "x,y\n1,2\n", "no column 'label'"),
        ("a.csv", "x,label\n1,0\nword,1\n", "column x of type String"),
        ("a.csv", "x,label\n1,0\n,1\n", "column x of type Int64 with 1 empty"),
        ("a.csv", "x,label\n1,0\n2,\n", "record 1 has no label"),
        ("a.csv", "x,label\n1,0\n2,0\n", "1 classes; at least 2"),
        ("a.csv", "", "a.csv: "),
        ("a.npz", "no zip", "not an .npz of plain arrays"),
        ("a.txt", "1 2", "allowed are .npz, .csv and .parquet"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        dpsgd_features.load(FILE, [str(path)])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"features": np.zeros((2, 3))}, "arrays features; features and labels are needed"),
        ({"features": np.zeros((2, 3)), "labels": np.zeros(3, int)}, "one label a record"),
        ({"features": np.zeros((2, 3)), "labels": np.zeros(2)}, "whole numbers are needed"),
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=message):
        dpsgd_features.load(FILE, [str(tmp_path / "a.npz")])


def test_the_split_is_disjoint_and_says_what_is_missing():
    labels = np.arange(30) % 3
    features = dpsgd_features.Features(np.zeros((30, 2), np.float32), labels, ["a", "b", "c"])
    sizes = {"name": "mine", "records": 15, "auxiliary": 10, "test": 5}
    rows = dpsgd_features.split(features, sizes, 1)
    assert [len(rows[name]) for name in dpsgd_features.SPLITS] == [15, 10, 5]
    assert sorted(np.concatenate(list(rows.values())).tolist()) == list(range(30))
    with pytest.raises(InputError, match=r"30 records, .* = 31 are needed"):
        dpsgd_features.split(features, sizes | {"test": 6}, 1)
    rare = features._replace(labels=np.zeros(30, np.int64))
    with pytest.raises(InputError, match="no training record of class b, c"):
        dpsgd_features.split(rare, sizes, 1)
