"""The documentation for whoever is offline: listed, read and searched."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from veil.web import help as documentation
from veil.web.problems import not_found
from veil.web.routes.base import Body

router = APIRouter(prefix="/help", tags=["help"])


@router.get("")
def listed() -> list[dict[str, str]]:
    """List the pages of the documentation."""
    return [{"name": each.name, "title": each.title} for each in documentation.pages().values()]


@router.get("/pages/{name:path}")
def page(name: str) -> dict[str, Any]:
    """Return a page of the documentation as HTML, with its sections."""
    found = documentation.pages().get(name)
    if found is None:
        raise not_found("page")
    told = asdict(found)
    return told | {"sections": [{"anchor": each.anchor, "title": each.title} for each in found.sections]}


class SearchWords(Body):
    """What is looked for."""

    text: Annotated[str, Field(max_length=200)]


@router.post("/search")
def search(words: SearchWords) -> list[dict[str, str]]:
    """Find the sections of the documentation that speak of something."""
    return documentation.search(words.text)
