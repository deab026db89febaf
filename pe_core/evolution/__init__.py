"""Private Evolution over rounds (Algorithm A.1): a private half that votes, a public half that
writes.

`publish` is the only function that turns users into something public, and a `Release`, the noisy
histogram, is all that it hands on. Everything after it takes a `Release` and the public `Bank`;
the generator is called with `Feedback` alone, which holds texts of the bank and numbers drawn
without looking at anybody. What it learns about users is therefore post-processing of releases.
"""

from pe_core.evolution.algorithm import Encode, Round, Streams, run
from pe_core.evolution.data import Bank, Release, Rules
from pe_core.evolution.feedback import Feedback, Generate, renew, requests
from pe_core.evolution.rerouting import reroute
from pe_core.evolution.selection import select
from pe_core.evolution.voting import Voters, publish

__all__ = [
    "Bank",
    "Encode",
    "Feedback",
    "Generate",
    "Release",
    "Round",
    "Rules",
    "Streams",
    "Voters",
    "publish",
    "renew",
    "requests",
    "reroute",
    "run",
    "select",
]
