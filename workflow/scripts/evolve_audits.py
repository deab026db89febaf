"""Write and read the audit.json of several releases; its schema is checked on both sides."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from artifacts import load_json, save_json
from pe_core import InputError

SCHEMA = Path(__file__).resolve().parents[1] / "schemas" / "evolution_audit.schema.yaml"


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(yaml.safe_load(SCHEMA.read_text()))


def _check(path: str, audit: dict[str, Any]) -> dict[str, Any]:
    for error in _validator().iter_errors(audit):
        raise InputError(f"{path}: {error.json_path}: {error.message}")
    return audit


def save_audit(path: str, audit: dict[str, Any]) -> None:
    """Check and write one audit."""
    save_json(path, _check(path, audit))


def load_audit(path: str) -> dict[str, Any]:
    """Read and check one audit."""
    return _check(path, load_json(path))
