"""Write and read JSON results whose schema is checked on both sides."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

import versions
from artifacts import load_json, save_json
from pe_core import InputError

SCHEMAS = Path(__file__).resolve().parents[1] / "schemas"


@cache
def _validator(schema: str) -> Draft202012Validator:
    file = SCHEMAS / f"{schema}.schema.yaml"
    return Draft202012Validator(yaml.safe_load(file.read_text(encoding="utf-8")))


def _check(path: str, value: dict[str, Any], schema: str) -> dict[str, Any]:
    for error in _validator(schema).iter_errors(value):
        raise InputError(f"{path}: {error.json_path}: {error.message}")
    return value


def save(path: str, value: dict[str, Any], schema: str) -> None:
    """Check a result against workflow/schemas/{schema}.schema.yaml and write it.

    The versions of packages that made it are added.
    """
    save_json(path, _check(path, {**value, "versions": versions.installed()}, schema))


def load(path: str, schema: str) -> dict[str, Any]:
    """Read a result and check it."""
    return _check(path, load_json(path), schema)
