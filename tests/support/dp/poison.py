"""Cells of one record that others must not be told by: what makes a reader change its mind, or give up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")

CELLS: dict[str, bytes] = {
    "a number of the domain": b"34",
    "a text among numbers": b"eighty",
    "a decimal": b"34.5",
    "a decimal that is whole": b"34.0",
    "a decimal with a comma": b'"34,5"',
    "nothing": b"",
    "blanks": b"   ",
    "an empty text": b'""',
    "a word for nothing": b"NA",
    "no number": b"nan",
    "an infinite number": b"-inf",
    "a day": b"2024-01-31",
    "a moment": b"2024-01-31T12:00:00Z",
    "a huge number": b"9" * 400,
    "an exponent": b"1e308",
    "a tiny number": b"5e-324",
    "zeros before": b"0034",
    "a truth": b"true",
    "a formula": b"=1+1",
    "digits of another script": "\uff13\uff14".encode(),
    "a quote that never closes": b'"34',
    "a quote within": b'3"4',
    "quotes within quotes": b'"3""4"',
    "a field too many": b"34,35",
    "another separator": b"34;35",
    "a line break": b'"3\n4"',
    "another encoding": "\u00fc".encode("latin-1"),
    "half of a character": b"\xed\xa0\x80",
    "a byte of nothing": b"3\x004",
    "a mark of the byte order": b"\xef\xbb\xbf34",
}
"""By what it is. As they stand in a CSV file, in a column of whole numbers."""

PEOPLE: dict[str, list[str]] = {
    "somebody with one row": ["B1"],
    "somebody with forty rows": ["B1"] * 40,
    "somebody again": ["A1"] * 3,
    "somebody in other cases and with blanks": ["a1", " A1", "A1 ", "\uff211", "A1\u200b"],
    "nobody": ["", "  "],
}
"""The people of rows that are added to those of A0, A1, and so on."""


def some(items: Sequence[Item], start: int, step: int) -> list[Item]:
    """Return the first, and every so many of the others; with VEIL_FUZZ all. Tests with other starts have the rest."""
    return list(items) if os.environ.get("VEIL_FUZZ") else [items[0], *items[1 + start % step :: step]]


def as_objects() -> dict[str, object]:
    """Return cells as Python objects, for frames: those that are text, and what no text is."""
    texts = {name: cell.decode("utf-8", "replace") for name, cell in CELLS.items()}
    others = {
        "no object": None, "a float": 34.0, "not a number": float("nan"), "a large integer": 10**60, "a list": [34],
        "a dictionary": {"age": 34}, "half a pair": "\ud800", "bytes": b"34", "a complex number": 3j, "True": True,
    }  # fmt: skip
    return {**texts, **others}


LINES: dict[str, bytes] = {
    "a record": b"B1,34,f",
    "nothing at all": b"",
    "blanks": b"  ",
    "a field too few": b"B1,34",
    "a field too many": b"B1,34,f,x",
    "a quote that never closes": b'B1,"34,f',
    "a quote at the end": b'B1,34,"',
    "a quote alone": b'"',
    "text behind a quote": b'B1,"34"x,f',
    "bytes that are no text": b"\xff\xfe,\x80,f",
    "bytes of nothing": b"B\x001,3\x004,f",
    "separators alone": b",,",
    "signs that other readers split lines at": "B1,3\x0b4\x1c\u2028,f".encode(),
}
"""Lines of a file with the columns patient, age and sex, by what they are: each is one record of a person, or of nobody."""
