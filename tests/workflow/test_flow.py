"""The whole run on a small dataset, a real encoder and texts that are brought in files."""

import shutil

import polars as pl
import pytest

from tests.workflow import small


def test_every_table_is_made_and_no_value_passes_the_proof(done):
    assert set(small.tables(done)) == {"table2.csv", "table4.csv", "canaries.csv"}
    table = pl.read_csv(done / "results/tables/table2.csv")
    assert table["attack"].to_list() == list(small.ATTACKS)
    assert not table.select(pl.all().exclude("paper")).null_count().sum_horizontal().item()
    for row in table.iter_rows(named=True):
        assert 0.0 <= row["epsilon_exact"] <= row["epsilon_exact_best"]
        assert row["epsilon_exact_best"] <= row["epsilon_theory_tight"] + 1e-6
        assert row["epsilon_theory_tight"] <= row["epsilon_theory"]
    # Copies of the canary's own records win at least one vote each; nobody else is so near.
    exact = table.row(by_predicate=pl.col("attack") == "exact", named=True)
    assert exact["votes_on_inspected"] >= 1 / 5
    assert exact["epsilon_exact_best"] > 0.0


def test_the_second_run_has_nothing_to_do(done):
    assert small.planned(done) == set()


def test_another_noise_makes_nothing_before_the_probes_again(copy):
    config = small.get_config(copy)
    config["mechanism"] = {"noise_multiplier": 2.0}
    small.set_config(copy, config)
    cell = "results/small/A/all-MiniLM-L6-v2/{}/canary-0/{}"
    assert small.planned(copy) == {
        ("account", "results/accounting.json"),
        # The only attack here that weighs its probes by the background.
        ("probes", cell.format("nonce-mu_eff", "contributions.npz")),
        *(("audit", cell.format(attack, "audit.json")) for attack in small.ATTACKS),
        *(("table", f"results/tables/{name}.csv") for name in ("table2", "table4")),
        ("canaries", "results/tables/canaries.csv"),
    }


@pytest.mark.parametrize(
    ("file", "output"),
    [
        ("texts.csv", "results/small/records.parquet"),
        ("bank.csv", "results/small/banks/A.parquet"),
        ("pool.csv", "results/small/pools/paraphrase.parquet"),
    ],
)
def test_another_file_of_the_users_is_read_again(copy, file, output):
    path = copy / "data" / file
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:-1], lines[-1].replace("a", "o")]))
    assert output in {made for _, made in small.planned(copy)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"banks": {"A": "data/{dataset}.csv"}},
            "generator.banks.A: data/small.csv does not exist",
        ),
        ({"banks": {"B": "data/bank.csv"}}, "generator.banks.A is missing"),
        ({"pools": "data/none.csv"}, "generator.pools: data/none.csv does not exist"),
        ({"pools": None}, "generator.pools is missing"),
    ],
)
def test_a_missing_file_is_said_before_anything_is_planned(copy, change, words):
    config = small.get_config(copy)
    generator = {**config["generator"], **change}
    config["generator"] = {key: value for key, value in generator.items() if value is not None}
    small.set_config(copy, config)
    printed = small.snakemake(copy, "-n", *small.TARGETS, passes=False)
    assert words in printed
    assert "Building DAG" not in printed


def test_encoders_are_compared_in_table_3_where_there_are_two(copy):
    assert "table3.csv" not in small.snakemake(copy, "-n", "all")
    config = small.get_config(copy)
    config["encoders"].append({"name": "other", "model": "all-MiniLM-L6-v2", "dtype": "bfloat16"})
    small.set_config(copy, config)
    assert ("table", "results/tables/table3.csv") in small.planned(copy, "all")


def test_another_working_folder_needs_nothing_but_the_configuration_and_its_files(tmp_path):
    folder, elsewhere = tmp_path / "house", tmp_path / "elsewhere"
    folder.mkdir()
    small.house(folder, ["ordinary"])
    for name in ("config", "data"):
        shutil.copytree(folder / name, elsewhere / name)
    planned = small.planned(folder, "reported", "--directory", str(elsewhere))
    assert {"audit_card", "tables_page"} <= {rule for rule, _ in planned}
