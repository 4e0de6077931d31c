"""The documentation offline: list, pages and search."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from veil.web import help as documentation
from veil.web.body import Body
from veil.web.problems import not_found

router = APIRouter(prefix="/help", tags=["help"])


@router.get("")
def listed() -> list[dict[str, str]]:
    """List the pages of the documentation."""
    return [{"name": each.name, "title": each.title} for each in documentation.pages().values()]


@router.get("/pages/{name:path}")
def page(name: str) -> documentation.HelpPage:
    """Return a page of the documentation as HTML, with its sections."""
    content = documentation.pages().get(name)
    if content is None:
        raise not_found("page")
    return content


class SearchWords(Body):
    """The words of a search."""

    text: Annotated[str, Field(max_length=200)]


@router.post("/search")
def search(words: SearchWords) -> list[dict[str, str]]:
    """Find the sections of the documentation with some words."""
    return documentation.search(words.text)
