"""Write and read the audit.json of several releases; its schema is checked on both sides."""

from typing import Any

import contracts


def save_audit(path: str, audit: dict[str, Any]) -> None:
    """Check and write one audit."""
    contracts.save(path, audit, "evolution_audit")


def load_audit(path: str) -> dict[str, Any]:
    """Read and check one audit."""
    return contracts.load(path, "evolution_audit")
