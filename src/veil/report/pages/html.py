"""The report as one self-contained HTML file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from veil.report.pages import blocks
from veil.report.pages.blocks import Section, TableBlock
from veil.report.pages.document import imprint, sections, title_of
from veil.report.pages.language import ENGLISH, Translator
from veil.report.pictures.by_name import scenes
from veil.report.pictures.shapes import svg
from veil.report.texts import text

_FITS = 18
"""Characters of a word in the first, and of the text in the last of three columns, that fit on a phone."""

_SENTENCE = 40
"""Characters from which on a cell is set as a sentence."""

_COMPOUND = re.compile(r"\b\d+-[^\W\d]\w*")
"""Words with a leading number, which stay on one line: 5-anonymity."""


def html(facts: dict[str, Any]) -> str:
    """Return the report as an HTML page with style, pictures and certificate, and without any script."""
    words = Translator(facts["about"]["language"])
    return page(sections(facts), facts, title=title_of(facts), certificate=facts["certificate"], words=words)


def page(
    chapters: Sequence[Section],
    facts: dict[str, Any],
    *,
    title: str,
    certificate: dict[str, Any] | None = None,
    words: Translator = ENGLISH,
) -> str:
    """Return sections as an HTML page, translated."""
    import jinja2
    import markupsafe

    loader = jinja2.PackageLoader("veil.report", "templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # An unknown class fails: a comparison by name would leave its blocks out of the page.
    environment.tests["block"] = lambda each, kind: type(each) is getattr(blocks, kind)
    environment.globals["cell"] = lambda each: (each, "") if isinstance(each, str) else (each.text, each.mark)
    environment.filters["shape"] = _shape
    environment.filters["whole"] = lambda text: markupsafe.Markup(  # noqa: S704  (the text is escaped first)
        _COMPOUND.sub(r'<span class="whole">\g<0></span>', str(markupsafe.escape(text)))
    )
    environment.globals["charts"] = lambda picture: [
        markupsafe.Markup(svg(words.of_scene(each)))  # noqa: S704  (its texts are escaped)
        for each in scenes(facts, picture)
    ]
    environment.globals["_"] = lambda name: words.of(text(f"page.{name}"))
    return environment.get_template("report.html").render(
        title=words.of(title),
        running=markupsafe.Markup(_for_style(words.of(title))),  # noqa: S704  (escaped for style sheets)
        sections=words.of_sections(chapters),
        language=words.language,
        imprint=words.of(imprint(facts)),
        certificate=None if certificate is None else json_for_script(certificate),
    )


def _shape(grid: TableBlock) -> str:
    """Return the layout of a table on a phone: few columns fit, sentences are stacked, others scroll."""
    texts = [[cell if isinstance(cell, str) else cell.text for cell in row] for row in grid.rows]
    if not any(grid.headings):
        return "few facts"
    if len(grid.headings) < 3:
        return "few"
    narrow = all(len(word) <= _FITS for row in texts for word in (*row[0].split(), *row[2:]))
    if len(grid.headings) == 3 and narrow:
        return "few"
    has_sentences = any(len(text) > _SENTENCE for row in texts for text in row)
    return "told" if len(grid.headings) < 6 and has_sentences and not grid.right else ""


def _for_style(text: str) -> str:
    r"""Escape a text for quotes in a style sheet.

    >>> _for_style('a"</style>')
    'a\\22 \\3c \\2f style\\3e '
    """
    return "".join(each if each.isalnum() or each in " -–,." else f"\\{ord(each):x} " for each in text)


def json_for_script(data: dict[str, Any]) -> Any:
    """Return JSON that is safe in a script element."""
    import markupsafe

    text = json.dumps(data, ensure_ascii=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return markupsafe.Markup(text)  # noqa: S704  (nothing in it can end the element)
