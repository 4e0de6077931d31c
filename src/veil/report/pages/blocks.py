"""What a page is made of: texts, tables, pictures; and how numbers are written in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

MOST_ROWS = 60
"""Rows of a table about columns; wide tables are cut, with a note."""


class Verbatim(str):
    """Text of a table, or from whoever made the release: it stays as it is in every language."""

    __slots__ = ()


@dataclass(frozen=True)
class Cell:
    """A cell of a table that says whether it is good news."""

    text: str
    mark: Literal["good", "bad", ""] = ""


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    style: Literal["plain", "lead", "note", "notice"] = "plain"


@dataclass(frozen=True)
class Heading:
    """The title of a part of a section."""

    text: str


@dataclass(frozen=True)
class Grid:
    """A table; columns in `right` hold numbers."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    right: tuple[int, ...] = ()


@dataclass(frozen=True)
class Picture:
    """Pictures by name, with what they show in words; of distributions, those of the columns that are named."""

    name: str
    caption: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Code:
    """Text as it stands in a file."""

    text: str


@dataclass(frozen=True)
class Signatures:
    """Lines to sign on."""

    people: tuple[tuple[str, str | None], ...]
    """What each signs as, and the name if it is known."""


@dataclass(frozen=True)
class Folded:
    """What only some readers want: a line on a screen that opens, and all of it in print."""

    title: str
    blocks: tuple[Block, ...]


Block = Text | Heading | Grid | Picture | Code | Signatures | Folded


@dataclass(frozen=True)
class Section:
    """A chapter of the report: the first page, a part that is decided on, or one of the annex."""

    key: str
    title: str
    blocks: tuple[Block, ...]
    part: Literal["first", "main", "annex"] = "main"


def percent(value: float | None) -> str:
    """Write a share. Nothing that is not zero looks like zero, and nothing below one like one.

    >>> percent(0.04834), percent(0.00001), percent(0.99999), percent(1), percent(None)
    ('4.83 %', '< 0.01 %', '> 99.99 %', '100 %', '–')
    """
    if value is None:
        return "–"
    if 0 < value < 0.0001:
        return "< 0.01 %"
    if 0.9999 < value < 1:
        return "> 99.99 %"
    text = f"{100 * value:.2f}".rstrip("0").rstrip(".")
    return f"{text} %"


def number(value: Any) -> str:
    """Write a number, or whatever else there is.

    >>> number(30162), number(0.123456789), number(None)
    ('30,162', '0.1235', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def day(moment: str) -> str:
    """Write a moment as people do.

    >>> day("2026-11-17T12:01:33+00:00")
    '2026-11-17, 12:01 UTC'
    """
    return datetime.fromisoformat(moment).astimezone(UTC).strftime("%Y-%m-%d, %H:%M UTC")


def list_names(names: Sequence[str], most: int = 20) -> str:
    """List names, and say how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def cut(rows: list[tuple[str | Cell, ...]], most: int = MOST_ROWS) -> tuple[tuple[str | Cell, ...], ...]:
    """Return the rows that are shown."""
    return tuple(rows[:most])


def note_on(rows: Sequence[Any], most: int = MOST_ROWS) -> list[Block]:
    """Say how many rows are not shown, if any."""
    if len(rows) <= most:
        return []
    return [Text(f"{len(rows) - most:,} further rows are in the report as JSON.", "note")]


def verdict(holds: bool) -> Cell:
    """Say whether a promise is kept."""
    return Cell("holds", "good") if holds else Cell("BROKEN", "bad")
