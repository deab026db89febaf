"""Which code, packages, seeds and files made the numbers of the page, and in how much time."""

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import provenance
import versions

# Characters of a digest.
SHOWN = 16


def _versions(paths: list[str]) -> list[str]:
    """Return what the audits went through; where versions differ, how many each of them made."""
    return [
        f"{package} " + ", ".join(
            used if len(counts) == 1 else f"{used} ({count} audits)"
            for used, count in counts.items()
        )
        for package, counts in versions.met(paths).items()
    ]  # fmt: skip


def made(
    audits: list[dict[str, Any]],
    paths: list[str],
    texts: Iterable[str],
    config: dict[str, Any],
    code: str,
) -> dict[str, Any]:
    """Return what the page says of its making.

    Args:
        audits: as read from `paths`.
        paths: of every audit.json.
        texts: files of texts and vectors whose digests are shown.
        config: the whole configuration; only its digest is shown.
        code: digest of the modules that an audit uses.
    """
    together = hashlib.sha256("\n".join(provenance.digest(Path(path)) for path in paths).encode())
    finished = max(Path(path).stat().st_mtime for path in paths)
    environment = provenance.environment()
    digests = {
        "the pinned packages (lock)": environment["lock"],
        "the configuration": provenance.settings_digest(config),
        "the code of an audit": code,
        **{path.removeprefix("results/"): provenance.digest(Path(path)) for path in texts},
        f"the digests of all {len(paths)} audits": together.hexdigest(),
    }
    return {
        "audits": len(audits),
        "seconds": f"{sum(audit['seconds'] for audit in audits):,.0f}",
        "finished": datetime.fromtimestamp(finished, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "versions": _versions(paths),
        "environment": environment,
        "others": {
            name: version
            for name, version in environment["packages"].items()
            if version and name not in versions.PACKAGES
        },
        "digests": [(name, digest[:SHOWN]) for name, digest in digests.items()],
    }
