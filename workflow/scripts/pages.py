"""Render pages that need no other file, no network and no script."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import style

# The page's own names for the figures' colours.
COLOURS = ("GREY", "ORANGE", "SKY", "GREEN", "BLUE", "VERMILION")


def rendered(template: Path, style_sheet: Path, context: dict[str, Any]) -> str:
    """Return a page: whatever a name or a text contains is shown as text, never taken as markup.

    Args:
        template: HTML with Jinja's expressions.
        style_sheet: CSS, put into the page as it is.
        context: what the template shows; a name that is missing is an error.
    """
    environment = Environment(
        loader=FileSystemLoader(template.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    colours = "".join(f"--{name.lower()}: {getattr(style, name)}; " for name in COLOURS)
    css = f":root {{ {colours}}}\n{style_sheet.read_text(encoding='utf-8')}"
    page = environment.get_template(template.name).render(context, style=Markup(css))
    return page.strip() + "\n"
