"""The documentation inside the workbench: its pages, rendered once, with sections for the search.

The Markdown pages ship with the package, or lie beside it in a checkout. They are shown under a strict
content policy: without HTML of their own, and with pictures from this server only.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token
from pydantic import Field

ORDER = (
    *("index", "tutorial", "workbench", "how-to", "explanation"),
    *("what-a-release-tells", "people", "masking", "reports"),
)
"""Pages that come first; the others follow by their titles."""

PICTURES = "/help"
"""The address of pictures."""

_ON_THE_SITE = ("{eval-rst}", "{include}")
"""Directives that only the site can render; pages with them are left out."""

_SHORTEST = 150
"""Characters of the longest page that is left out, as it only points to another file."""

EXCERPT = 180
MOST_HITS = 20


@dataclass(frozen=True)
class HelpSection:
    """A part of a page, from one heading to the next. Its text is for the search only."""

    anchor: str
    title: str
    text: Annotated[str, Field(exclude=True)]


@dataclass(frozen=True)
class HelpPage:
    """A rendered page of the documentation."""

    name: str
    title: str
    html: str
    sections: tuple[HelpSection, ...]


def home() -> Path | None:
    """Return the folder of the pages, in the package or beside it in a checkout; None if there is none."""
    room = Path(str(files("veil.web")))
    for folder in (room / "docs", room.parents[2] / "docs"):
        if (folder / "index.md").is_file():
            return folder
    return None


@functools.cache
def pages() -> dict[str, HelpPage]:
    """Return all pages by their names, such as `tutorials/hospital`."""
    folder = home()
    if folder is None:
        return {}
    texts = {
        path.relative_to(folder).with_suffix("").as_posix(): path.read_text("utf-8")
        for path in sorted(folder.rglob("*.md"))
        if not path.relative_to(folder).as_posix().startswith("_")
    }
    texts = {
        name: text
        for name, text in texts.items()
        if len(text) > _SHORTEST and not any(each in text for each in _ON_THE_SITE)
    }
    titles = {name: _title(text) or name for name, text in texts.items()}
    rendered = {name: _page(name, text, titles, folder) for name, text in texts.items()}
    first = {name: at for at, name in enumerate(ORDER)}
    order = sorted(rendered, key=lambda name: (first.get(name, len(ORDER)), titles[name].lower()))
    return {name: rendered[name] for name in order}


def place_of(title: str) -> str | None:
    """Return the place of a title in the reference, as `page:anchor`; None if it is not there."""
    anchor, reference = slug(title), pages().get("reference")
    there = reference is not None and any(each.anchor == anchor for each in reference.sections)
    return f"reference:{anchor}" if there else None


def search(text: str) -> list[dict[str, str]]:
    """Find sections with all words of a text; words in the title count most, then frequency."""
    words = text.lower().split()[:10]
    hits: list[tuple[int, dict[str, str]]] = []
    for page in pages().values() if words else ():
        for each in page.sections:
            whole = f"{each.title} {each.text}".lower()
            if not all(word in whole for word in words):
                continue
            score = sum(whole.count(word) + 50 * (word in each.title.lower()) for word in words)
            hit = {"page": page.name, "title": page.title, "anchor": each.anchor, "section": each.title}
            hits.append((score, hit | {"excerpt": _excerpt(each.text, words[0])}))
    return [hit for _, hit in sorted(hits, key=lambda each: -each[0])[:MOST_HITS]]


def slug(title: str) -> str:
    """Return the anchor of a heading.

    >>> slug("What it does *not* do yet")
    'what-it-does-not-do-yet'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def _title(text: str) -> str | None:
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    return None if heading is None else heading.group(1).replace("`", "")


def _excerpt(text: str, word: str) -> str:
    at = max(0, text.lower().find(word) - EXCERPT // 3)
    at = text.find(" ", at) + 1 if at else 0
    cut = text[at : at + EXCERPT].strip()
    return f"{'… ' if at else ''}{cut}{' …' if at + EXCERPT < len(text) else ''}"


def _plain(text: str) -> str:
    """Remove the markup of the site: front matter, grids of cards and their options."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    text = re.sub(r"^:{3,}\{grid-item-card\} *(.*)$", r"## \1", text, flags=re.MULTILINE)
    text = re.sub(r"^:{3,}.*$\n?", "", text, flags=re.MULTILINE)
    return re.sub(r"^:[\w-]+:.*$\n?", "", text, flags=re.MULTILINE)


def _page(name: str, text: str, titles: dict[str, str], folder: Path) -> HelpPage:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    place = posixpath.dirname(name)
    tokens = parser.parse(_plain(text))
    for start, inside, end in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if start.type == "th_open" and not inside.content:
            start.tag = end.tag = "td"  # screen readers announce an empty heading
    sections = _sections(tokens, titles[name])
    for token in tokens:
        if token.type == "fence":
            token.type, token.content = "html_block", _fence(token, place, titles, folder)
        for child in token.children or ():
            _resolve(child, name, place, titles, folder)
    return HelpPage(name, titles[name], parser.renderer.render(tokens, parser.options, {}), sections)


def _sections(tokens: Sequence[Token], title: str) -> tuple[HelpSection, ...]:
    """Set the anchor of each heading and return the sections."""
    sections: list[tuple[str, str, list[str]]] = [("", title, [])]
    anchors: set[str] = set()
    heading: list[int] | None = None
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and after is not None:
            text = "".join(each.content for each in after.children or () if each.content)
            anchor = slug(text)
            while anchor in anchors:
                anchor += "-1"
            anchors.add(anchor)
            token.attrSet("id", f"doc-{anchor}")
            heading = token.map
            sections.append((anchor, text, []))
        elif token.type in ("inline", "fence") and token.map != heading:
            sections[-1][2].append(
                " ".join(each.content for each in token.children) if token.children else token.content
            )
    return tuple(
        HelpSection(anchor, text, " ".join(" ".join(texts).split()))
        for anchor, text, texts in sections
        if texts or anchor
    )


def _resolve(token: Token, name: str, place: str, titles: dict[str, str], folder: Path) -> None:
    """Point links to local pages or, in a new tab, to other sites, and pictures to this server."""
    if token.type == "image":
        source = posixpath.normpath(posixpath.join(place, str(token.attrGet("src"))))
        there = not source.startswith("..") and (folder / source).is_file()
        token.attrSet("src", f"{PICTURES}/{source}")
        if not there:  # pictures of the workbench itself are not shipped
            token.type = "text"
    if token.type != "link_open":
        return
    target = str(token.attrGet("href"))
    token.attrs = {}
    if re.match(r"https?://", target):
        token.attrs = {"href": target, "rel": "noreferrer noopener", "target": "_blank"}
        return
    path, _, anchor = target.partition("#")
    page = name if not path else posixpath.normpath(posixpath.join(place, path.removesuffix(".md")))
    if page in titles:
        token.attrs = {"href": f"#help:{page}:{anchor}"}


def _fence(token: Token, place: str, titles: dict[str, str], folder: Path) -> str:
    """Render a code block; a list of pages becomes links, an included file its text."""
    content = token.content
    directive = re.match(r"\{([\w-]+)\} *(.*)", token.info.strip())
    if directive is not None:
        kind, argument = directive.groups()
        content = re.sub(r"^:[\w-]+:.*$\n?", "", content, flags=re.MULTILINE)
        if kind == "toctree":
            names = [posixpath.normpath(posixpath.join(place, line.strip())) for line in content.splitlines()]
            links = [
                f'<li><a href="#help:{each}:">{escapeHtml(titles[each])}</a></li>'
                for each in names
                if each in titles
            ]
            return f"<ul>{''.join(links)}</ul>"
        if kind == "literalinclude":
            file = (folder / place / argument).resolve()
            there = file.is_file() and file.is_relative_to(folder.resolve())
            content = file.read_text("utf-8") if there else argument
        if kind == "glossary":
            return f'<pre class="glossary">{escapeHtml(content)}</pre>'
    return f'<pre tabindex="0"><code>{escapeHtml(content)}</code></pre>'
