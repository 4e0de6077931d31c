"""Reading reports back as a nosy person would: every text in them, whatever it is hidden in."""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from typing import Any

import pypdf

FORMATS = ("html", "pdf", "json")


def texts_of_html(path: Path) -> str:
    """The page, with its pictures decoded and all entities resolved."""
    page = path.read_text(encoding="utf-8")
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    drawn = "\n".join(base64.b64decode(each).decode() for each in pictures)
    return html.unescape(page + drawn) + (page + drawn).encode().decode("unicode_escape", "ignore")


def words_of_html(path: Path) -> str:
    """The texts of the page and of its pictures alone, without where and how they are drawn."""
    page = path.read_text(encoding="utf-8")
    drawn = [
        base64.b64decode(each).decode()
        for each in re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    ]
    labels = [label for each in drawn for label in re.findall(r"<!--(.*?)-->", each, re.DOTALL)]
    return html.unescape(
        re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL) + "\n".join(labels)
    )


def texts_of_pdf(path: Path) -> str:
    """What stands on the pages, in their links and in the properties of the file."""
    reader = pypdf.PdfReader(path)
    pages = "\n".join(page.extract_text() for page in reader.pages)
    return pages + repr(reader.metadata) + repr(reader.xmp_metadata) + repr(reader.outline)


def texts_of_json(path: Path) -> str:
    """Every key and value."""

    def leaves(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [text for key, each in value.items() for text in [str(key), *leaves(each)]]
        if isinstance(value, list):
            return [text for each in value for text in leaves(each)]
        return [str(value), repr(value)]

    return "\n".join(leaves(json.loads(path.read_text(encoding="utf-8"))))


def everything_in(path: Path) -> str:
    """Every text of a report."""
    read = {".html": texts_of_html, ".pdf": texts_of_pdf, ".json": texts_of_json}
    return read[path.suffix](path)


def squeezed(text: str) -> str:
    """Without what typesetting puts between letters and digits."""
    return re.sub(r"[\s,\u00a0\u00ad]", "", text)
