"""A released table from a file, with the types that were certified.

A CSV file is text, in which "1.0" may have been a number or a text; a workbook knows neither decimals nor
empty texts, and takes midnights for days; Parquet has no seconds. The certificate records the kind of each
column, and columns are converted back to it without loss before content and promises are checked.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.report.certificate.digest import column_digest, kind_of
from veil.tables import Csv, Excel
from veil.tables.columns import encode_values
from veil.tables.source import Source
from veil.tables.text import canonical_text


def as_certified(source: Source, columns: list[dict[str, Any]]) -> Source:
    """Return a source whose columns have the certified kinds of values."""
    certified = {each["name"]: each for each in columns if each.get("kind") is not None}
    table = source.table
    there = [name for name in table.column_names if name in certified]
    if source.weights is not None or len(set(table.column_names)) < table.num_columns:
        return source
    texts = _texts(source, [name for name in there if certified[name]["kind"] == "text"])
    for name in there:
        column = _fitting(source, texts.get(name, table[name]), name, certified[name])
        table = table.set_column(table.column_names.index(name), name, column)
    return dataclasses.replace(source, table=table)


def _texts(source: Source, names: list[str]) -> Mapping[str, pa.ChunkedArray]:
    """Return columns as text that were certified as text and read as another kind."""
    if all(kind_of(source.table[name].type) == "text" for name in names):
        return {}
    table = source.as_text()
    return {name: table[name] for name in names if kind_of(table[name].type) == "text"}


def _fitting(
    source: Source, column: pa.ChunkedArray, name: str, certified: Mapping[str, Any]
) -> pa.ChunkedArray:
    """Return the column in the first form with the certified digest, or else in the likeliest form."""
    forms = list(_forms(source, column, certified["kind"]))
    if len(forms) == 1:
        return forms[0]
    return next((each for each in forms if column_digest(each, name) == certified["sha256"]), forms[0])


def _forms(source: Source, column: pa.ChunkedArray, kind: str) -> Iterator[pa.ChunkedArray]:
    """Yield the forms that a column may have had before it was written."""
    plain = column
    if kind_of(column.type) != kind:
        try:
            plain = _as_kind(column, kind, source)
        except (pa.ArrowException, ValueError):
            plain = column
    yield plain
    format = source.format
    if (
        kind == "number"
        and kind_of(plain.type) == "text"
        and isinstance(format, Csv)
        and format.decimal == "."
    ):
        # Recipients need not know the decimal mark of the file: the digest decides.
        try:
            yield _numbers(
                column.cast(pa.string()),
                dataclasses.replace(format, separator=";", decimal=",", thousands=None),
            )
        except (pa.ArrowException, ValueError):
            return
    tells_empty = not isinstance(format, Excel) and not (isinstance(format, Csv) and format.quote is None)
    if kind == "text" and plain.null_count and not tells_empty and kind_of(plain.type) == "text":
        yield plain.fill_null("")  # the format does not distinguish empty from missing texts


def _as_kind(column: pa.ChunkedArray, kind: str, source: Source) -> pa.ChunkedArray:
    if pa.types.is_null(column.type) or column.null_count == len(column):
        return column
    if kind == "text":
        values, codes = encode_values(column)
        return pa.chunked_array([pa.array(canonical_text(values), pa.string()).take(pa.array(codes))])
    if kind_of(column.type) != "text":
        return column
    column = column.cast(pa.string())
    if kind == "number":
        return _numbers(column, source.format)
    if kind == "truth":
        all_truths = pc.all(pc.is_in(column.drop_null(), pa.array(["true", "false"])))
        return pc.equal(column, "true") if all_truths.as_py() else column
    if kind in ("time", "instant"):
        fine = pc.any(pc.match_substring_regex(column, r"\.[0-9]{7}")).as_py()
        return column.cast(pa.timestamp("ns" if fine else "us", "UTC" if kind == "instant" else None))
    if kind == "clock":  # Arrow does not parse these
        times = [None if each is None else dt.time.fromisoformat(each) for each in column.to_pylist()]
        return pa.chunked_array([pa.array(times, pa.time64("us"))])
    return column


def _numbers(column: pa.ChunkedArray, format: Any) -> pa.ChunkedArray:
    if isinstance(format, Csv) and format.decimal == ",":
        column = pc.replace_substring(column, ",", ".")
    for kind in (pa.int64(), pa.float64()):
        numbers = _cast(column, kind)
        # Where a float cannot hold all digits, the text is read as a decimal.
        if numbers is not None and (kind != pa.float64() or _fits_float(column)):
            return numbers
    places = pc.max(pc.subtract(pc.utf8_length(column), pc.find_substring(column, "."))).as_py()
    return column.cast(pa.decimal128(38, max(0, places - 1)))


def _fits_float(column: pa.ChunkedArray) -> bool:
    longest = pc.max(pc.utf8_length(pc.replace_substring_regex(column, r"e.*$|[^0-9]", ""))).as_py()
    return bool(longest <= 17)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return None
