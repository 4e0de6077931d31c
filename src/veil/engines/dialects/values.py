"""Conversion of values between drivers and Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import InputError
from veil.tables.text import canonical_text


def fetch_batches(
    cursor: Any,
    schema: pa.Schema,
    rows: int,
    array_of: Callable[[Sequence[Any], pa.DataType], pa.Array],
    misfit: Callable[[pa.Field, Exception], str],
) -> Iterator[pa.RecordBatch]:
    """Return the rows of a cursor in batches; `array_of` makes an Arrow column of a driver's values.

    `misfit` explains that a column holds other values than those of its type.
    """
    while records := cursor.fetchmany(rows):
        arrays = []
        for values, field in zip(zip(*records, strict=True), schema, strict=True):
            is_truth = pa.types.is_boolean(field.type)
            try:
                arrays.append((truths if is_truth else array_of)(values, field.type))
            except (pa.ArrowException, ArithmeticError, TypeError, ValueError) as error:
                raise InputError(misfit(field, error)) from None
        yield pa.record_batch(arrays, schema=schema)


def truths(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return numbers as Booleans."""
    return pa.array([None if value is None else bool(value) for value in values], kind)


def parse_texts(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Parse values that are stored as text; times with a zone are written in UTC."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return texts.cast(pa.timestamp(kind.unit)).cast(kind)
    return parse_times(texts, kind) if pa.types.is_time(kind) else texts.cast(kind)


def parse_times(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Parse times of day, which Arrow cannot."""
    return pc.binary_join_element_wise("1970-01-01", texts, " ").cast(pa.timestamp("us")).cast(kind)


def plain(column: pa.Array) -> list[Any]:
    """Return values that every driver takes: numbers, texts, bytes, and text for the rest."""
    kind = column.type
    is_a = pa.types
    if is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_string(kind) or is_a.is_binary(kind):
        return list(column.to_pylist())
    if is_a.is_boolean(kind):
        return list(column.cast(pa.int8()).to_pylist())
    return list(canonical_text(column))
