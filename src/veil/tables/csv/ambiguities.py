"""What a CSV file seems to mean and is not read as: numbers with other marks, and codes for missing values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.tables.formats import Csv, Format

MARKS = {
    r"^-?[0-9]+(,[0-9]+)?$": ("1,5", {"decimal": ","}),
    r"^-?[0-9]{1,3}(\.[0-9]{3})*(,[0-9]+)?$": ("16.092,04", {"decimal": ",", "thousands": "."}),
    r"^-?[0-9]{1,3}(,[0-9]{3})*(\.[0-9]+)?$": ("16,092.04", {"thousands": ","}),
}
_NO_ANSWER = frozenset(
    [
        "k.a.",
        "k. a.",
        "ka",
        "keine angabe",
        "unbekannt",
        "weiss nicht",
        "weiß nicht",
        "unknown",
        "not known",
        "n/a",
        "na",
        "n.a.",
        "missing",
        "null",
        "nan",
        "no answer",
        "refused",
        "don't know",
        "?",
    ]
)
_NUMBERS_FOR_NONE = (-999, -998, -997, -99, -98, -97, -9, -8, -7, -1, 99, 98, 97, 999, 998, 997, 9999)
_FEW = 3  # codes that are worth a name


class Misread(NamedTuple):
    """One sentence for each column, and the format by which all of them are read as they seem to be meant.

    `numbers` are columns that would be numbers by that format, and are text.
    """

    notes: tuple[str, ...]
    format: Csv | None
    numbers: tuple[str, ...] = ()


NOTHING_MISREAD = Misread((), None)


def find_misread(table: pa.Table, format: Format | None) -> Misread:
    r"""Find what seems to be read otherwise than it is meant, and the format that would read it.

    >>> some = pa.table({"cost": ["16.092,04", "7,50", "k.A."], "v": [1, 5, -9]})
    >>> found = find_misread(some, Csv(separator=";"))
    >>> print(*found.notes, sep="\n")
    column 'cost' is read as text: its numbers look like 16.092,04
    column 'cost' holds 'k.A.', which looks like a code for a missing value
    column 'v' holds -9, which looks like a code for a missing value
    >>> found.format.missing, found.format.decimal, found.format.thousands
    (('', 'k.A.', '-9'), ',', '.')
    """
    notes: list[str] = []
    marks: dict[str, Any] = {}
    codes: dict[str, None] = {}
    numbers: list[str] = []
    for name in table.column_names:
        if pa.types.is_nested(table.schema.field(name).type):
            continue
        values = pc.unique(table[name]).drop_null()
        found = _codes_for_none(values)
        if isinstance(format, Csv) and pa.types.is_string(values.type):
            told = _marks_of(values)
            if told is not None:
                notes.append(f"column {name!r} is read as text: its numbers look like {told[0]}")
                marks |= told[1]
                numbers.append(name)
        if found:
            shown = " and ".join(repr(each) for each in found[:_FEW])
            what = "look like codes" if len(found) > 1 else "looks like a code"
            notes.append(f"column {name!r} holds {shown}, which {what} for a missing value")
            codes |= dict.fromkeys(map(str, found))
    notes += _meant_elsewhere(table, [code for code in codes if code.lstrip("-").isdigit()])
    if not isinstance(format, Csv) or not (marks or codes):
        return Misread(tuple(notes), None)
    if "," in marks.values() and format.separator == ",":
        marks["separator"] = ";"
    missing = tuple(dict.fromkeys([*format.missing, *codes]))
    return Misread(tuple(notes), dataclasses.replace(format, missing=missing, **marks), tuple(numbers))


def _marks_of(values: pa.Array) -> tuple[str, dict[str, str]] | None:
    """Tell which marks the numbers of a column of text have, whatever stands for missing ones."""
    none = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(values)), pa.array(["", *_NO_ANSWER]))
    texts = values.filter(pc.invert(none))
    if not len(texts) or not pc.any(pc.match_substring_regex(texts, "[.,]")).as_py():
        return None
    for look, told in MARKS.items():
        if pc.all(pc.match_substring_regex(texts, look)).as_py():
            return told
    return None


def _codes_for_none(values: pa.Array) -> list[Any]:
    if pa.types.is_string(values.type):
        none = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(values)), pa.array(sorted(_NO_ANSWER)))
        texts: list[Any] = sorted(values.filter(none).to_pylist())
        return texts
    return _numbers_for_none(values) if pa.types.is_integer(values.type) else []


def _numbers_for_none(values: pa.Array) -> list[int]:
    """Codes such as -9 and 999, where they lie apart from all other numbers of the column."""
    limits = np.iinfo(values.type.to_pandas_dtype())
    known = [each for each in _NUMBERS_FOR_NONE if limits.min <= each <= limits.max]
    codes = pc.is_in(values, pa.array(known, values.type))
    others = values.filter(pc.invert(codes))
    if not len(others):
        return []
    least, most = pc.min(others).as_py(), pc.max(others).as_py()
    return [
        each
        for each in sorted(values.filter(codes).to_pylist())
        if (each < 0 <= least) or (each > 0 and each >= 3 * most)
    ]


def _meant_elsewhere(table: pa.Table, codes: list[str]) -> Iterator[str]:
    """Say where a number that is a code in one column is a number like any other in the next."""
    for name in table.column_names:
        if not pa.types.is_integer(table.schema.field(name).type):
            continue
        values = pc.unique(table[name]).drop_null()
        meant = set(values.to_pylist()) - set(_numbers_for_none(values))
        there = [code for code in codes if int(code) in meant]
        if there:
            yield f"column {name!r} holds {' and '.join(there)} too, and would then have missing values there"
