"""A page on which every table of a run can be read.

Output: tables.html, a section for every table: what it is, and the rows and words of its Markdown.
"""

from pathlib import Path

import pages
import tables
from artifacts import checked, save_text
from job import job


def section(path: Path, caption: Path) -> dict:
    """Return what the page shows of one table."""
    table = tables.shown(path)
    shared = {tables.Column(name, []).heading: cell for name, cell in table.shared.items()}
    return {
        "name": path.stem,
        "about": caption.read_text(encoding="utf-8").strip(),
        "columns": table.columns,
        "rows": table.rows,
        "shared": shared,
    }


with job(snakemake) as log:
    files = zip(snakemake.input.tables, snakemake.input.captions, strict=True)
    found = [section(checked(path), Path(caption)) for path, caption in files]
    context = {"tables": found, "rounding": tables.ROUNDING}
    template, sheet = Path(snakemake.input.template), Path(snakemake.input.style)
    save_text(snakemake.output[0], pages.rendered(template, sheet, context))
    log.info("%d tables", len(found))
