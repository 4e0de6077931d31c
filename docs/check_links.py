"""Check that every link of the built site leads to a page, a file or a heading of it: `python docs/check_links.py FOLDER`.

Links to other sites are not followed: the site is built offline.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Collects where a page leads to, and what can be led to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and the anchors of an element."""
        given = {name: value for name, value in attrs if value is not None}
        self.links |= {given[name] for name in ("href", "src") if name in given}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}


def broken_links(folder: Path) -> list[str]:
    """Return every link that leads nowhere, with the page that it stands on."""
    found = [path for path in folder.rglob("*.html") if "_static" not in path.parts]  # which holds templates
    pages = {path.resolve(): Page(path) for path in found}
    return sorted(
        f"{path.relative_to(folder.resolve())}: {link}"
        for path, page in pages.items()
        for link in page.links
        if not _leads_somewhere(link, path, pages)
    )


def _leads_somewhere(link: str, path: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return False
    if not parts.fragment or target not in pages:
        return True
    return unquote(parts.fragment) in pages[target].anchors


if __name__ == "__main__":
    found = broken_links(Path(sys.argv[1]))
    print(*found, sep="\n") if found else print("Every link leads somewhere.")
    sys.exit(bool(found))
