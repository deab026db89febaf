"""Check the configuration against its schema and fill in the defaults."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012


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

    return validators.extend(base, {"properties": properties})


def validate(config: dict[str, Any], schema_file: Path) -> list[str]:
    """Fill in defaults in place and return one line for every fault, with its key's path.

    Args:
        config: the merged configuration; defaults are added to it.
        schema_file: a JSON schema in YAML; `$ref` to files beside it are followed.

    Returns:
        Faults, empty where the configuration is sound.
    """

    def retrieve(uri: str) -> Resource:
        part = yaml.safe_load((schema_file.parent / uri).read_text())
        # For a part that names its dialect the library takes its own class, without the defaults.
        part.pop("$schema", None)
        return DRAFT202012.create_resource(part)

    schema = yaml.safe_load(schema_file.read_text())
    # mypy knows only the static class; the extended one takes the same arguments.
    check = _filling(Draft202012Validator)(schema, registry=Registry(retrieve=retrieve))
    return [
        f"{error.json_path.removeprefix('$').removeprefix('.') or 'config'}: {error.message}"
        + (f" ({error.schema['description']})" if "description" in error.schema else "")
        for error in sorted(check.iter_errors(config), key=lambda error: error.json_path)
    ]
