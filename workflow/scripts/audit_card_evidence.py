"""What the audits and tables of a run say, in the order in which the page tells it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from audit_card_values import Value, largest
from audits import GRID, row_of

Audit = dict[str, Any]

# The ε that an attack is said to reach, from the surest to the largest.
MEASURES = ("epsilon_lower", "epsilon_exact", "epsilon_exact_best")
# What a pair of canaries is.
PAIRS = {"users": "two users", "attribute": "a user and the same with other records"}
SHAPE = ("separation", "norm_ratio", "votes_on_inspected")


def synthetic(attack: str) -> bool:
    """Whether the canary of an attack is made of random strings instead of a user's texts."""
    return attack.startswith("nonce")


@dataclass(frozen=True)
class Canary:
    """One audit and its values as they stand in the tables."""

    audit: Audit

    @property
    def name(self) -> str:
        return "/".join(str(self.audit[key]) for key in (*GRID, "canary"))

    def value(self, column: str) -> Value:
        """Return a value of canaries.csv."""
        return Value(row_of(self.audit)[column], "canaries", column, self.name)

    def step(self, place: int, column: str = "epsilon") -> Value:
        """Return a value of gap.csv: the ε of a step, or its change from the step above."""
        step = self.audit["ladder"][place]
        return Value(step[column], "gap", column, f"{self.name}/{step['step']}")

    def rate(self, name: str) -> Value:
        """Return an exact error rate at the calibrated threshold, in a million."""
        return Value(
            self.audit["rates"][name], "audit", f"rates.{name}", self.name, digits=0, rate=True
        )

    def counted(self, name: str) -> Value:
        """Return a count as a share of the trials, in a million."""
        counts = self.audit["counts"]
        share = counts[name] / counts["trials"]
        return Value(share, "audit", f"counts.{name}", self.name, digits=0, rate=True)


@dataclass(frozen=True)
class Arm:
    """The audits on one bank in one encoder's space, by attack."""

    dataset: str
    bank: str
    encoder: str
    attacks: dict[str, list[Canary]]

    def most(self, attack: str, column: str) -> Value:
        """Return the largest value of an attack's canaries."""
        return max((c.value(column) for c in self.attacks[attack]), key=lambda v: v.number)

    def strongest(self, strings: bool) -> Canary | None:
        """Return the canary with the largest exact ε, of random strings or of users' texts."""
        return strongest([self], strings)


def arms(audits: Iterable[Audit]) -> list[Arm]:
    """Group audits by dataset, bank and encoder; all keep the order in which they come."""
    found: dict[tuple[str, ...], dict[str, list[Canary]]] = {}
    for audit in audits:
        key = tuple(audit[name] for name in GRID[:3])
        found.setdefault(key, {}).setdefault(audit["attack"], []).append(Canary(audit))
    return [Arm(*key, attacks) for key, attacks in found.items()]


def strongest(arms: list[Arm], strings: bool) -> Canary | None:
    """Return the canary with the largest exact ε in all arms, the first of equal ones."""
    canaries = [
        canary
        for arm in arms
        for attack, group in arm.attacks.items()
        if synthetic(attack) == strings
        for canary in group
    ]
    return max(canaries, key=lambda c: c.audit["epsilon"]["exact_best"], default=None)


def surest(arms: list[Arm], strings: bool) -> Value | None:
    """Return the largest bound by trials in all arms."""
    return largest(
        [
            arm.most(attack, "epsilon_lower")
            for arm in arms
            for attack in arm.attacks
            if synthetic(attack) == strings
        ]
    )


@dataclass(frozen=True)
class Limits:
    """What no measured ε can pass: proofs first, then what trials can show."""

    paper: Value
    low: Value
    tight: Value
    high: Value
    ceiling: Value
    trials: int

    @property
    def reach(self) -> float:
        """The end of every ε axis; an axis needs a length where nothing can leak."""
        return 1.05 * max(self.paper.number, self.tight.number, self.ceiling.number) or 1.0


def limits(arms: list[Arm], proved: dict[str, float]) -> Limits:
    """Return the limits; they are the same in all audits of a run."""
    one = next(iter(arms[0].attacks.values()))[0]

    def account(name: str, digits: int) -> Value:
        return Value(proved[name], "accounting", name, "", digits)

    return Limits(
        one.value("epsilon_theory"),
        account("epsilon_theory_low", 6),
        one.value("epsilon_theory_tight"),
        account("epsilon_theory_high", 6),
        one.value("epsilon_ceiling"),
        one.audit["counts"]["trials"],
    )


@dataclass(frozen=True)
class Exposed:
    """The exact ε of every test user of one arm under one attack."""

    dataset: str
    bank: str
    encoder: str
    attack: str
    epsilon: list[float]
    levels: list[tuple[float, Value]]

    @property
    def name(self) -> str:
        return "/".join((self.dataset, self.bank, self.encoder, self.attack))

    def quantile(self, share: float) -> Value:
        """Return the ε that a share of the users is at or below: one of theirs."""
        ordered = sorted(self.epsilon)
        place = max(-int(-share * len(ordered) // 1) - 1, 0)
        return Value(ordered[place], "exposure", f"epsilon@{share:g}", self.name)


def exposed(table: pl.DataFrame, shares: pl.DataFrame) -> list[Exposed]:
    """Group the tables of exposure by arm and attack.

    Args:
        table: exposure.csv.
        shares: exposure_levels.csv.
    """
    found = []
    for names, rows in table.group_by(GRID, maintain_order=True):
        key = dict(zip(GRID, names))
        place = "/".join(map(str, names))
        levels = [
            (level, Value(share, "exposure_levels", "share", f"{place}/{level:g}"))
            for level, share in shares.filter(**key).select("level", "share").iter_rows()
        ]
        found.append(Exposed(**key, epsilon=rows["epsilon"].to_list(), levels=levels))
    return found


@dataclass(frozen=True)
class Account:
    """One row of accounts.csv: what a proof allows, or what an attack measured."""

    row: dict[str, Any]

    @property
    def label(self) -> str:
        """The name of an attack, and of what it told apart where it was a pair."""
        attack, _, kind = self.row["name"].partition(", ")
        return f"{attack}: {PAIRS[kind]}" if kind else attack

    def value(self, column: str) -> Value:
        row = self.row
        place = "/".join((row["question"], row["dataset"] or "", row["name"]))
        return Value(row[column], "accounts", column, place)


def questions(accounts: pl.DataFrame) -> dict[str, dict[str, list[Account]]]:
    """Group accounts by question, and in each what is `proved` and what is `measured`."""
    found: dict[str, dict[str, list[Account]]] = {}
    for row in accounts.iter_rows(named=True):
        kinds = found.setdefault(row["question"], {"proved": [], "measured": []})
        kinds[row["source"]].append(Account(row))
    return found
