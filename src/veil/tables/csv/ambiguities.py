"""Ambiguities of a CSV file: texts that look like numbers with other marks, and codes for missing values."""

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
_FEW = 3  # codes that are named


class Ambiguities(NamedTuple):
    """One sentence for each column, and the format by which all of them would be read as intended.

    `numbers` are columns of text that would be numbers in that format.
    """

    notes: tuple[str, ...]
    format: Csv | None
    numbers: tuple[str, ...] = ()


NO_AMBIGUITIES = Ambiguities((), None)


def find_ambiguities(table: pa.Table, format: Format | None) -> Ambiguities:
    r"""Find columns that were probably not read as intended, and the format that would read them so.

    >>> some = pa.table({"cost": ["16.092,04", "7,50", "k.A."], "v": [1, 5, -9]})
    >>> ambiguities = find_ambiguities(some, Csv(separator=";"))
    >>> print(*ambiguities.notes, sep="\n")
    column 'cost' is read as text: its numbers look like 16.092,04
    column 'cost' holds 'k.A.', which looks like a code for a missing value
    column 'v' holds -9, which looks like a code for a missing value
    >>> ambiguities.format.missing, ambiguities.format.decimal, ambiguities.format.thousands
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
        suspects = _codes_for_none(values)
        if isinstance(format, Csv) and pa.types.is_string(values.type):
            marked = _marks_of(values)
            if marked is not None:
                notes.append(f"column {name!r} is read as text: its numbers look like {marked[0]}")
                marks |= marked[1]
                numbers.append(name)
        if suspects:
            examples = " and ".join(repr(each) for each in suspects[:_FEW])
            what = "look like codes" if len(suspects) > 1 else "looks like a code"
            notes.append(f"column {name!r} holds {examples}, which {what} for a missing value")
            codes |= dict.fromkeys(map(str, suspects))
    notes += _ordinary_elsewhere(table, [code for code in codes if code.lstrip("-").isdigit()])
    if not isinstance(format, Csv) or not (marks or codes):
        return Ambiguities(tuple(notes), None)
    if "," in marks.values() and format.separator == ",":
        marks["separator"] = ";"
    missing = tuple(dict.fromkeys([*format.missing, *codes]))
    return Ambiguities(tuple(notes), dataclasses.replace(format, missing=missing, **marks), tuple(numbers))


def _marks_of(values: pa.Array) -> tuple[str, dict[str, str]] | None:
    """Return the marks of a column of numbers and codes for missing values; None if it holds other texts."""
    none = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(values)), pa.array(["", *_NO_ANSWER]))
    texts = values.filter(pc.invert(none))
    if not len(texts) or not pc.any(pc.match_substring_regex(texts, "[.,]")).as_py():
        return None
    for pattern, marks in MARKS.items():
        if pc.all(pc.match_substring_regex(texts, pattern)).as_py():
            return marks
    return None


def _codes_for_none(values: pa.Array) -> list[Any]:
    if pa.types.is_string(values.type):
        none = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(values)), pa.array(sorted(_NO_ANSWER)))
        texts: list[Any] = sorted(values.filter(none).to_pylist())
        return texts
    return _numbers_for_none(values) if pa.types.is_integer(values.type) else []


def _numbers_for_none(values: pa.Array) -> list[int]:
    """Return codes such as -9 and 999 that lie apart from all other numbers of the column."""
    limits = np.iinfo(values.type.to_pandas_dtype())
    candidates = [each for each in _NUMBERS_FOR_NONE if limits.min <= each <= limits.max]
    codes = pc.is_in(values, pa.array(candidates, values.type))
    others = values.filter(pc.invert(codes))
    if not len(others):
        return []
    least, most = pc.min(others).as_py(), pc.max(others).as_py()
    return [
        each
        for each in sorted(values.filter(codes).to_pylist())
        if (each < 0 <= least) or (each > 0 and each >= 3 * most)
    ]


def _ordinary_elsewhere(table: pa.Table, codes: list[str]) -> Iterator[str]:
    """Yield a note for each column in which the code of another column is an ordinary number."""
    for name in table.column_names:
        if not pa.types.is_integer(table.schema.field(name).type):
            continue
        values = pc.unique(table[name]).drop_null()
        numbers = set(values.to_pylist()) - set(_numbers_for_none(values))
        there = [code for code in codes if int(code) in numbers]
        if there:
            yield f"column {name!r} holds {' and '.join(there)} too, and would then have missing values there"
