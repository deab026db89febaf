"""Audits of DP-SGD under substitute adjacency: which of two records was in the training data?

After Pradhan, Jälkö, Zanella-Béguelin and Honkela, "Beyond Membership: Limitations of Add/Remove
Adjacency in Differential Privacy" (ICLR 2026). The same bounds and accountant as the rest of the
package, another mechanism.
"""

from pe_core.dpsgd.audit import Audit, Counts, audit_scores, gdp_delta, gdp_epsilon, separation
from pe_core.dpsgd.canaries import (
    GradientPair,
    InputPair,
    adversarial,
    crafted,
    least_moved,
    mislabelled,
)
from pe_core.dpsgd.game import Game, Scores, accuracy_without, play, play_worst_case
from pe_core.dpsgd.mixture import log_ratio, tail_rates, threshold_at, worst_case_epsilon
from pe_core.dpsgd.network import Network
from pe_core.dpsgd.reference import Reference, train_reference
from pe_core.dpsgd.training import Examples, Training

__all__ = [
    "Audit",
    "Counts",
    "Examples",
    "Game",
    "GradientPair",
    "InputPair",
    "Network",
    "Reference",
    "Scores",
    "Training",
    "accuracy_without",
    "adversarial",
    "audit_scores",
    "crafted",
    "gdp_delta",
    "gdp_epsilon",
    "least_moved",
    "log_ratio",
    "mislabelled",
    "play",
    "play_worst_case",
    "separation",
    "tail_rates",
    "threshold_at",
    "train_reference",
    "worst_case_epsilon",
]
