"""The pictures of a report, drawn by name from its facts."""

from __future__ import annotations

from typing import Any

from veil.report.pages.blocks import Picture
from veil.report.pictures import charts
from veil.report.pictures.shapes import Scene


def scenes(facts: dict[str, Any], wanted: Picture) -> list[Scene]:
    """Draw what a picture of a report consists of."""
    if wanted.name == "risks":
        return [charts.risks(facts["risks"]), charts.class_sizes(facts["risks"])]
    if wanted.name == "distributions":
        known = {each["column"]: each for each in facts["distributions"]}
        return [charts.distribution(known[name]) for name in wanted.columns]
    if wanted.name == "correlations":
        return charts.correlations(facts["associations"])
    curve = [charts.quality(facts["curve"])] if len(facts["curve"]) > 1 else []
    return [*charts.spaces(facts["space"]), *curve]
