"""How much the mechanism may reveal: ε of (ε, δ), by adjacency, with ends that hold."""

from pe_core.accounting.adjacency import Adjacency, Interval
from pe_core.accounting.opacus import opacus_prv

__all__ = ["Adjacency", "Interval", "opacus_prv"]
