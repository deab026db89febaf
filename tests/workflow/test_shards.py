"""A population in parts: the same bytes as in one file, and the same exact ε from tallies."""

import polars as pl
import pytest

from tests.workflow import small

CELLS = "results/small/A/all-MiniLM-L6-v2"
STREAMED = "results/tables/streamed.csv"


@pytest.fixture(scope="module")
def sharded(done, tmp_path_factory):
    """A copy that keeps its texts and embeddings and is made in three shards."""
    folder = small.forget(small.duplicate(done, tmp_path_factory.mktemp("sharded") / "house"))
    small.set_config(folder, {**small.get_config(folder), "shards": 3})
    small.snakemake(folder, *small.TARGETS, STREAMED)
    return folder


def test_no_job_reads_more_than_its_part(copy):
    small.set_config(small.forget(copy), {**small.get_config(copy), "shards": 2})
    jobs = small.planned(copy, f"{CELLS}/exact/canary-0/audit.json")
    parts = ("own", "test-0", "test-1")
    expected = {
        ("account", "results/accounting.json"),
        ("parts", "results/small/parts/own.parquet"),
        ("probes_own", f"{CELLS}/exact/canary-0/parts/own.npz"),
        ("contributions", f"{CELLS}/exact/canary-0/contributions.npz"),
        ("audit", f"{CELLS}/exact/canary-0/audit.json"),
    }
    for part in parts:
        expected.add(
            ("embed", f"results/small/embeddings/all-MiniLM-L6-v2/part-{part}.npy"),
        )
        expected.add(("route_part", f"{CELLS}/parts/{part}/routes.npz"))
    for part in parts[1:]:
        expected.add(("contribute", f"{CELLS}/exact/canary-0/parts/{part}.npz"))
    assert jobs == expected


def test_fewer_shards_cut_the_users_again(tmp_path):
    house = small.house(tmp_path, ["ordinary"])
    part = "results/small/parts/test-0.parquet"
    settings = small.configuration(["ordinary"])
    small.set_config(house, {**settings, "shards": 3})
    small.snakemake(house, part)
    assert small.planned(house, part) == set()
    small.set_config(house, {**settings, "shards": 2})
    assert small.planned(house, part) == {("parts", "results/small/parts/own.parquet")}


def test_more_shards_than_test_users_are_refused_by_key(tmp_path):
    house = small.house(tmp_path, ["ordinary"])
    users = small.COHORTS["test"]
    small.set_config(house, {**small.configuration(["ordinary"]), "shards": users + 1})
    said = small.snakemake(house, "-n", *small.TARGETS, passes=False)
    assert f"datasets.small.cohorts.test = {users}: at least shards = {users + 1} is needed" in said


@pytest.mark.slow
def test_tables_and_contributions_are_those_of_one_file(done, sharded):
    assert not (sharded / f"{CELLS}/routes.npz").exists()
    one_file = small.tables(done)
    assert {name: small.tables(sharded)[name] for name in one_file} == one_file
    made = sorted((done / CELLS).rglob("contributions.npz"))
    assert len(made) == len(small.ATTACKS)
    for path in made:
        assert (sharded / path.relative_to(done)).read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_tallies_give_the_exact_rates(done, sharded):
    streamed = pl.read_csv(sharded / STREAMED).sort("attack")
    expected = pl.read_csv(done / "results/tables/canaries.csv").sort("attack")
    assert streamed["users"].to_list() == [small.COHORTS["test"]] * len(small.ATTACKS)
    for column in ("epsilon_exact_best", "separation"):
        assert streamed[column].to_list() == pytest.approx(expected[column].to_list(), abs=1.5e-6)


@pytest.mark.slow
def test_parts_hold_each_test_user_once(sharded):
    records = pl.read_parquet(sharded / "results/small/records.parquet")
    parts = [
        pl.read_parquet(sharded / f"results/small/parts/{part}.parquet")
        for part in ("own", "test-0", "test-1", "test-2")
    ]
    assert pl.concat(parts).equals(records)
    assert [part["user"].n_unique() for part in parts[1:]] == [4, 4, 4]
