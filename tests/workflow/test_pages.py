"""Pages in a real browser: they load from the file system, ask for nothing, and fit the screen."""

import re
import shutil
import subprocess

import pytest

from tests.workflow import browser, reading, small
from tests.workflow.test_audit_card import HOSTILE, made
from tests.workflow.test_candidates_page import candidates
from tests.workflow.test_tables_page import tables_page

pytestmark = pytest.mark.skipif(
    browser.executable() is None, reason="no Chromium here: apt-get install chromium"
)
# Texts of pictures, as they are drawn: those that stick out, and the smallest.
STICK_OUT = """
[...document.querySelectorAll("svg.picture text")].filter(text => {
  const inner = text.getBoundingClientRect(), outer = text.ownerSVGElement.getBoundingClientRect();
  return inner.left < outer.left - 1 || inner.right > outer.right + 1 ||
    inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
}).map(text => text.textContent)
"""
SMALLEST = """
Math.min(...[...document.querySelectorAll("svg.picture text")].map(text =>
  parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))
"""
COLOURS = """
[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]
"""
# Boxes that reach beyond the page's right edge; what is inside a box that scrolls may.
TOO_WIDE = """
[...document.querySelectorAll("body *")].filter(each => !each.closest(".wide") &&
  each.getBoundingClientRect().right > document.documentElement.clientWidth + 1
).map(each => each.tagName + ": " + each.textContent.slice(0, 40))
"""


def brightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with browser.page(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The card, both of many names and of hostile ones, and the page of candidates."""
    folders = [tmp_path_factory.mktemp(name) for name in ("usual", "hostile", "texts", "tables")]
    attacks = ("ordinary", "exact", "paraphrase", "paraphrase-norm", "paraphrase-mu_eff", "nonce")
    return {
        "card": made(folders[0], attacks),
        "hostile": made(folders[1], dataset=HOSTILE, encoder=HOSTILE, model="x" * 200),
        "candidates": candidates(folders[2], ["nonce-canary-0", "unaudited"], "word " * 60),
        "tables": tables_page(folders[3], HOSTILE),
    }


@pytest.mark.parametrize("name", ["card", "hostile", "candidates", "tables"])
def test_a_page_loads_asks_for_nothing_and_fits(name, pages, tab, tmp_path):
    tab.messages.clear()
    tab.requests.clear()
    tab.look(1280)
    tab.open(pages[name])
    for width in (360, 1280):
        for dark in (False, True):
            tab.look(width, dark)
            assert tab.ask("document.documentElement.scrollWidth") == width, tab.ask(TOO_WIDE)
            assert tab.ask(TOO_WIDE) == []
            paper, ink = map(brightness, tab.ask(COLOURS))
            assert (paper < 60 and ink > 180) if dark else (paper > 240 and ink < 60)
            tab.screenshot(tmp_path / f"{width}.png")
            assert (tmp_path / f"{width}.png").read_bytes().startswith(b"\x89PNG")
        # Names of strangers' making may be longer than a picture is wide.
        if name == "card":
            assert tab.ask(STICK_OUT) == []
            assert tab.ask(SMALLEST) >= 9.0
    tab.print(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    assert tab.messages == []
    assert tab.requests == [pages[name].as_uri()]


def test_a_printed_card_has_its_pictures_and_numbers(pages, tab, tmp_path):
    if not shutil.which("pdftotext"):
        pytest.skip("no pdftotext here: apt-get install poppler-utils")
    tab.look(1280, dark=True)
    tab.open(pages["card"])
    tab.print(tmp_path / "page.pdf")
    command = ["pdftotext", "-layout", str(tmp_path / "page.pdf"), "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for number in reading.read(pages["card"]).numbers:
        assert number.text in text


def test_the_browser_notices_what_it_is_asked_to_notice(tab, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        '<html style="width: 3000px"><img src="gone.png"><script>console.log("x"); y()</script>'
    )
    tab.messages.clear()
    tab.requests.clear()
    tab.look(1280)
    tab.open(page)
    assert len(tab.requests) == 2
    assert len(tab.messages) >= 2
    assert tab.ask("document.documentElement.scrollWidth") == 3000


def test_a_real_run_makes_a_card_and_a_report(copy, tab, monkeypatch):
    monkeypatch.setenv("CARD_TEST_KEY", "sk-0123456789")
    config = small.get_config(copy)
    config["generator"] |= {"base_url": "http://someone:word@nowhere", "key_env": "CARD_TEST_KEY"}
    small.set_config(copy, config)
    card = copy / "results" / "audit-card.html"
    small.snakemake(copy, str(card.relative_to(copy)), "--rerun-triggers", "mtime")
    assert "Nothing to be done" in small.snakemake(
        copy, "-n", str(card.relative_to(copy)), "--rerun-triggers", "mtime"
    )
    page = reading.read(card)
    [best] = [
        number
        for number in page.numbers
        if number.row == "small/A/all-MiniLM-L6-v2/exact/0" and number.column == "separation"
    ]
    table = (copy / "results/tables/canaries.csv").read_text()
    assert f",{best.value:.6f}," in table
    report = copy / "report.html"
    small.snakemake(copy, str(card.relative_to(copy)), "--report", report.name)
    for file in (card, report):
        text = file.read_text()
        assert "sk-0123456789" not in text
        assert "someone:word" not in text
    tab.messages.clear()
    tab.requests.clear()
    tab.look(360)
    tab.open(card)
    assert tab.ask("document.documentElement.scrollWidth") == 360
    assert tab.messages == []
    assert tab.requests == [card.as_uri()]
