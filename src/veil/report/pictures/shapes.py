"""Pictures as plain shapes, which become SVG in a page and drawing commands in a PDF.

A picture is as wide as a phone, so that its text is readable there; wider pages have several side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

WIDTH = 352.0
"""Width of every picture: that of a phone, in pixels."""

SIZE = 11.0
"""Font size."""

BEFORE, AFTER, ACCENT, INK, SOFT, LINE = "#b9c0ca", "#0b5c8f", "#d55e00", "#1c2430", "#5b6676", "#d9dee6"
"""Before is grey and after is blue: distinct in print and for the colour-blind."""


@dataclass(frozen=True)
class Bar:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True)
class Stroke:
    """A line through points."""

    points: tuple[tuple[float, float], ...]
    colour: str = LINE
    width: float = 1.0


@dataclass(frozen=True)
class Dot:
    """A filled circle, or a ring."""

    x: float
    y: float
    radius: float
    colour: str
    ring: bool = False


@dataclass(frozen=True)
class TextShape:
    """A text that begins, is centred or ends at a point; turned, it reads upwards."""

    x: float
    y: float
    text: str
    anchor: Literal["start", "middle", "end"] = "start"
    colour: str = INK
    size: float = SIZE
    bold: bool = False
    turned: bool = False


Shape = Bar | Stroke | Dot | TextShape


@dataclass
class Scene:
    """A picture: shapes on a canvas; y grows downwards."""

    title: str
    height: float = 0.0
    shapes: list[Shape] = field(default_factory=list)
    width: float = WIDTH

    def add(self, *shapes: Shape) -> None:
        """Add shapes on top."""
        self.shapes += shapes


def width_of(text: str, size: float = SIZE) -> float:
    """Return an upper estimate of the width of a text: fonts differ.

    >>> width_of("WWW") > width_of("iii") > 0
    True
    """
    wide = sum(1.0 if each in "WM@%—…" else 0.42 if each in "iljtf.,:;'|!()[] " else 0.67 for each in text)
    return wide * size


def short(text: str | None, most: int = 26) -> str:
    """Return a label that fits and is printable.

    >>> short("x" * 40, 8), short(None), short("a$b")
    ('xxxxxxx…', '(missing)', 'a$b')
    """
    if text is None:
        return "(missing)"
    plain = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def svg(scene: Scene) -> str:
    """Return a picture as an SVG element for a page, in the page's font.

    >>> svg(Scene("nothing", 10)).startswith('<svg class="chart" viewBox="0 0 352 10" role="img" aria-label="nothing">')
    True
    """
    elements = "".join(map(_element, scene.shapes))
    return (
        f'<svg class="chart" viewBox="0 0 {_number(scene.width)} {_number(scene.height)}" role="img" '
        f"aria-label={quoteattr(scene.title)}>{elements}</svg>"
    )


def _element(shape: Shape) -> str:
    if isinstance(shape, Bar):
        place = f'x="{_number(shape.x)}" y="{_number(shape.y)}"'
        size = f'width="{_number(max(0.0, shape.width))}" height="{_number(shape.height)}"'
        return f'<rect {place} {size} fill="{shape.colour}"/>'
    if isinstance(shape, Stroke):
        points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
        return f'<polyline points="{points}" fill="none" stroke="{shape.colour}" stroke-width="{_number(shape.width)}"/>'
    if isinstance(shape, Dot):
        ink = (
            f'fill="none" stroke="{shape.colour}" stroke-width="1.8"'
            if shape.ring
            else f'fill="{shape.colour}"'
        )
        return f'<circle cx="{_number(shape.x)}" cy="{_number(shape.y)}" r="{_number(shape.radius)}" {ink}/>'
    turned = f' transform="rotate(-90 {_number(shape.x)} {_number(shape.y)})"' if shape.turned else ""
    bold = ' font-weight="600"' if shape.bold else ""
    return (
        f'<text x="{_number(shape.x)}" y="{_number(shape.y)}" text-anchor="{shape.anchor}" '
        f'font-size="{_number(shape.size)}" fill="{shape.colour}"{bold}{turned}>{escape(shape.text)}</text>'
    )


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
