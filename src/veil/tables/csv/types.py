"""Types for the columns of a CSV file, chosen so that nothing is lost.

A column is typed only if its values, spelled again (`veil.tables.csv.text`), give the text of the file:
``02139``, ``+5``, ``1e5`` and ``True`` stay text, and ``1.50`` becomes an exact decimal with two places. With
one exception: numbers with differing numbers of places (``1.5``, ``2.25``, ``39.0``) become floats, or
decimals where a float would not be exact; written again, they may differ in trailing zeros, never in value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import InputError
from veil.tables.csv.text import spell
from veil.tables.formats import Csv, TypeName

_INTEGER = r"^(?:0|-?[1-9][0-9]{0,18})$"
_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$"
_SCIENTIFIC = r"^-?[0-9](?:\.[0-9]+)?e[+-][0-9]+$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z?$"
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}
_MAX_DIGITS = 38  # of a 128-bit decimal
_NUMERIC = ("integer", "decimal", "float")
_HEAD = 1000  # rows that rule most types out before the whole column is read


def infer(text: pa.ChunkedArray, format: Csv) -> pa.ChunkedArray:
    """Return the column with the type of its texts, or as it is.

    >>> import pyarrow as pa
    >>> infer(pa.chunked_array([["1", None, "39"]]), Csv()).type
    DataType(int64)
    >>> infer(pa.chunked_array([["01", None, "39"]]), Csv()).type
    DataType(string)
    """
    values = text
    if pc.any(pc.equal(text, "")).as_py():
        if text.null_count or "" not in format.missing:
            return text  # empty texts differ from missing values, so they are values
        values = _without_empty(text)
    if values.null_count == len(values):
        return text
    values = _ungrouped(values, format)
    for attempt in (_integers, _numbers, _dates, _timestamps, _booleans):
        typed = attempt(values, format)
        if typed is not None:
            return typed
    return text


def convert(text: pa.ChunkedArray, type: TypeName, column: str, format: Csv) -> pa.ChunkedArray:
    """Return the column with a type; a value that does not fit raises an `InputError`."""
    if type == "string":
        return text
    values = _ungrouped(_without_empty(text), format) if type in _NUMERIC else _without_empty(text)
    if type in ("decimal", "float") and format.decimal == ",":
        values = pc.replace_substring(values, ",", ".")
    cast = _CASTS[type]
    try:
        return cast(values)
    except pa.ArrowInvalid:
        row = _first_misfit(values, cast)
        raise InputError(
            f"column {column!r}, row {row + 1}: {text[row].as_py()!r} is not of type {type}. Correct it, "
            f'list it in `missing`, or say types={{{column!r}: "string"}}'
        ) from None


def _ungrouped(values: pa.ChunkedArray, format: Csv) -> pa.ChunkedArray:
    """Remove the separator of thousands from a column if it occurs only in numbers with whole groups."""
    if format.thousands is None:
        return values
    mark, point = re.escape(format.thousands), re.escape(format.decimal)
    grouped = rf"^-?[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+(?:{point}[0-9]+)?$"
    plain = rf"^[^{mark}]*$"
    return (
        pc.replace_substring(values, format.thousands, "") if _all(values, f"{grouped}|{plain}") else values
    )


def _integers(values: pa.ChunkedArray, format: Csv) -> pa.ChunkedArray | None:
    return _cast(values, pa.int64()) if _all(values, _INTEGER) else None


def _numbers(values: pa.ChunkedArray, format: Csv) -> pa.ChunkedArray | None:
    if format.decimal == ",":
        if pc.any(pc.match_substring(values, ".")).as_py():
            return None
        values = pc.replace_substring(values, ",", ".")
    if not _all(values, _NUMBER):
        return _scientific(values)
    if not pc.any(pc.match_substring(values, ".")).as_py():
        return None  # integers that are too long or begin with zero: identifiers
    least, most, digits = _places(values)
    if least == most and digits <= _MAX_DIGITS:
        exact = _cast(values, pa.decimal128(_MAX_DIGITS, most))
        return exact if exact is not None and spell(exact, "").equals(values) else None
    bare = _without_trailing_zeros(values)
    floats = _cast(values, pa.float64())
    if floats is not None and spell(floats, "").equals(bare):
        return floats
    if digits > _MAX_DIGITS:
        return None
    exact = _cast(values, pa.decimal128(_MAX_DIGITS, most))
    return exact if exact is not None and _without_trailing_zeros(spell(exact, "")).equals(bare) else None


def _scientific(values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return floats as programs write them: plain numbers with a point, tiny and huge ones like 1.5e-07."""
    if not _all(values, f"{_NUMBER}|{_SCIENTIFIC}"):
        return None
    small = pc.match_substring_regex(values, _SCIENTIFIC)
    plain = values.filter(pc.invert(small))
    if not pc.any(pc.match_substring(plain, ".")).as_py():
        return None
    for text in values.filter(small).to_pylist():
        value = float(text)
        if text not in (repr(value), pa.scalar(value).cast(pa.string()).as_py()):
            return None
    floats = _cast(plain, pa.float64())
    if floats is None or not spell(floats, "").equals(_without_trailing_zeros(plain)):
        return None
    return _cast(values, pa.float64())


def _dates(values: pa.ChunkedArray, format: Csv) -> pa.ChunkedArray | None:
    return _cast(values, pa.date32()) if _all(values, _DATE) else None


def _timestamps(values: pa.ChunkedArray, format: Csv) -> pa.ChunkedArray | None:
    if not _all(values, _TIMESTAMP):
        return None
    first = values.drop_null()[0].as_py()
    separator = format.time_separator or first[10]
    unit = _UNITS.get(len(first.removesuffix("Z").partition(".")[2]))
    if unit is None:
        return None
    typed = _cast(values, pa.timestamp(unit, "UTC" if first.endswith("Z") else None))
    return typed if typed is not None and spell(typed, "", time_separator=separator).equals(values) else None


def _booleans(values: pa.ChunkedArray, format: Csv) -> pa.ChunkedArray | None:
    return pc.equal(values, "true") if _all(values, "^(?:true|false)$") else None


def _all(values: pa.ChunkedArray, pattern: str) -> bool:
    """Whether all values that are not missing match."""
    for part in (values.slice(0, _HEAD), values):
        if not pc.all(pc.match_substring_regex(part, pattern), min_count=0).as_py():
            return False
    return True


def _cast(values: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray | None:
    try:
        return values.cast(type)
    except pa.ArrowInvalid:
        return None


def _places(values: pa.ChunkedArray) -> tuple[int, int, int]:
    """Return the least and the greatest number of decimal places, and the digits needed for all values."""
    length = pc.utf8_length(values)
    point = pc.find_substring(values, ".")
    has_point = pc.greater_equal(point, 0)
    places = pc.if_else(has_point, pc.subtract(length, pc.add(point, 1)), 0)
    whole = pc.if_else(has_point, point, length)
    spread = pc.min_max(places).as_py()
    return spread["min"], spread["max"], pc.max(whole).as_py() + spread["max"]


def _without_trailing_zeros(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring_regex(values, r"(\.[0-9]*[1-9])0+$|\.0+$", r"\1")


def _without_empty(text: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _as_decimal(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if not _all(values, r"^[+-]?[0-9]+(?:\.[0-9]+)?$"):
        raise pa.ArrowInvalid("not a plain decimal number")
    most = _places(values)[1] if values.null_count < len(values) else 0
    return values.cast(pa.decimal128(_MAX_DIGITS, min(most, _MAX_DIGITS)))


def _as_timestamp(values: pa.ChunkedArray) -> pa.ChunkedArray:
    zoned = pc.match_substring_regex(values, r"(?:Z|[+-][0-9]{2}:?[0-9]{2})$")
    return values.cast(pa.timestamp("us", "UTC" if pc.any(zoned).as_py() else None))


def _first_misfit(values: pa.ChunkedArray, cast: Callable[[pa.ChunkedArray], Any]) -> int:
    """Return the first row whose value cannot be cast, by bisection."""
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            cast(values.slice(low, middle - low))
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


_CASTS: dict[str, Callable[[pa.ChunkedArray], pa.ChunkedArray]] = {
    "integer": lambda values: values.cast(pa.int64()),
    "decimal": _as_decimal,
    "float": lambda values: values.cast(pa.float64()),
    "date": lambda values: values.cast(pa.date32()),
    "timestamp": _as_timestamp,
    "boolean": lambda values: values.cast(pa.bool_()),
}
