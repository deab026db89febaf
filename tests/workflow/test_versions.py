"""Results of several versions of a package meet, and the table says so."""

import json
from importlib.metadata import version

import artifacts
import versions
from tests.workflow import small

CELL = "results/small/A/all-MiniLM-L6-v2/exact/canary-0"


def test_every_result_says_what_made_it(done):
    for path in (f"{CELL}/audit.json", "results/small/embeddings/all-MiniLM-L6-v2/records.json"):
        made_with = json.loads((done / path).read_text())["versions"]
        assert {"python", *versions.PACKAGES} <= made_with.keys()
        assert made_with["numba"] == version("numba")


def test_a_table_of_one_version_warns_of_nothing(done):
    made = json.loads((done / "results/tables/table2.provenance.json").read_text())
    assert made["versions"]["numba"] == {version("numba"): len(small.ATTACKS)}
    assert "several versions" not in (done / "logs/table2.log").read_text()


def test_a_mix_is_counted_logged_and_told(copy):
    path = copy / CELL / "audit.json"
    audit = artifacts.load_json(path)
    artifacts.save_json(path, {**audit, "versions": {**audit["versions"], "numba": "0.1"}})
    (copy / "results/tables/table2.csv").unlink()
    said = small.snakemake(copy, "results/tables/table2.csv")
    counts = {"0.1": 1, version("numba"): len(small.ATTACKS) - 1}
    made = json.loads((copy / "results/tables/table2.provenance.json").read_text())
    assert made["versions"]["numba"] == counts
    words = f"several versions of numba meet: 0.1 made 1, {version('numba')} made 3"
    assert words in said
    assert words in (copy / "logs/table2.log").read_text()
    assert "several versions of numpy" not in said


def test_what_says_nothing_is_not_counted(tmp_path):
    (tmp_path / "a.json").write_text('{"x": 1}')
    (tmp_path / "b.json").write_text('{"versions": {"numba": "1"}}')
    (tmp_path / "c.csv").write_text("no JSON")
    assert versions.met(str(path) for path in sorted(tmp_path.iterdir())) == {"numba": {"1": 1}}
