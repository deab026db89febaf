"""Read a page as people and programs do: its numbers with their places, and its words."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

# Elements without an end.
VOID = {"meta", "link", "br", "img", "hr", "input"}
# What is not read.
SILENT = {"style", "script", "title", "desc"}


@dataclass
class Number:
    """A number of the page and where it stands in the tables."""

    value: float
    table: str
    column: str
    row: str
    text: str = ""


@dataclass
class Reading(HTMLParser):
    """A page, read once."""

    numbers: list[Number] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    words: str = ""
    sections: dict[str, str] = field(default_factory=dict)
    contents: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self):
        super().__init__()
        self._open: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in attrs}
        self.tags.append((tag, values))
        for section in self._sections():
            self.contents[section].add(tag)
        if tag == "section":
            self.sections[values["id"]], self.contents[values["id"]] = "", set()
        if "data-table" in values:
            places = (values[f"data-{name}"] for name in ("value", "table", "column", "row"))
            value, *place = places
            self.numbers.append(Number(float(value), *place))
        if tag not in VOID:
            self._open.append((tag, values))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        opened, _ = self._open.pop()
        assert opened == tag, f"<{opened}> is ended by </{tag}>"

    def handle_data(self, data):
        if any(tag in SILENT for tag, _ in self._open):
            return
        for section in self._sections():
            self.sections[section] += data
        if self._open and "data-table" in self._open[-1][1]:
            self.numbers[-1].text += data
        else:
            self.words += f"{data} "

    def _sections(self):
        return [values["id"] for tag, values in self._open if tag == "section"]

    def values(self, name: str) -> list[str]:
        """Return every value of one attribute."""
        return [values[name] for _, values in self.tags if name in values]


def read(page: str | Path) -> Reading:
    """Read a page.

    Raises:
        AssertionError: an element is not ended by its own end.
    """
    reading = Reading()
    reading.feed(page.read_text() if isinstance(page, Path) else page)
    reading.close()
    assert reading._open == []
    return reading


def sentence(text: str) -> str:
    """Return text with single spaces."""
    return re.sub(r"\s+", " ", text).strip()
