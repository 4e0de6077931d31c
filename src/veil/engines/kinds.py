"""The meaning of a value, the same in memory and on every engine (for users: `docs/engines.md`).

A column has the type that it has in memory, and its values have the text of `veil.tables.text`:

- A time with a zone is an instant, shown in the zone of its type. Types of databases have none, independently
  of the session or the machine: those are shown in UTC.
- Hours and days of an instant are those of clocks in that zone, also on the days on which they change; bounds
  of hierarchies are times on these clocks.
- Categories are their values, and categories again where they are unchanged.
- NULL and NaN are missing values, and -0.0 is 0.0. An empty text is a value; in a column of numbers, dates or
  Booleans of a CSV file it is a missing one.
- Decimals, integers of any width, dates and times keep every digit. A type of which an engine would lose some
  is refused by its name; values are never rounded.
"""

from __future__ import annotations

import pyarrow as pa

from veil.tables.arrow import normalize

_UNITS = {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}


def memory_kind(kind: pa.DataType) -> pa.DataType:
    """Return the type of plain values in memory: that of the values, for categories.

    >>> memory_kind(pa.dictionary(pa.int32(), pa.large_string()))
    DataType(string)
    """
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return normalize(pa.table({"": pa.nulls(0, kind)})).schema[0].type


def shown_kind(kind: pa.DataType) -> pa.DataType:
    """Return the type that values of a database are shown in: instants in UTC.

    >>> shown_kind(pa.timestamp("us", "Europe/Vienna"))
    TimestampType(timestamp[us, tz=UTC])
    """
    return pa.timestamp(kind.unit, "UTC") if is_zoned(kind) else kind


def restored(kind: pa.DataType, memory: pa.DataType) -> pa.DataType:
    """Return the type in memory of values that DuckDB holds; labels and means have types of their own.

    >>> restored(pa.timestamp("us"), pa.timestamp("ms")), restored(pa.float64(), pa.int64())
    (TimestampType(timestamp[ms]), DataType(double))
    """
    return memory if kind == duckdb_kind(memory) else kind


def is_zoned(kind: pa.DataType) -> bool:
    """Whether values are instants."""
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


def duckdb_kind(kind: pa.DataType) -> pa.DataType | None:
    """Return the type in which DuckDB holds values of a type; None if it would change some of them.

    Times in nanoseconds with a zone, and times of day, lose digits there; a copy has to check the values.

    >>> duckdb_kind(pa.timestamp("ms", "Europe/Vienna")), duckdb_kind(pa.decimal256(60, 2))
    (TimestampType(timestamp[us, tz=UTC]), None)
    """
    is_a = pa.types
    if isinstance(kind, pa.BaseExtensionType) and is_a.is_string(kind.storage_type):  # such as JSON
        kind = kind.storage_type
    if is_a.is_dictionary(kind):
        kind = kind.value_type
    if is_a.is_null(kind):
        return pa.string()
    if is_a.is_float16(kind):
        return pa.float32()
    if is_a.is_date(kind):
        return pa.date32()
    if is_a.is_time(kind):
        return pa.time64("us")
    if is_zoned(kind):
        return pa.timestamp("us", "UTC")
    if is_a.is_timestamp(kind):
        return kind if kind.unit == "ns" else pa.timestamp("us")
    if is_a.is_decimal(kind):
        fits = kind.precision <= 38 and kind.scale >= 0
        return pa.decimal128(kind.precision, kind.scale) if fits else None
    plain = is_a.is_boolean(kind) or is_a.is_integer(kind) or is_a.is_floating(kind)
    texts = (is_a.is_string, is_a.is_large_string, is_a.is_string_view)
    if is_a.is_fixed_size_binary(kind):
        return pa.binary()
    data = (is_a.is_binary, is_a.is_large_binary, is_a.is_binary_view)
    return kind if plain or any(test(kind) for test in (*texts, *data)) else None


def cast_in_duckdb(column: str, kind: pa.DataType, decimal: str = ".") -> str:
    """Return the SQL that makes values of a type out of the text of a file, each of which is valid."""
    if pa.types.is_string(kind):
        return column
    text = f"NULLIF({column}, '')"
    if decimal != "." and (pa.types.is_decimal(kind) or pa.types.is_floating(kind)):
        text = f"replace({text}, '{decimal}', '.')"
    return f"CAST({text} AS {_sql_type(kind)})"


def _sql_type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return _UNITS[kind.unit] if kind.tz is None else "TIMESTAMPTZ"
    names = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.date32(): "DATE", pa.bool_(): "BOOLEAN"}
    return names[kind]
