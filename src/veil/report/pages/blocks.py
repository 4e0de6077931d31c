"""The blocks of a page: texts, tables, pictures; and the format of numbers in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from veil.base.wording import Verbatim as Verbatim
from veil.report.texts import text, texts

MOST_ROWS = 60
"""Rows of a table about columns; longer tables are cut, with a note."""


Put = Callable[[str], str]
"""Translates a text. Every block knows which of its texts are translated: see `put`."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table, marked as good or bad."""

    text: str
    mark: Literal["good", "bad", ""] = ""


Row = tuple[str | Cell, ...]
"""A row of a table."""


def put_cell(cell: str | Cell, into: Put) -> str | Cell:
    """Return a cell in the language of a reader."""
    return into(cell) if isinstance(cell, str) else replace(cell, text=into(cell.text))


@dataclass(frozen=True)
class Paragraph:
    """A paragraph."""

    text: str
    style: Literal["plain", "lead", "note", "notice"] = "plain"

    def put(self, into: Put) -> Paragraph:
        return replace(self, text=into(self.text))


@dataclass(frozen=True)
class Heading:
    """The title of a part of a section."""

    text: str

    def put(self, into: Put) -> Heading:
        return Heading(into(self.text))


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    texts: tuple[str, ...]

    def put(self, into: Put) -> Points:
        return Points(tuple(map(into, self.texts)))


@dataclass(frozen=True)
class TableBlock:
    """A table; columns in `right` hold numbers. Without headings, it is a list of facts: name and value."""

    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    right: tuple[int, ...] = ()

    def put(self, into: Put) -> TableBlock:
        even = self.evened()
        rows = tuple(tuple(put_cell(each, into) for each in row) for row in even.rows)
        return replace(even, headings=tuple(map(into, even.headings)), rows=rows)

    def evened(self) -> TableBlock:
        """Return the table with the same number of decimals within each column of shares.

        >>> TableBlock(("", "Left"), (("a", "94.9 %"), ("b", "95.36 %"), ("c", "0 %")), right=(1,)).evened().rows
        (('a', '94.90 %'), ('b', '95.36 %'), ('c', '0 %'))
        """
        columns = [list(column) for column in zip(*self.rows, strict=True)]
        for at in self.right if columns else ():
            matches = [_SHARE.fullmatch(each) if type(each) is str else None for each in columns[at]]
            most = max((len(each[2] or "") for each in matches if each), default=0)
            for row, each in enumerate(matches):
                if each and most and each[0] not in ("0 %", "100 %"):
                    columns[at][row] = f"{each[1]}{(each[2] or '.').ljust(most, '0')} %"
        return replace(self, rows=tuple(zip(*columns, strict=True)))


_SHARE = re.compile(r"(\d+)(\.\d+)? %")


@dataclass(frozen=True)
class Picture:
    """Pictures by name, with a caption; distributions with the columns to draw."""

    name: str
    caption: str
    columns: tuple[str, ...] = ()

    def put(self, into: Put) -> Picture:
        return replace(self, caption=into(self.caption))


@dataclass(frozen=True)
class Code:
    """Text of a file."""

    text: str

    def put(self, into: Put) -> Code:
        return self


@dataclass(frozen=True)
class Signatures:
    """Lines to sign on."""

    people: tuple[tuple[str, str | None], ...]
    """Role of each signatory, and the name if it is known."""

    def put(self, into: Put) -> Signatures:
        return Signatures(tuple((into(role), name) for role, name in self.people))


@dataclass(frozen=True)
class Folded:
    """Blocks for some readers only: folded on a screen, unfolded in print."""

    title: str
    blocks: tuple[Block, ...]

    def put(self, into: Put) -> Folded:
        return Folded(into(self.title), tuple(each.put(into) for each in self.blocks))


Block = Paragraph | Heading | Points | TableBlock | Picture | Code | Signatures | Folded


@dataclass(frozen=True)
class Section:
    """A chapter of the report: the first page, one of the main part, or one of the annex."""

    key: str
    title: str
    blocks: tuple[Block, ...]
    part: Literal["first", "main", "annex"] = "main"

    def put(self, into: Put) -> Section:
        return replace(self, title=into(self.title), blocks=tuple(each.put(into) for each in self.blocks))


def percent(value: float | None) -> str:
    """Format a share. Only zero is written as 0 %, and only one as 100 %.

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
    """Format a number; any other value as text.

    >>> number(30162), number(0.123456789), number(None)
    ('30,162', '0.1235', '–')
    >>> number(-0.25), number(2700.0)
    ('−0.25', '2,700')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        text = f"{value:,}"
    else:
        text = f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def spell_parameter(value: Any) -> str:
    """Format a parameter without rounding.

    >>> spell_parameter(5.0), spell_parameter(0.3), spell_parameter(["a", "b"]), spell_parameter(1e-06)
    ('5', '0.3', 'a, b', '0.000001')
    """
    if isinstance(value, list | tuple):
        return ", ".join(map(spell_parameter, value))
    if isinstance(value, float):
        return f"{value:,.12f}".rstrip("0").rstrip(".") if 1e-9 < abs(value) < 1e15 else f"{value:g}"
    return str(value)


def day(moment: str) -> str:
    """Format an instant to the minute.

    >>> day("2026-11-17T12:01:33+00:00")
    '2026-11-17, 12:01 UTC'
    """
    return datetime.fromisoformat(moment).astimezone(UTC).strftime("%Y-%m-%d, %H:%M UTC")


def list_names(names: Sequence[str], most: int = 20) -> str:
    """Join the first names, with the number of further ones."""
    some = Verbatim(", ".join(names[:most]))
    return some if len(names) <= most else text("blocks.names_and_more", names=some, more=len(names) - most)


def table(headings: str, rows: Iterable[Row], right: tuple[int, ...] = ()) -> TableBlock:
    """Return a table with headings by name."""
    return TableBlock(texts(headings), tuple(rows), right)


def long_table(
    headings: tuple[str, ...], rows: Sequence[Row], right: tuple[int, ...] = (), last: tuple[Row, ...] = ()
) -> list[Block]:
    """Return the first rows of a table, `last` rows, and a note on the number of rows that are not shown."""
    first, further = TableBlock(headings, (*rows[:MOST_ROWS], *last), right), len(rows) - MOST_ROWS
    return [first, Paragraph(text("blocks.further_rows", rows=further), "note")] if further > 0 else [first]


def verdict(holds: bool | None) -> Cell:
    """Return whether a promise holds as a cell; None is a promise that no table shows."""
    if holds is None:
        return Cell(text("blocks.not_checked"))
    return Cell(text("blocks.holds"), "good") if holds else Cell(text("blocks.broken"), "bad")
