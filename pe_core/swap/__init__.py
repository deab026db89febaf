"""The swap audit: exactly one of two canaries is eligible; which one was it?

This is substitution, which membership (add/remove) does not bound: see docs/adjacency.md.
"""

from pe_core.swap.exact import PlaneTest, SwapRates, error_rates, plane_test
from pe_core.swap.sampled import error_counts
from pe_core.swap.score import SwapScore
from pe_core.swap.threshold import calibrate

__all__ = [
    "PlaneTest",
    "SwapRates",
    "SwapScore",
    "calibrate",
    "error_counts",
    "error_rates",
    "plane_test",
]
