"""The rules that decide which written texts become bank lines and paraphrases."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pe_core.errors import InputError


@dataclass(frozen=True)
class Rules:
    """What is accepted. A text breaks the first rule that it does not meet.

    Always refused: an empty text, a refusal, a text cut at the token limit, one that is equal to an
    accepted one but for case, spacing and punctuation, and a verbatim one (contained in a public
    line, or containing the source or an example of its prompt).

    Attributes:
        min_words, max_words: allowed number of words, 1 ≤ min_words ≤ max_words.
        min_similarity, max_similarity: allowed cosine between a paraphrase and its source: the low
            bound keeps the meaning, the high one keeps out near-copies.
        attempts: tries per wanted text before its label or source record counts as exhausted, ≥ 1.

    Raises:
        InputError: a bound out of range.

    Example:
        >>> Rules(min_words=2).max_words
        60
    """

    min_words: int = 3
    max_words: int = 60
    min_similarity: float = 0.5
    max_similarity: float = 0.95
    attempts: int = 24

    def __post_init__(self) -> None:
        if not 1 <= self.min_words <= self.max_words:
            raise InputError(
                f"min_words = {self.min_words}, max_words = {self.max_words}: "
                "1 ≤ min_words ≤ max_words is needed"
            )
        if not -1 <= self.min_similarity < self.max_similarity <= 1:
            raise InputError(
                f"min_similarity = {self.min_similarity}, max_similarity = {self.max_similarity}: "
                "-1 ≤ min_similarity < max_similarity ≤ 1 is needed"
            )
        if self.attempts < 1:
            raise InputError(f"attempts = {self.attempts}: at least 1 is needed")

    def fault(
        self, text: str, finish: str, public: "Public", sources: Sequence[str] = ()
    ) -> str | None:
        """Return the first rule that a text breaks by itself, or None.

        Args:
            text: the text, cleaned.
            finish: the endpoint's reason for stopping.
            public: lines that a text may not repeat.
            sources: the texts in its prompt.

        Example:
            >>> Rules().fault("To be, or not to be", "stop", Public(["to be or not to be"]))
            'verbatim'
        """
        words, bare = len(text.split()), plain(text)
        if not text:
            return "empty"
        if finish == "content_filter" or _REFUSAL.search(text):
            return "refusal"
        if finish == "length":
            return "cut off"
        if words < self.min_words or not bare:
            return "too short"
        if words > self.max_words:
            return "too long"
        if text in public or any(_within(plain(source), bare) for source in sources):
            return "verbatim"
        return None


class Public:
    """Lines that a written text may not repeat: `text in public` if one of them contains it.

    Case, spacing and punctuation make no difference.

    Example:
        >>> "The rest is silence!" in Public(["Hamlet: the rest is silence. O, o, o."])
        True
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._joined = "\n".join(f" {plain(line)} " for line in lines)

    def __contains__(self, text: str) -> bool:
        return f" {plain(text)} " in self._joined


def clean(text: str) -> str:
    """Return a text as one line, without the marks that models put around it.

    Example:
        >>> clean("1. I   say so.")
        'I say so.'
    """
    return _CLOSING.sub("", _OPENING.sub("", " ".join(text.split())))


def plain(text: str) -> str:
    """Return the words alone, so that case, spacing and punctuation make no difference.

    Example:
        >>> plain("  To be, or NOT to be?")
        'to be or not to be'
    """
    return " ".join(re.findall(r"\w+", text.casefold()))


def _within(part: str, whole: str) -> bool:
    return f" {part} " in f" {whole} "


_REFUSAL = re.compile(
    r"\bas an ai\b|\blanguage model\b|\b(can't|can’t|cannot|unable to|not able to) "
    r"(assist|help|comply|fulfill?|rewrite|provide)\b",
    re.IGNORECASE,
)
# List marks, numbers and quotation marks. An apostrophe may be a word's own, as in 'tis.
_OPENING = re.compile(r'^(?:[\s"“”*•>–—-]+|\d+[.)]\s)+')
_CLOSING = re.compile(r'[\s"“”]+$')
