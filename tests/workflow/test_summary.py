import os
import subprocess
import sys
from pathlib import Path

import summary


def printed(tmp_path, text):
    path = Path(tmp_path) / "t.csv"
    path.write_text(text)
    return summary.rendered(path)


def test_numbers_have_three_decimals_and_shared_columns_stand_once(tmp_path):
    text = printed(tmp_path, "bank,attack,epsilon_lower\nA,exact,0.98764\nA,nonce,1.0\n")
    assert "0.98 " not in text
    assert "0.987" in text
    assert "0.988" not in text
    assert "1.000" in text
    assert text.count("bank: A") == 1
    assert "ε" in text.splitlines()[1]
    assert text.splitlines()[2].split() == ["attack", "lower"]


def test_one_row_keeps_its_columns(tmp_path):
    text = printed(tmp_path, "bank,epsilon_lower\nA,0.5\n")
    assert "A     0.500" in text.splitlines()


def test_a_full_table_fits_eighty_columns(tmp_path):
    names = ["bank", "attack", "epsilon_lower", "epsilon_exact", "epsilon_exact_best"]
    names += ["epsilon_expected", "canary", "separation", "norm_ratio", "votes_on_inspected"]
    rows = [
        "A,paraphrase-mu_eff,0.1,0.2,0.3,0.4,1,0.5,0.6,0.7",
        "B,nonce,0.9,0.8,0.7,0.6,2,0.5123,0.4,0.3",
    ]
    lines = printed(tmp_path, "\n".join([",".join(names), *rows])).splitlines()
    assert max(map(len, lines[1:])) <= 80
    assert any(line.startswith("A     paraphrase-mu_eff") for line in lines)


def test_ways_are_wrapped_and_what_there_is_to_open_is_named(tmp_path):
    rows = [f'{name},0.5,"lower: trials; {"and so on; " * 20}"' for name in ("exact", "nonce")]
    text = printed(tmp_path, "\n".join(["attack,epsilon_lower,obtained", *rows]))
    assert "obtained: lower: trials;" in text
    assert max(map(len, text.splitlines()[1:])) <= 80
    assert list(summary.to_open(tmp_path)) == []
    (tmp_path / "tables").mkdir()
    (tmp_path / "report.html").touch()
    report, tables = summary.to_open(tmp_path)
    assert report.split(maxsplit=1) == [f"{tmp_path}/report.html", summary.OPEN["report.html"]]
    assert tables.startswith(f"{tmp_path}/tables ")


def test_a_terminal_without_greek_letters_shows_the_rest(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("bank,epsilon_lower\nA,0.5\n")
    shown = subprocess.run(
        [sys.executable, summary.__file__, path],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    assert b"A     0.500" in shown.stdout
