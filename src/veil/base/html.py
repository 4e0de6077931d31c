"""Small HTML tables, with all content escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, SupportsIndex, TypeVar, overload

T = TypeVar("T")

MOST_ROWS = 60
"""Rows of a list that are shown at most."""


def html_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> str:
    """Return an HTML table; the text of each cell is escaped.

    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th style="text-align:left">a</th></tr></thead><tbody><tr><td style="text-align:left">&lt;b&gt;</td></tr></tbody></table>'
    """
    side = ' style="text-align:left"'
    head = "".join(f"<th{side}>{escape(str(each))}</th>" for each in headings)
    body = "".join(
        "<tr>"
        + "".join(f"<td{side}>{escape('·' if each is None else str(each))}</td>" for each in row)
        + "</tr>"
        for row in rows
    )
    caption = f"<p><b>{escape(title)}</b></p>" if title else ""
    top = f"<thead><tr>{head}</tr></thead>" if any(headings) else ""
    return f"{caption}<table>{top}<tbody>{body}</tbody></table>"


class TableList(list[T]):
    """A list that notebooks show as a table; so are its slices.

    >>> pairs = TableList([(1, "a"), (2, "b")], ("n", "name"), lambda each: each)
    >>> pairs._repr_html_().count("<tr>"), pairs[:1]._repr_html_().count("<tr>"), pairs[0]
    (3, 2, (1, 'a'))
    """

    def __init__(
        self, items: Iterable[T], headings: Sequence[str], row: Callable[[T], Sequence[Any]], title: str = ""
    ) -> None:
        super().__init__(items)
        self._headings, self._row, self._title = headings, row, title

    @overload
    def __getitem__(self, at: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> TableList[T]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> T | TableList[T]:
        if isinstance(at, slice):
            return TableList(super().__getitem__(at), self._headings, self._row, self._title)
        return super().__getitem__(at)

    def _repr_html_(self) -> str:
        return html_table(self._headings, [self._row(each) for each in self[:MOST_ROWS]], self._title)


def html_text(value: object) -> str:
    """Return the text of an object in HTML, as a terminal would print it."""
    return f"<pre>{escape(str(value))}</pre>"
