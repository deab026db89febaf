import copy
import errno
import math
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

import configuration
from pe_core.text import acceptance, encoders
from tests.workflow import small

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "workflow/schemas/config.schema.yaml"
COLUMNS = {"user": "who", "text": "said"}
DEFAULT = yaml.safe_load((ROOT / "config/config.yaml").read_text())


def read(name):
    return yaml.safe_load((ROOT / "config" / name).read_text())


def merged(*names):
    """The configuration of `--configfile`: its files over the default one, key by key."""
    config = copy.deepcopy(DEFAULT)
    for name in names:
        update_config(config, read(name))
    return config


def check(config):
    return configuration.validate(config, SCHEMA)


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda p: p.name)
def test_every_shipped_configuration_is_sound(path):
    assert check(merged(path.name)) == []


def test_the_papers_rounds_keep_nothing_of_the_defaults_smaller_ones():
    config = merged("paper.yaml", "paper_rounds.yaml")
    rounds = config["evolution"]
    assert (rounds["size"], rounds["probes"]) == (config["bank"]["size"], config["bank"]["probes"])
    assert set(DEFAULT["evolution"]) <= set(read("paper.yaml")["evolution"])


def test_defaults_are_filled_in_at_every_level_and_only_where_absent():
    config = copy.deepcopy(DEFAULT)
    del config["mechanism"]
    config["evaluation"] = {"trials": 7}
    assert check(config) == []
    assert config["mechanism"]["clip"] == 0.1
    assert config["evaluation"]["trials"] == 7
    assert config["evaluation"]["alpha"] == 0.05


@pytest.mark.parametrize("key", ["evolution", "dpsgd"])
def test_defaults_of_parts_in_files_of_their_own_are_filled_in(key):
    config = copy.deepcopy(DEFAULT)
    config.pop(key, None)
    assert check(config) == []
    part = yaml.safe_load((SCHEMA.parent / f"{key}.schema.yaml").read_text())
    defaults = {name for name, rule in part["properties"].items() if "default" in rule}
    assert defaults
    assert defaults <= config[key].keys()


def test_filling_in_does_not_change_the_schema_for_the_next_configuration():
    first, second = copy.deepcopy(DEFAULT), copy.deepcopy(DEFAULT)
    for config in (first, second):
        config.pop("mechanism")
    check(first)
    first["mechanism"]["clip"] = 5.0
    check(second)
    assert second["mechanism"]["clip"] == 0.1


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda c: c["evaluation"].update(trials="many"), "evaluation.trials"),
        (lambda c: c["evaluation"].update(trials=0), "evaluation.trials"),
        (lambda c: c["mechanism"].update(participation=1.5), "mechanism.participation"),
        (lambda c: c["mechanism"].update(sigma=1.0), "mechanism"),
        (lambda c: c["datasets"][0].update(loader="novels"), "datasets[0].loader"),
        (lambda c: c["datasets"][0]["cohorts"].pop("test"), "datasets[0].cohorts"),
        (lambda c: c["datasets"][0].update(name="../x"), "datasets[0].name"),
        (lambda c: c.update(attacks=["exact", "exact"]), "attacks"),
        (lambda c: c.update(banks=["C"]), "banks[0]"),
        (lambda c: c.update(mechanism=3), "mechanism"),
        (lambda c: c.pop("encoders"), "config"),
        (lambda c: c["mechanism"].update(delta=0.0), "mechanism.delta"),
        (lambda c: c["mechanism"].update(noise_multiplier=0), "mechanism.noise_multiplier"),
        (lambda c: c["mechanism"].update(noise_multiplier=math.inf), "mechanism.noise_multiplier"),
        (lambda c: c["mechanism"].update(clip=math.nan), "mechanism.clip"),
        (lambda c: c["evaluation"].update(trials=1e6), "evaluation.trials"),
        (lambda c: c["datasets"][0].update(options={"path": "x"}), "datasets[0].options"),
        (lambda c: c["datasets"][0].update(loader="yelp"), "datasets[0].options"),
        (
            lambda c: c["datasets"][0].update(
                loader="table", options={"path": 3, "columns": COLUMNS}
            ),
            "datasets[0].options.path",
        ),
    ],
)
def test_a_fault_is_reported_with_its_path(change, path):
    config = copy.deepcopy(DEFAULT)
    change(config)
    faults = check(config)
    assert len(faults) == 1
    assert faults[0].startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["bank"].update(size=10, probes=8),
         "bank.size - bank.probes = 2: at least mechanism.votes = 5 is needed"),
        (lambda c: c["bank"].update(probes=65),
         "pool.size = 64: at least bank.probes = 65 is needed"),
        (lambda c: c.update(pool={"size": 1_000_001}, bank={"size": 10**7, "probes": 1_000_002}),
         "pool.size = 1000001: at least bank.probes = 1000002 is needed"),
        (lambda c: c["canaries"].update(count=6),
         "datasets.shakespeare.cohorts.canary = 5: at least canaries.count = 6 is needed"),
        (lambda c: c["canaries"].update(records=65),
         "mechanism.maximum_records = 64: at least canaries.records = 65 is needed"),
        (lambda c: c["generator"].update(rules={"min_words": 9, "max_words": 8}),
         "generator.rules.max_words = 8: at least generator.rules.min_words = 9 is needed"),
        (lambda c: c.update(dpsgd={"checkpoints": [5, 5]}),
         "dpsgd.checkpoints = [5, 5]: each must be above the one before it"),
        (lambda c: c["encoders"].append(c["encoders"][0]),
         "encoders: the name all-MiniLM-L6-v2 is given 2 times; each needs its own"),
        (lambda c: c["datasets"][0].update(name="cache"),
         "datasets: the name cache is taken; not allowed are cache, dpsgd, figures, tables"),
        (lambda c: c["datasets"][0]["prompts"]["bank"].update(template="A {lable}: {examples}"),
         "datasets.shakespeare.prompts.bank.template: prompt 'A {lable}: {examples}': "
         "fields ['examples', 'lable'], needed are ['examples', 'label']"),
    ],
)  # fmt: skip
def test_keys_that_do_not_go_together_are_named_with_their_values(change, said):
    config = copy.deepcopy(DEFAULT)
    change(config)
    assert check(config) == [said]


def test_no_candidates_are_needed_where_no_attack_chooses_among_them():
    config = copy.deepcopy(DEFAULT)
    config.update(attacks=["ordinary", "exact"], pool={"size": 1})
    assert check(config) == []


def test_a_file_that_cannot_be_read_is_told_apart(tmp_path, monkeypatch):
    file, empty = tmp_path / "texts.csv", tmp_path / "empty.csv"
    file.write_text("user,text\n")
    empty.touch()
    assert configuration.unusable(str(file)) is None
    assert configuration.unusable(str(empty)) == "is empty"
    assert configuration.unusable(str(tmp_path)) == "is a folder, not a file"
    assert configuration.unusable(str(tmp_path / "none")) == "does not exist"
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "permissions" in configuration.unusable(str(file))

    def closed(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "stat", closed)
    assert "permissions" in configuration.unusable(str(file))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("banks", {"A": "data"}, "generator.banks.A: data is a folder, not a file; it is a table"),
        ("banks", {"A": "no.csv"}, "generator.banks.A: no.csv does not exist; it is a table"),
        ("source", "openai", "datasets.small.prompts.bank is missing: a generator needs it"),
    ],
)
def test_what_a_bank_is_made_of_is_looked_for_before_any_job(tmp_path, key, value, said):
    house = small.house(tmp_path, ["ordinary"])
    config = small.get_config(house)
    config["generator"] |= {"model": "any", "base_url": "http://127.0.0.1:1/v1", key: value}
    small.set_config(house, config)
    assert said in small.snakemake(house, "-n", *small.TARGETS, passes=False)


def undescribed(schema, at=""):
    """Yield every key of a schema that has neither a description nor keys of its own."""
    for key, rule in schema.get("properties", {}).items():
        if not {"description", "$ref", "properties"} & rule.keys():
            yield f"{at}{key}"
        yield from undescribed(rule, f"{at}{key}.")
    for name, rule in schema.get("$defs", {}).items():
        yield from undescribed(rule, f"{name}.")


def test_every_key_says_what_it_is():
    assert list(undescribed(yaml.safe_load(SCHEMA.read_text()))) == []


def defaults(schema):
    return {key: rule["default"] for key, rule in schema["properties"].items() if "default" in rule}


def test_defaults_that_the_library_has_too_are_the_same():
    parts = yaml.safe_load(SCHEMA.read_text())["$defs"]
    encoder = {key: encoders._DEFAULTS[key] for key in defaults(parts["encoder"])}
    assert defaults(parts["encoder"]) == encoder
    rules = parts["generator"]["properties"]["rules"]
    assert defaults(rules) == vars(acceptance.Rules())
