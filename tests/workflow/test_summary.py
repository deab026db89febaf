import io
from pathlib import Path

from rich.console import Console

import summary


def printed(tmp_path, text):
    path = Path(tmp_path) / "t.csv"
    path.write_text(text)
    console = Console(width=200, record=True, file=io.StringIO())
    summary.show(path, console)
    return console.export_text()


def test_numbers_have_three_decimals_and_shared_columns_stand_once(tmp_path):
    text = printed(tmp_path, "bank,attack,epsilon_lower,canary\nA,exact,0.12345,3\nA,nonce,1.0,0\n")
    assert "0.123" in text
    assert "0.1234" not in text
    assert "1.000" in text
    assert text.count("bank A") == 1
    assert "epsilon lower" in text


def test_one_row_keeps_its_columns(tmp_path):
    text = printed(tmp_path, "bank,epsilon_lower\nA,0.5\n")
    assert "bank" in text
    assert "0.500" in text
