"""Draw inline SVG whose colours follow the page, in light, in dark and on paper.

Shapes name a class and the page's style sheet gives it a colour. A picture is 360 units wide, which
is about a phone, so that its text can be read there; on wider screens panels stand side by side.
"""

import math
from collections.abc import Sequence

from markupsafe import Markup

from audit_card_values import Value

WIDTH = 360.0
# Of text, in units.
SIZE = 11.0


class Axis:
    """A linear or logarithmic scale from data to units."""

    def __init__(self, low: float, high: float, start: float, stop: float, log: bool = False):
        self.low, self.high, self.start, self.stop, self.log = low, high, start, stop, log

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log10(max(value, self.low)), math.log10(low), math.log10(high)
        share = min(max((value - low) / (high - low), 0.0), 1.0)
        return round(self.start + share * (self.stop - self.start), 2)

    def ticks(self) -> list[float]:
        """Return round numbers along the axis: powers of ten where it is logarithmic."""
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            return [10.0**exponent for exponent in range(first, last + 1)]
        rough = (self.high - self.low) / 5.0
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
        count = math.floor((self.high - self.low) / step + 1e-9)
        return [self.low + step * place for place in range(count + 1)]


class Picture:
    """Shapes in drawing order, with a title and a description for those who cannot see them."""

    def __init__(self, name: str, title: str, description: str, height: float):
        self.name, self.title, self.description = name, title, description
        self.height = height
        self.shapes: list[Markup] = []

    def line(self, look: str, *points: tuple[float, float]) -> None:
        """Draw a line through all points."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.shapes.append(Markup('<polyline class="{}" points="{}"/>').format(look, path))

    def box(self, look: str, x: float, y: float, width: float, height: float) -> None:
        """Draw a filled rectangle; a width below zero reaches to the left."""
        self.shapes.append(
            Markup('<rect class="{}" x="{:g}" y="{:g}" width="{:g}" height="{:g}"/>').format(
                look, min(x, x + width), y, abs(width), height
            )
        )

    def mark(self, look: str, shape: str, x: float, y: float, size: float = 4.5) -> None:
        """Draw a circle, a square or a diamond."""
        if shape == "circle":
            made = Markup('<circle class="{}" cx="{:g}" cy="{:g}" r="{:g}"/>')
            self.shapes.append(made.format(look, x, y, size))
        elif shape == "square":
            self.box(look, x - 0.9 * size, y - 0.9 * size, 1.8 * size, 1.8 * size)
        else:
            far = 1.25 * size
            corners = f"{x:g},{y - far:g} {x + far:g},{y:g} {x:g},{y + far:g} {x - far:g},{y:g}"
            self.shapes.append(Markup('<polygon class="{}" points="{}"/>').format(look, corners))

    def text(
        self, words: str | Value, x: float, y: float, anchor: str = "start", look: str = ""
    ) -> None:
        """Write words, or a number with its place in the tables, on the line at y."""
        inside = words.tspan() if isinstance(words, Value) else words
        self.shapes.append(
            Markup('<text class="{}" x="{:g}" y="{:g}" text-anchor="{}">{}</text>').format(
                look, x, y, anchor, inside
            )
        )

    def across(
        self, axis: Axis, bottom: float, top: float, label: str, names: Sequence = ()
    ) -> None:
        """Draw a horizontal axis: its grid from top to bottom, its ticks and its label below."""
        for place, tick in enumerate(axis.ticks()):
            self.line("grid", (axis(tick), top), (axis(tick), bottom))
            name = names[place] if names else f"{tick:g}"
            self.text(name, axis(tick), bottom + SIZE + 3, "middle", "tick")
        self.line("frame", (axis.start, bottom), (axis.stop, bottom))
        middle = (axis.start + axis.stop) / 2
        self.text(label, middle, bottom + 2 * SIZE + 8, "middle", "label")

    def up(self, axis: Axis, left: float, right: float, label: str, names: Sequence = ()) -> None:
        """Draw a vertical axis; its label stands over it, so that it is read level."""
        for place, tick in enumerate(axis.ticks()):
            self.line("grid", (left, axis(tick)), (right, axis(tick)))
            name = names[place] if names else f"{tick:g}"
            self.text(name, left - 7, axis(tick) + 4, "end", "tick")
        self.line("frame", (left, axis.start), (left, axis.stop))
        self.text(label, 0.0, axis.stop - 8, look="label")

    def __html__(self) -> Markup:
        head = Markup(
            '<svg class="picture" viewBox="0 0 {:g} {:g}" role="img" '
            'aria-labelledby="{}-title {}-text">'
            '<title id="{}-title">{}</title><desc id="{}-text">{}</desc>'
        ).format(
            WIDTH, self.height, *[self.name] * 2, self.name, self.title, self.name, self.description
        )
        return head + Markup("").join(self.shapes) + Markup("</svg>")
