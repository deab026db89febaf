"""How much the mechanism may reveal: ε of (ε, δ), by adjacency, with ends that hold."""

from pe_core.accounting.account import Account, account, delta_of, epsilon, epsilon_curve
from pe_core.accounting.adjacency import Adjacency, Interval
from pe_core.accounting.inverse import group_epsilon, noise_multiplier_for, releases_for
from pe_core.accounting.opacus import opacus_prv

__all__ = [
    "Account",
    "Adjacency",
    "Interval",
    "account",
    "delta_of",
    "epsilon",
    "epsilon_curve",
    "group_epsilon",
    "noise_multiplier_for",
    "opacus_prv",
    "releases_for",
]
