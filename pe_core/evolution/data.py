"""What is public in a run: banks, releases, and the rules that lead from one to the next."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pe_core.errors import InputError


@dataclass(frozen=True)
class Bank:
    """The public candidates of one round, by position.

    Attributes:
        texts: p texts.
        labels: p labels; a position's label is public from the start.
        reserved: ascending positions of the auditor's probes; they stay through all rounds.

    Raises:
        InputError: no text, as many labels as texts not given, or reserved positions that do not
            ascend or lie outside the bank.

    Example:
        >>> Bank(("one", "two", "three"), ("a", "b", "a"), reserved=(1,)).free().tolist()
        [0, 2]
    """

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    reserved: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        p = len(self.texts)
        if p == 0 or len(self.labels) != p:
            raise InputError(
                f"bank: {p} texts and {len(self.labels)} labels; one of each is needed for every "
                "position, and at least one position"
            )
        ends = (-1, *self.reserved, p)
        if any(a >= b for a, b in pairwise(ends)):
            raise InputError(
                f"bank: reserved positions must ascend within 0 … {p - 1}, got {self.reserved}"
            )

    def free(self) -> NDArray[np.int64]:
        """Return the positions that are not reserved, ascending."""
        return np.setdiff1d(np.arange(len(self.texts)), np.asarray(self.reserved, np.int64))


@dataclass(frozen=True, eq=False)
class Release:
    """One published noisy histogram, the private half's whole output.

    Attributes:
        histogram: (p,) float64, clipped votes; negative counts are ordinary numbers. Read-only.

    Raises:
        InputError: another dtype or shape, or entries that are not finite.
    """

    histogram: NDArray[np.float64]

    def __post_init__(self) -> None:
        y = np.array(self.histogram)
        if y.dtype != np.float64 or y.ndim != 1 or not np.isfinite(y).all():
            raise InputError(
                f"histogram: finite float64 of shape (p,) is needed, got {y.dtype} {y.shape}"
            )
        y.flags.writeable = False
        object.__setattr__(self, "histogram", y)


@dataclass(frozen=True)
class Rules:
    """How a release becomes the next bank. All of it is public.

    Attributes:
        keep: share of the bank's p entries that survive, in (0, 1]; ⌈keep·p⌉ do.
        selection: `"top"` keeps the largest noisy counts, ties to the lowest position.
            `"sample"` draws survivors without replacement in proportion to max(Y − threshold, 0);
            when fewer entries than needed are above the threshold, even none, the largest of the
            others make up the number.
        threshold: in clipped votes, of `"sample"` only.
        feedback: `"examples"` shows the generator high- and low-scored candidates (the paper's
            rule); `"paraphrases"` has it rewrite the survivors in turn (Aug-PE's).
        high, low: examples of each kind a request, of `"examples"` only.
        together: positions of one label whose new texts are shown the same examples, which a
            generator can then read once for all of them; of `"examples"` only.
        attempts: times that a position is asked for before the generator is given up.

    Raises:
        InputError: a value outside its range.
    """

    keep: float = 0.05
    selection: Literal["top", "sample"] = "top"
    threshold: float = 0.0
    feedback: Literal["examples", "paraphrases"] = "examples"
    high: int = 3
    low: int = 3
    together: int = 1
    attempts: int = 24

    def __post_init__(self) -> None:
        if not 0.0 < self.keep <= 1.0:
            raise InputError(f"keep = {self.keep!r}: allowed are values in (0, 1]")
        if self.selection not in ("top", "sample"):
            raise InputError(f"selection = {self.selection!r}: allowed are 'top' and 'sample'")
        if not math.isfinite(self.threshold):
            raise InputError(f"threshold = {self.threshold!r}: a finite number is needed")
        if self.feedback not in ("examples", "paraphrases"):
            raise InputError(
                f"feedback = {self.feedback!r}: allowed are 'examples' and 'paraphrases'"
            )
        for name, least in (("high", 1), ("low", 0), ("together", 1), ("attempts", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{name} = {value!r}: a whole number from {least} up is needed")

    def survivors(self, bank: Bank) -> int:
        """Return ⌈keep·p⌉, exact for the decimal that `keep` was written as.

        Raises:
            InputError: the bank has no room for so many survivors beside its probes.

        Example:
            >>> Rules(keep=0.07).survivors(Bank(("",) * 100, ("",) * 100))
            7
        """
        p, r = len(bank.texts), len(bank.reserved)
        s = math.ceil(Fraction(str(self.keep)) * p)
        if s + r > p:
            raise InputError(
                f"bank: {p} entries, but {r} probes and {s} survivors (keep = {self.keep:g}) need "
                f"{r + s}"
            )
        return s
