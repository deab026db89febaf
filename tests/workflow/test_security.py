"""Texts and answers are hostile and private; the key is nobody's business."""

import ast
import re
from pathlib import Path

import polars as pl
import pytest

from tests.text.endpoint import answer, endpoint
from tests.workflow import small

ROOT = Path(__file__).resolve().parents[2]
CODE = sorted(
    path
    for folder in ("pe_core", "workflow", "benchmarks", "envs", "snakemake_logger_plugin_pe_audit")
    for path in (ROOT / folder).rglob("*.py")
)
RULES = [ROOT / "Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))]
# Formats and calls that run what they read.
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
UNSAFE_CALLS = {"eval", "exec", "os.system", "os.popen", "torch.load", "torch.save", "yaml.load"}
# Where texts are meant to be: the user's files, the artifacts that hold texts, and the answers.
TEXTS = re.compile(r"data/|results/small/.*\.parquet|results/cache/")
KEY = "sk-nobody-should-read-this"
HOSTILE = "says <script>alert(1)</script> $(touch pwned) `touch pwned` ; {input} %s \\\" '"


def unsafe(tree):
    """Return what of a module reads code from data, or hands text to a shell."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in UNSAFE_MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.split(".")[0] in UNSAFE_MODULES:
                yield node.module
        elif isinstance(node, ast.Call):
            if ast.unparse(node.func) in UNSAFE_CALLS:
                yield ast.unparse(node.func)
            for keyword in node.keywords:
                if (
                    keyword.arg in ("allow_pickle", "shell")
                    and ast.unparse(keyword.value) != "False"
                ):
                    yield f"{keyword.arg}={ast.unparse(keyword.value)}"


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_runs_what_it_reads(path):
    assert list(unsafe(ast.parse(path.read_text()))) == []


def test_the_search_finds_what_it_looks_for():
    text = "import pickle\nnp.load(x, allow_pickle=True)\nrun(x, shell=True)\nos.system(x)\n"
    assert list(unsafe(ast.parse(text))) == [
        "pickle",
        "allow_pickle=True",
        "shell=True",
        "os.system",
    ]


def test_rules_hand_no_text_to_a_shell():
    for path in RULES:
        assert not re.search(r"^\s+(shell|run):", path.read_text(), re.MULTILINE), path


def files_of(folder):
    """Return what a run leaves, by name, but for the files that hold texts."""
    places = [folder / name for name in ("results", "logs", ".snakemake")]
    return {
        name: path.read_bytes()
        for place in places
        for path in place.rglob("*")
        if path.is_file() and not TEXTS.match(name := str(path.relative_to(folder)))
    }


def test_private_texts_are_in_no_log_table_or_other_result(done):
    private = pl.read_csv(done / "data/texts.csv")["said"].to_list()
    files = files_of(done)
    assert {"results/tables/table2.csv", "logs/small/records.log"} <= files.keys()
    assert any(name.startswith(".snakemake/log/") for name in files)
    for name, content in files.items():
        # The first words are enough to know a sentence by.
        assert not any(text[:24].encode() in content for text in private), name


def test_the_key_stays_in_the_environment_and_text_stays_text(tmp_path, monkeypatch):
    folder = small.house(tmp_path, ["ordinary"])
    said = pl.read_csv(folder / "data/texts.csv")
    said.with_columns(pl.col("said") + f" He {HOSTILE}").write_csv(folder / "data/texts.csv")
    config = small.get_config(folder)
    config["datasets"][0]["prompts"] = {
        "bank": {"template": "Write a {label}:\n{examples}", "chat": False, "sampling": {}}
    }
    monkeypatch.setenv("KEY_OF_THE_TEST", KEY)
    with endpoint(lambda asked: answer(f"Seed {asked['seed']} {HOSTILE}"), []) as server:
        config["generator"] = {
            "source": "openai",
            "base_url": server.url,
            "model": "hostile",
            "key_env": "KEY_OF_THE_TEST",
        }
        small.set_config(folder, config)
        output = small.snakemake(folder, "results/small/banks/A.parquet")
        assert {headers["Authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    assert KEY not in output
    for path in folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
    bank = pl.read_parquet(folder / "results/small/banks/A.parquet")["text"]
    assert all(text.endswith(HOSTILE) for text in bank)
    records = pl.read_parquet(folder / "results/small/records.parquet")["text"]
    assert all(text.endswith(HOSTILE) for text in records)
    assert not list(folder.rglob("pwned"))
    for name, content in files_of(folder).items():
        assert b"touch pwned" not in content, name
