"""The types that columns of files have in memory.

DuckDB reads the text of CSV files and folder names as text. The type of a column follows from all its cells
by Veil's own rules, in one pass over the columns that may be numbers, dates or Booleans, so that a file is
the same table to either reader. Parquet files declare their types; DuckDB must be able to hold them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.compute as pc

from veil.engines.dialects import collect, dialect_of
from veil.engines.kinds import duckdb_kind, is_zoned, memory_kind
from veil.errors import InputError, Say
from veil.tables.csv.types import convert, infer
from veil.tables.formats import Csv

if TYPE_CHECKING:
    from ibis.expr.types import Table

_TYPED = r"^([-+0-9.,:eE' TZ/]*|[Tt]rue|TRUE|[Ff]alse|FALSE)$"
"""Matches every number, date and Boolean; a cell that does not match is certainly text."""

_BATCH = 1 << 18
_FEW = 1000
_IN_MEMORY = Say("engine", "memory")


def text_types(
    table: Table, names: Sequence[str], format: Csv, head: pa.Table | None
) -> tuple[dict[str, pa.DataType], Csv]:
    """Return the types that columns of text have in memory, and the format with the separator of timestamps.

    Columns with a word in the `head` are text, and not read any further.
    """
    columns = {
        name: _Column(name, format)
        for name in names
        if head is None or name in format.types or not _has_word(head[name])
    }
    if columns:
        backend = table._find_backend(use_default=True)
        for batch in dialect_of(backend).batches(table.select(list(columns)), _BATCH):
            for name, column in columns.items():
                column.read(pa.chunked_array([batch[name].cast(pa.string())]))
    result = dict.fromkeys(names, pa.string())
    for name, column in columns.items():
        kind = column.kind()
        if kind is None:  # rare: batches of numbers that have one type only together
            cells = collect(backend, table.select(name).distinct())[name].cast(pa.string())
            kind = _typed(cells, name, format).type
        if pa.types.is_timestamp(kind):
            separator: Literal["T", " "] = " " if column.separators == {" "} else "T"
            if format.time_separator is None:
                format = dataclasses.replace(format, time_separator=separator)
            elif name not in format.types and separator != format.time_separator:
                kind = pa.string()  # as all timestamps of a file are written alike
        _check_digits(name, kind)
        result[name] = kind
    return result, format


def _check_digits(name: str, kind: pa.DataType) -> None:
    if is_zoned(kind) and kind.unit == "ns":
        raise InputError(
            f"column {name!r} holds times with a zone in nanoseconds, which DuckDB does not keep. Say ",
            Say("format", "Csv", types={name: "string"}),
            " to keep them as text, or use ",
            _IN_MEMORY,
        )


class _Column:
    """The types found so far in a column of text."""

    def __init__(self, name: str, format: Csv) -> None:
        self.name, self.format = name, format
        self.kinds: set[pa.DataType] = set()
        self.separators: set[str] = set()
        self.first = pa.chunked_array([], pa.string())
        self.empty = self.missing = self.text = False

    def read(self, cells: pa.ChunkedArray) -> None:
        """Read a batch, together with some cells of the first; empty texts are considered at the end."""
        if self.text:
            return
        is_empty = pc.equal(cells, "")
        self.missing = self.missing or cells.null_count > 0
        self.empty = self.empty or bool(pc.any(is_empty).as_py())
        values = cells.filter(pc.fill_null(pc.invert(is_empty), False))
        self.text = self.name not in self.format.types and (self._tells_empty_apart() or _has_word(values))
        if self.text or not len(values):
            return
        kind = _typed(pa.chunked_array([*self.first.chunks, *values.chunks]), self.name, self.format).type
        self.kinds.add(kind)
        self.first = self.first if len(self.first) else values.slice(0, _FEW)
        if pa.types.is_timestamp(kind):
            self.separators.add(values[0].as_py()[10:11])

    def kind(self) -> pa.DataType | None:
        """Return the type; None if it does not follow from those of the batches."""
        if self.name in self.format.types and not self.kinds:
            return _typed(self.first, self.name, self.format).type
        if self.text or not self.kinds:
            return pa.string()
        if len(self.kinds) == 1 and self.kinds != {pa.string()}:
            return next(iter(self.kinds))
        return None

    def _tells_empty_apart(self) -> bool:
        return self.empty and (self.missing or "" not in self.format.missing)


def _typed(cells: pa.ChunkedArray, name: str, format: Csv) -> pa.ChunkedArray:
    if name not in format.types:
        return infer(cells, format)
    try:
        return convert(cells, format.types[name], name, format)
    except InputError as error:
        # Row numbers within a batch are not those of the file.
        raise InputError(re.sub(", row [0-9]+:", ":", str(error), count=1)) from None


def _has_word(cells: pa.ChunkedArray) -> bool:
    return bool(pc.any(pc.invert(pc.match_substring_regex(cells, _TYPED))).as_py())


def parquet_types(
    files: Sequence[Path], *, over_neighbours: bool = False
) -> tuple[dict[str, pa.DataType], frozenset[str]]:
    """Return the types that columns of Parquet files have in memory, and which are dictionary-encoded.

    Refuse types that DuckDB does not hold exactly. Over neighbours, no value is looked at to find out: types
    of which it might not hold one are refused.
    """
    import pyarrow.parquet as pq

    schema = pq.read_schema(files[0])
    for file in files[1:]:
        other = pq.read_schema(file)
        for field in schema:
            if is_zoned(field.type) and other.field(field.name).type.tz != field.type.tz:
                raise InputError(
                    f"{file}: column {field.name!r} has times of {other.field(field.name).type.tz}, but in {files[0]} "
                    f"they are of {field.type.tz}. Write the files with one zone, or give those that have"
                )
    for field in schema:
        fits = _is_exact(field.type)
        if fits and over_neighbours:
            fits = not _may_be_inexact(field.type)
        elif fits and is_zoned(field.type) and field.type.unit == "ns":
            fits = all(_in_microseconds(each, field.name) for each in files)
        if not fits:
            raise InputError(
                f"{files[0]}: column {field.name!r} has type {field.type}, whose values DuckDB does not keep as they "
                "are. Write the files without it or in another type, or read a single file with ",
                _IN_MEMORY,
            )
    categories = frozenset(field.name for field in schema if pa.types.is_dictionary(field.type))
    return {field.name: memory_kind(field.type) for field in schema}, categories


def _may_be_inexact(kind: pa.DataType) -> bool:
    """Whether there are values of a type of a Parquet file that DuckDB, which reads times in microseconds, changes.

    Of nanoseconds with a zone it cuts digits. One time in milliseconds that is beyond its range is an error of
    the whole file, even of a query that does not read the column.
    """
    if pa.types.is_nested(kind):
        return any(_may_be_inexact(kind.field(number).type) for number in range(kind.num_fields))
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_timestamp(kind) and (
        kind.unit in ("s", "ms") or (is_zoned(kind) and kind.unit == "ns")
    )


def _is_exact(kind: pa.DataType) -> bool:
    """Whether DuckDB holds values of a type of a Parquet file, also those inside of lists and records."""
    if pa.types.is_nested(kind):
        return all(_is_exact(kind.field(number).type) for number in range(kind.num_fields))
    return kind == pa.uuid() or duckdb_kind(kind) is not None


def _in_microseconds(file: Path, name: str) -> bool:
    """Whether times in nanoseconds are multiples of microseconds, so that DuckDB does not cut them."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as parquet:
        for batch in parquet.iter_batches(columns=[name]):
            times = batch.column(0)
            if not times.cast(pa.timestamp("us", times.type.tz), safe=False).cast(times.type).equals(times):
                return False
    return True
