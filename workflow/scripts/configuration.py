"""Check the configuration before anything is planned, and fill in the defaults."""

import contextlib
import math
import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from pe_core.errors import InputError
from pe_core.text.forms import check_fields

# Folders of results that are no dataset's.
RESERVED = ("cache", "dpsgd", "figures", "tables")
FIELDS = {
    "bank": ({"label", "examples"}, set()),
    "paraphrase": ({"text"}, set()),
    "evolve": ({"high"}, {"low", "label"}),
}
# JSON has one kind of number; here 1e6 is no whole number, and neither infinity nor NaN is one.
NUMBERS = Draft202012Validator.TYPE_CHECKER.redefine_many(
    {
        "integer": lambda _, value: type(value) is int,
        "number": lambda _, value: type(value) in (int, float) and math.isfinite(value),
    }
)


def _filling(base: type[Validator]) -> type[Validator]:
    """Extend a validator class so that it fills in defaults before it looks at the values."""
    check_properties = base.VALIDATORS["properties"]

    def properties(
        validator: Validator, keys: Mapping[str, Any], value: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        if isinstance(value, dict):
            for key, rule in keys.items():
                if "default" in rule:
                    # A copy: the schema must stay as it is when nested defaults are filled in.
                    default = rule["default"]
                    value.setdefault(key, dict(default) if isinstance(default, dict) else default)
        yield from check_properties(validator, keys, value, schema)

    return validators.extend(base, {"properties": properties}, type_checker=NUMBERS)


def validate(config: dict[str, Any], schema_file: Path) -> list[str]:
    """Fill in defaults in place and return one line for every fault, with its key's path.

    Args:
        config: the merged configuration; defaults are added to it.
        schema_file: a JSON schema in YAML; `$ref` to files beside it are followed.

    Returns:
        Faults, empty where the configuration is sound.
    """

    def retrieve(uri: str) -> Resource:
        part = yaml.safe_load((schema_file.parent / uri).read_text(encoding="utf-8"))
        # For a part that names its dialect the library takes its own class, without the defaults.
        part.pop("$schema", None)
        return DRAFT202012.create_resource(part)

    schema = yaml.safe_load(schema_file.read_text(encoding="utf-8"))
    # mypy knows only the static class; the extended one takes the same arguments.
    check = _filling(Draft202012Validator)(schema, registry=Registry(retrieve=retrieve))
    faults = [
        f"{error.json_path.removeprefix('$').removeprefix('.') or 'config'}: {error.message}"
        + (f" ({error.schema['description']})" if "description" in error.schema else "")
        for error in sorted(check.iter_errors(config), key=lambda error: error.json_path)
    ]
    return faults or list(_contradictions(config))


def unusable(path: str) -> str | None:
    """Return why a file cannot be read, or None where it can."""
    file = Path(path)
    # Of a folder on the way to it, too; there pathlib would raise.
    with contextlib.suppress(PermissionError):
        if not file.exists():
            return "does not exist"
        if not file.is_file():
            return "is a folder, not a file"
        if os.access(file, os.R_OK):
            return None if file.stat().st_size else "is empty"
    return "cannot be read; its permissions forbid it"


def _contradictions(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for every value that is allowed by itself and not beside another one."""
    dpsgd = config["dpsgd"]
    for key, several in (
        ("datasets", config["datasets"]),
        ("encoders", config["encoders"]),
        ("dpsgd.data", dpsgd["data"]),
        ("dpsgd.models", dpsgd["models"]),
    ):
        names = [each["name"] for each in several]
        yield from (
            f"{key}: the name {name} is given {names.count(name)} times; each needs its own"
            for name in dict.fromkeys(names)
            if names.count(name) > 1
        )
    yield from (
        f"{key} = {value}: at least {other} = {least} is needed"
        for key, value, other, least in _at_least(config)
        if value < least
    )
    if any(later <= earlier for earlier, later in pairwise(dpsgd["checkpoints"])):
        yield f"dpsgd.checkpoints = {dpsgd['checkpoints']}: each must be above the one before it"
    for dataset in config["datasets"]:
        name = dataset["name"]
        if name in RESERVED:
            yield f"datasets: the name {name} is taken; not allowed are {', '.join(RESERVED)}"
        for kind, (needed, allowed) in FIELDS.items():
            form = dataset["prompts"].get(kind)
            if form is None:
                continue
            for part, fields in (("template", (needed, allowed)), ("example", ({"text"}, set()))):
                try:
                    check_fields(form[part], *fields)
                except InputError as error:
                    yield f"datasets.{name}.prompts.{kind}.{part}: {error}"


def _at_least(config: Mapping[str, Any]) -> Iterator[tuple[str, float, str, float]]:
    """Yield a key, its value, and the key whose value it must reach."""
    bank, routing, canaries = config["bank"], config["routing"], config["canaries"]
    votes, rules = config["mechanism"]["votes"], config["generator"]["rules"]
    yield "bank.size - bank.probes", bank["size"] - bank["probes"], "mechanism.votes", votes
    if any(attack.split("-")[0] in ("paraphrase", "nonce") for attack in config["attacks"]):
        yield "pool.size", config["pool"]["size"], "bank.probes", bank["probes"]
    # HNSW cannot return or link more entries than it keeps.
    yield "routing.search", routing["search"], "mechanism.votes", votes
    yield "routing.construction", routing["construction"], "routing.links", routing["links"]
    records = config["mechanism"]["maximum_records"]
    yield "mechanism.maximum_records", records, "canaries.records", canaries["records"]
    for kind in ("words", "similarity"):
        least = f"min_{kind}"
        yield (
            f"generator.rules.max_{kind}",
            *(rules[f"max_{kind}"], f"generator.rules.{least}", rules[least]),
        )
    for dataset in config["datasets"]:
        at, cohorts = f"datasets.{dataset['name']}.cohorts", dataset["cohorts"]
        yield f"{at}.canary", cohorts["canary"], "canaries.count", canaries["count"]
        yield f"{at}.test", cohorts["test"], "shards", config["shards"]
