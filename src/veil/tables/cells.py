"""Cells as texts, each a function of that cell alone.

If types depend on all cells, one record can change how all others are read: with `n/a` among them, 1.50 is
text, and one missing value turns the integers of a pandas frame into floats. Promises about neighbouring
tables need cells that are read here: each has a text or is missing, none is an error, and none has a type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.errors import VeilError
from veil.tables.arrow import dictionary_encoded, normalize
from veil.tables.formats import Csv, Format
from veil.tables.text import canonical_text

_DECIMAL = re.compile(r"(-?(?:0|[1-9][0-9]*))[.]([0-9]+)")
_LONG = re.compile(r"(-?)([1-9])(?:[.]([0-9]+))?e([+-][0-9]{2,3})")
"""Very large and small numbers, as Python writes them."""
_TRUTHS = ("True", "TRUE", "False", "FALSE")
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.]0+)?(Z?)")
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]{1,4})?|inf(?:inity)?)", re.IGNORECASE
)


@dataclass(frozen=True)
class Marks:
    """How numbers are written in text: the decimal mark, and the separator of thousands."""

    point: str = "."
    thousands: str | None = None

    def read(self, text: str) -> str | None:
        """Return a text with a point as decimal mark; None if it has a point that is not the decimal mark."""
        if self.thousands is not None:
            group, point = re.escape(self.thousands), re.escape(self.point)
            if re.fullmatch(rf"-?[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+(?:{point}[0-9]+)?", text):
                text = text.replace(self.thousands, "")
        return text if self.point == "." else None if "." in text else text.replace(self.point, ".")


POINT = Marks()
"""The marks of numbers outside of text files."""


@dataclass(frozen=True)
class Cells:
    """The cells of a column: their different texts, the numbers in these, and the code of each row."""

    texts: Sequence[str | None]
    """In the form of `plain_form`."""
    numbers: Sequence[str | None]
    """As Python reads numbers; None for other texts."""
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, column: pa.ChunkedArray, format: Format | None = None) -> Cells:
        """Read a column of any type; values without a text are missing.

        >>> [Cells.of(pa.chunked_array([each])).texts for each in (["1.50", "x"], [1.5, None], [True])]
        [['1.5', 'x'], ['1.5', None], ['true']]
        """
        values, codes = dictionary_encoded(column)
        is_text = pa.types.is_string(values.type)
        marks = Marks(format.decimal, format.thousands) if is_text and isinstance(format, Csv) else POINT
        texts = spell_cells(values)
        plain_texts = [None if text is None else plain_form(text, marks) for text in texts]
        return cls(plain_texts, [number_of(text, marks) for text in texts], codes.astype(np.int64))

    def take(self, rows: NDArray[np.int64]) -> Cells:
        """Return some rows."""
        return Cells(self.texts, self.numbers, self.codes[rows])


def spell_cells(values: pa.Array) -> list[str | None]:
    """Spell values as `canonical_text` does; one that it cannot spell is missing.

    >>> spell_cells(pa.array([7.0, None])), spell_cells(pa.array([[1]]))
    (['7', None], [None])
    """
    if not len(values):
        return []
    try:
        return canonical_text(normalize(pa.table({"": values})).column(0))
    except (VeilError, ValueError, OverflowError, pa.ArrowException):
        if len(values) == 1:
            return [None]
        half = len(values) // 2
        return spell_cells(values[:half]) + spell_cells(values[half:])


def spell_object(cell: Any) -> str | None:
    """Spell one Python object as Arrow would if there were no others; None if it has no text.

    >>> [spell_object(each) for each in (7.0, True, 2**70, [1], float("nan"))]
    ['7', 'true', '1180591620717411303424', None, None]
    """
    if isinstance(cell, str):
        return cell.encode("utf-8", "replace").decode()  # lone surrogates are no text
    try:
        whole = isinstance(cell, int) and not isinstance(cell, bool)  # of any size
        array = pa.array([str(cell) if whole else cell], from_pandas=True)
        return canonical_text(normalize(pa.table({"": array})).column(0))[0]
    except (VeilError, pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def plain_form(text: str, marks: Marks = POINT) -> str:
    """Return the canonical form of a number or moment, by its text alone; other texts stay as they are.

    >>> plain_form("1,50", Marks(",")), plain_form("7"), plain_form("2024-01-31 00:00:00"), plain_form("02139.0")
    ('1.5', '7', '2024-01-31', '02139.0')
    >>> plain_form("16.092,04", Marks(",", ".")), plain_form("1.500", Marks(",")), plain_form("1e+16"), plain_form("1e5")
    ('16092.04', '1.500', '10000000000000000', '1e5')
    """
    number = marks.read(text)
    if number is not None and _DECIMAL.fullmatch(number):
        return number.rstrip("0").rstrip(".")
    if number is not None and (long := _LONG.fullmatch(number)):
        return _without_exponent(*long.groups())
    if text in _TRUTHS:
        return text.lower()
    moment = _MOMENT.fullmatch(text)
    if moment is not None:
        day, time, zone = moment.groups()
        return day if time == "00:00:00" and not zone else f"{day}T{time}" + ("+00:00" if zone else "")
    return number if number is not None and number.lstrip("-").isdigit() else text


def number_of(text: str | None, marks: Marks = POINT) -> str | None:
    """Return a text that is a number as Python reads it; None for others.

    >>> [number_of(each) for each in ("34.5", " 7 ", "1e3", "inf", "eighty", "", "1_000", None)]
    ['34.5', '7', '1e3', 'inf', None, None, None, None]
    >>> number_of("1.200", Marks(",")), number_of("1,2", Marks(","))
    (None, '1.2')
    """
    number = None if text is None else marks.read(text.strip())
    return number if number is not None and _NUMBER.fullmatch(number) else None


def _without_exponent(sign: str, first: str, rest: str | None, exponent: str) -> str:
    """Write a number without an exponent.

    >>> _without_exponent("-", "1", "25", "+03"), _without_exponent("", "1", None, "-05")
    ('-1250', '0.00001')
    """
    digits, power = first + (rest or ""), int(exponent)
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    whole, part = digits[: power + 1].ljust(power + 1, "0"), digits[power + 1 :].rstrip("0")
    return f"{sign}{whole}.{part}" if part else f"{sign}{whole}"
