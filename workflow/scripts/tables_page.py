"""A page on which every table of a run can be read.

Output: tables.html, a section for every table, with the rows and the words of its Markdown.
"""

from pathlib import Path

import pages
import tables
from artifacts import checked, save_text
from job import job


def section(path: Path) -> dict:
    """Return what the page shows of one table."""
    table = tables.shown(path)
    shared = {tables.Column(name, []).heading: cell for name, cell in table.shared.items()}
    return {
        "name": path.stem,
        "columns": table.columns,
        "rows": table.rows,
        "shared": shared,
    }


with job(snakemake) as log:
    found = [section(checked(path)) for path in snakemake.input.tables]
    context = {"tables": found, "rounding": tables.ROUNDING}
    template, sheet = Path(snakemake.input.template), Path(snakemake.input.style)
    save_text(snakemake.output[0], pages.rendered(template, sheet, context))
    log.info("%d tables", len(found))
