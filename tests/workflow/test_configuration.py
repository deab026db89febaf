import copy
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

import configuration
from pe_core.text import acceptance, encoders

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "workflow/schemas/config.schema.yaml"
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
    ],
)
def test_a_fault_is_reported_with_its_path(change, path):
    config = copy.deepcopy(DEFAULT)
    change(config)
    faults = check(config)
    assert len(faults) == 1
    assert faults[0].startswith(f"{path}: ")


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
