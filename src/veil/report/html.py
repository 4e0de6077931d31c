"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from veil.report.facts import facts
from veil.tables import atomic

if TYPE_CHECKING:
    from veil.release import Release


def write_report(release: Release, path: Path) -> Path:
    """Write the report of a release; `.json` writes the bare facts, anything else HTML."""
    found = facts(release)
    if path.suffix.lower() == ".json":
        text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    else:
        import jinja2

        loader = jinja2.PackageLoader("veil.report", "templates")
        environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
        environment.filters["percent"] = lambda value: f"{value:.2%}"
        text = environment.get_template("report.html").render(found)
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path
