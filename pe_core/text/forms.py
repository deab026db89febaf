"""How a generator is asked for a text."""

import string
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from pe_core.errors import InputError


@dataclass(frozen=True)
class Form:
    """How a text is asked for.

    Attributes:
        template: the prompt. A bank's has the fields {label} and {examples}, a paraphrase's {text}.
        chat: whether it is a chat message (with the model's chat template) or a text to go on with.
        sampling: fields of the request, e.g. max_tokens, temperature, stop.
        example: how one example line stands in {examples}, with the field {text}.
        example_words: most words of a public line that may be an example. Reading a prompt costs as
            much as writing: short examples make bank B almost as cheap as bank A.
    """

    template: str
    chat: bool
    sampling: Mapping[str, Any] = field(default_factory=dict)
    example: str = "- {text}\n"
    example_words: int = 60


def check_fields(template: str, needed: Set[str], allowed: Set[str] = frozenset()) -> None:
    """Raise InputError for a template without the fields needed, or with others than allowed too.

    Example:
        >>> check_fields("Rewrite: {txt}", {"text"})
        Traceback (most recent call last):
        pe_core.errors.InputError: prompt 'Rewrite: {txt}': fields ['txt'], needed are ['text']
    """
    try:
        found = {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
    except ValueError as error:
        raise InputError(f"prompt {template!r}: {error}") from None
    if not needed <= found <= needed | allowed:
        more = f", allowed too are {sorted(allowed)}" if allowed else ""
        raise InputError(
            f"prompt {template!r}: fields {sorted(found)}, needed are {sorted(needed)}{more}"
        )
