"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from veil.report.pages.blocks import Section, day
from veil.report.pages.document import sections, title_of
from veil.report.pages.language import Words
from veil.report.pictures.by_name import scenes
from veil.report.pictures.shapes import svg

_FITS = 18
"""Letters in the last of three columns that still fit beside the others on a phone."""


def html(facts: dict[str, Any]) -> str:
    """Return the report as an HTML page: style, pictures and certificate are inside, and no script is run."""
    words = Words(facts["about"]["language"])
    return page(sections(facts), facts, title=title_of(facts), certificate=facts["certificate"], words=words)


def page(
    chapters: Sequence[Section],
    facts: dict[str, Any],
    *,
    title: str,
    certificate: dict[str, Any] | None = None,
    words: Words | None = None,
) -> str:
    """Return sections as an HTML page, in the language of the words."""
    import jinja2
    import markupsafe

    words = words or Words("en")

    loader = jinja2.PackageLoader("veil.report", "templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["block"] = lambda each, kind: type(each).__name__ == kind
    environment.globals["cell"] = lambda each: (each, "") if isinstance(each, str) else (each.text, each.mark)
    environment.globals["long"] = lambda grid: any(
        len(cell if isinstance(cell, str) else cell.text) > _FITS for row in grid.rows for cell in row[2:]
    )
    environment.globals["charts"] = lambda wanted: [
        markupsafe.Markup(svg(words.of_scene(each)))  # noqa: S704  (its texts are escaped)
        for each in scenes(facts, wanted)
    ]
    environment.globals["_"] = words.of
    return environment.get_template("report.html").render(
        title=words.of(title),
        running=markupsafe.Markup(_for_style(words.of(title))),  # noqa: S704  (escaped for style sheets)
        sections=words.of_sections(chapters),
        language=words.language,
        made=words.of(f"Made on {day(facts['date'])} with Veil {facts['versions']['veil']}"),
        certificate=None if certificate is None else json_for_script(certificate),
    )


def _for_style(text: str) -> str:
    r"""Return a text that can stand between quotes in a style sheet, whatever is in it.

    >>> _for_style('a"</style>')
    'a\\22 \\3c \\2f style\\3e '
    """
    return "".join(each if each.isalnum() or each in " -–,." else f"\\{ord(each):x} " for each in text)


def json_for_script(data: dict[str, Any]) -> Any:
    """Return JSON that can stand in a script element, whatever texts are in it."""
    import markupsafe

    text = json.dumps(data, ensure_ascii=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return markupsafe.Markup(text)  # noqa: S704  (nothing in it can end the element)
