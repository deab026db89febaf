"""A page on which the most voted candidates of each round can be read.

Output: candidates.html, a section for every run and a table for every round.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import pages
import tables
from artifacts import save_text
from audit_card_values import Value
from job import job

RUN = ("dataset", "bank", "encoder", "transcript", "run")
REFERENCES = {"unaudited": "without probes", "noiseless": "without probes and noise"}


def title(run: str) -> str:
    """Return a run's name for people.

    Example:
        >>> title("nonce-canary-0"), title("unaudited")
        ('audited: nonce, canary 0', 'without probes')
        >>> title("noiseless")
        'without probes and noise'
    """
    attack, found, canary = run.partition("-canary-")
    return f"audited: {attack}, canary {canary}" if found else REFERENCES[run]


def entry(row: dict[str, Any]) -> dict[str, Any]:
    """Return what the page shows of one row."""
    place = "/".join(str(row[name]) for name in (*RUN, "round", "rank"))
    return {
        **{name: row[name] for name in ("rank", "probe", "label", "written", "text")},
        "votes": Value(row["votes"], "candidates", "votes", place),
    }


def runs(table: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield every run with its rounds."""
    for (dataset, bank, encoder, transcript, run), rows in table.group_by(RUN, maintain_order=True):
        yield {
            "title": title(run),
            "place": f"{dataset}, first bank {bank}, {encoder}, transcript {transcript}",
            "rounds": [
                (number, [entry(row) for row in group.iter_rows(named=True)])
                for (number,), group in rows.group_by("round", maintain_order=True)
            ],
        }


with job(snakemake) as log:
    # A column of numbers would else lose its leading zeros.
    table = tables.read(snakemake.input.candidates, ("label", "text"))
    table = table.with_columns(pl.col("label", "text").fill_null(""))
    found = list(runs(table))
    template, sheet = Path(snakemake.input.template), Path(snakemake.input.style)
    page = pages.rendered(template, sheet, {"runs": found, "most": table["rank"].max()})
    save_text(snakemake.output[0], page)
    log.info("%d runs", len(found))
