"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from veil.report.pages.blocks import Section
from veil.report.pages.document import sections
from veil.report.pictures.by_name import MISSING, can_draw, picture


def html(facts: dict[str, Any]) -> str:
    """Return the report as an HTML page: style, pictures and certificate are inside, and no script is run."""
    return page(sections(facts), facts, title="Anonymization report", certificate=facts["certificate"])


def page(
    chapters: Sequence[Section],
    facts: dict[str, Any],
    *,
    title: str,
    certificate: dict[str, Any] | None = None,
) -> str:
    """Return sections as an HTML page."""
    import jinja2

    loader = jinja2.PackageLoader("veil.report", "templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["block"] = lambda each, kind: type(each).__name__ == kind
    environment.globals["cell"] = lambda each: (each, "") if isinstance(each, str) else (each.text, each.mark)
    environment.globals["image"] = lambda wanted: _image(facts, wanted)
    return environment.get_template("report.html").render(
        title=title,
        sections=chapters,
        date=facts["date"],
        version=facts["versions"]["veil"],
        certificate=None if certificate is None else json_for_script(certificate),
        missing=None if can_draw() else MISSING,
    )


def json_for_script(data: dict[str, Any]) -> Any:
    """Return JSON that can stand in a script element, whatever texts are in it."""
    import markupsafe

    text = json.dumps(data, ensure_ascii=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return markupsafe.Markup(text)


def _image(facts: dict[str, Any], wanted: Any) -> dict[str, Any]:
    data, width, _ = picture(facts, wanted, "svg")
    source = f"data:image/svg+xml;base64,{base64.b64encode(data).decode()}"
    return {"source": source, "width": round(96 * width)}
