"""The pictures of a report, drawn by name from its facts."""

from __future__ import annotations

from typing import Any

from veil.report.pages.blocks import Picture
from veil.report.pictures import charts
from veil.report.pictures.shapes import Scene


def scenes(facts: dict[str, Any], picture: Picture) -> list[Scene]:
    """Draw the scenes of a picture of a report."""
    if picture.name == "risks":
        return [charts.risks(facts["risks"]), charts.class_sizes(facts["risks"])]
    if picture.name == "distributions":
        distributions = {each["column"]: each for each in facts["distributions"]}
        return [charts.distribution(distributions[name]) for name in picture.columns]
    if picture.name == "correlations":
        return charts.correlations(facts["associations"])
    curve = [charts.quality(facts["curve"])] if len(facts["curve"]) > 1 else []
    return [*charts.spaces(facts["space"]), *curve]
