"""The pictures of a report, drawn by name from its facts."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any, Literal

from veil.report.pages.blocks import Picture
from veil.report.pages.measured import drawn_distributions
from veil.report.pictures import draw as pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MISSING = "Pictures need matplotlib, which is not installed: pip install 'veil-anonymizer[plot]'."


def can_draw() -> bool:
    """Whether pictures can be drawn here."""
    return importlib.util.find_spec("matplotlib") is not None


def picture(
    facts: dict[str, Any], wanted: Picture, format: Literal["svg", "png"]
) -> tuple[bytes, float, float]:
    """Draw a picture of a report; return its bytes, and its width and height in inches."""
    figure = _figure(facts, wanted)
    width, height = figure.get_size_inches()
    return pictures.bytes_of_figure(figure, format), float(width), float(height)


def _figure(facts: dict[str, Any], wanted: Picture) -> Figure:
    if wanted.name == "risks":
        return pictures.risks(facts["risks"])
    if wanted.name == "class_sizes":
        return pictures.class_sizes(facts["risks"])
    if wanted.name == "distributions":
        start = wanted.page * pictures.A_PAGE
        return pictures.distributions(drawn_distributions(facts)[start : start + pictures.A_PAGE])
    if wanted.name == "correlations":
        return pictures.correlations(facts["associations"])
    if wanted.name == "space":
        return pictures.spaces(facts["space"])
    return pictures.quality(facts["curve"])
