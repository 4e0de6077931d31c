"""What an engine answers, as Arrow. Ibis takes detours here that lose types or no longer work."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv

from veil.engines.dialects import mssql as sqlserver
from veil.engines.dialects import mysql
from veil.errors import InputError

if TYPE_CHECKING:
    from ibis.expr.types import Table

_ROWS = 1 << 16
_LONGEST = 1 << 25
"""Bytes of a row that are read from PostgreSQL."""


def batches(backend: Any, expression: Table, rows: int = _ROWS) -> pa.RecordBatchReader:
    """Return the rows of an expression as a stream of batches, in the engine's own types.

    >>> import ibis
    >>> batches(ibis.duckdb.connect(), ibis.memtable({"age": [30, None]})).read_all().num_rows
    2
    """
    if backend.name == "duckdb":
        # Ibis 12 asks a cursor for what only relations have since DuckDB 2.
        return backend._to_duckdb_relation(expression).fetch_record_batch(rows)
    if backend.name == "pyspark":
        # By way of pandas, as Ibis does it, integers with a missing value would become floats.
        table = spark_frame(backend, expression).toArrow()
        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=rows))
    if backend.name == "mysql":
        return mysql.batches(backend, expression, rows)
    if backend.name == "sqlite":
        schema = expression.schema().to_pyarrow()
        return pa.RecordBatchReader.from_batches(schema, _of_sqlite(backend, expression, schema, rows))
    if backend.name == "mssql":
        return sqlserver.batches(backend, expression, rows)
    if backend.name == "postgres":
        schema = expression.schema().to_pyarrow()
        return pa.RecordBatchReader.from_batches(schema, _of_postgres(backend, expression, schema, rows))
    return backend.to_pyarrow_batches(expression, chunk_size=rows)


def collect(backend: Any, expression: Table) -> pa.Table:
    """Return all rows of an expression that is known to have few."""
    return batches(backend, expression).read_all()


def spark_frame(backend: Any, expression: Table) -> Any:
    """Return an expression as a DataFrame of the session that holds its tables."""
    backend._run_pre_execute_hooks(expression)
    return backend._session.sql(backend.compile(expression))


def _of_postgres(backend: Any, expression: Table, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
    """Read by COPY, three times as fast as through Python objects, of which the driver would hold all at once."""
    plain = all(map(_plain_in_csv, schema.types))
    names = [name for name, kind in expression.schema().items() if kind.is_decimal() and kind.scale is None]
    try:
        if plain:
            yield from _copied(backend, expression, schema)
        else:
            yield from backend.to_pyarrow_batches(expression, chunk_size=rows)
    except pa.ArrowInvalid as error:
        if "straddl" in str(error):
            raise InputError(
                f"a row is longer than {_LONGEST >> 20} MB. Leave the column with such a long text out, or make a view that "
                "shortens it"
            ) from None
        if not names:
            raise
        # PostgreSQL's ``numeric`` has any number of places, and Ibis takes it for one with nine.
        raise InputError(
            f"{'column' if len(names) == 1 else 'one of the columns'} {', '.join(map(repr, names))} of type numeric holds "
            f"a number with more than nine decimals, or none at all ({error}). Make a view that tells how many there "
            f'are: CAST("{names[0]}" AS numeric(38, 15)), or that makes it text: CAST("{names[0]}" AS text)'
        ) from None


def _plain_in_csv(kind: pa.DataType) -> bool:
    is_a = pa.types
    plain = is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_string(kind) or is_a.is_boolean(kind)
    return bool(plain or is_a.is_decimal(kind) or is_a.is_date(kind) or is_a.is_timestamp(kind))


def _copied(backend: Any, expression: Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    backend._run_pre_execute_hooks(expression)
    query = f"COPY ({backend.compile(expression)}) TO STDOUT (FORMAT csv)"
    with backend.con.transaction(), backend.con.cursor() as cursor:
        cursor.execute("SET LOCAL datestyle = ISO")
        cursor.execute("SET LOCAL timezone = UTC")
        with cursor.copy(query) as found:
            file = io.BufferedReader(_Pieces(found), 1 << 20)
            if not file.peek(1):
                return  # no rows, which Arrow takes for a mistake
            yield from csv.open_csv(
                file,
                read_options=csv.ReadOptions(column_names=schema.names, block_size=_LONGEST),
                parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
                convert_options=csv.ConvertOptions(
                    column_types=schema,
                    null_values=[""],
                    true_values=["t"],
                    false_values=["f"],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )


class _Pieces(io.RawIOBase):
    """The pieces that a driver hands over, as a file."""

    def __init__(self, pieces: Iterable[Any]) -> None:
        self.pieces, self.rest = iter(pieces), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self.rest:
            piece = next(self.pieces, None)
            if piece is None:
                return 0
            self.rest = memoryview(piece)
        size = min(len(into), len(self.rest))
        into[:size], self.rest = self.rest[:size], self.rest[size:]
        return size


def _of_sqlite(backend: Any, expression: Table, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
    backend._run_pre_execute_hooks(expression)
    cursor = backend.con.execute(backend.compile(expression))
    while found := cursor.fetchmany(rows):
        columns = zip(*found, strict=True)
        arrays = [_sqlite_array(values, field) for values, field in zip(columns, schema, strict=True)]
        yield pa.record_batch(arrays, schema=schema)


def _sqlite_array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    """SQLite keeps dates as text, truth as numbers, and in any column anything that somebody put there."""
    kind = field.type
    try:
        if pa.types.is_boolean(kind):
            return pa.array([None if value is None else bool(value) for value in values], kind)
        if pa.types.is_temporal(kind):
            return pa.array(values, pa.string()).cast(kind)
        if pa.types.is_decimal(kind):
            return pa.array([None if value is None else Decimal(str(value)) for value in values], kind)
        return pa.array(values, kind)
    except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
        raise InputError(
            f"column {field.name!r} is declared as {kind} and holds something else. Correct it, or make a view "
            f'that casts it: CAST("{field.name}" AS TEXT)'
        ) from None
