"""Audits of Private Evolution: how much a released histogram really reveals about one user.

Mathematics in, mathematics out: no file paths, no workflow, no texts (those are in `pe_core.text`).
"""

from pe_core.errors import AccuracyError, InputError
from pe_core.mechanism import Mechanism

__all__ = ["AccuracyError", "InputError", "Mechanism"]
