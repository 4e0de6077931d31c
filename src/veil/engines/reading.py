"""What an engine answers, as Arrow. Ibis takes detours here that lose types or no longer work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from veil.engines import mysql
from veil.errors import InputError

if TYPE_CHECKING:
    from ibis.expr.types import Table

_ROWS = 1 << 16


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
    if any(kind.is_decimal() and kind.scale is None for kind in expression.schema().types):
        schema = expression.schema().to_pyarrow()
        return pa.RecordBatchReader.from_batches(schema, _of_unbounded(backend, expression, rows))
    return backend.to_pyarrow_batches(expression, chunk_size=rows)


def collect(backend: Any, expression: Table) -> pa.Table:
    """Return all rows of an expression that is known to have few."""
    return batches(backend, expression).read_all()


def spark_frame(backend: Any, expression: Table) -> Any:
    """Return an expression as a DataFrame of the session that holds its tables."""
    backend._run_pre_execute_hooks(expression)
    return backend._session.sql(backend.compile(expression))


def _of_unbounded(backend: Any, expression: Table, rows: int) -> Iterator[pa.RecordBatch]:
    """PostgreSQL's ``numeric`` has any number of places, and Ibis takes it for one with nine."""
    try:
        yield from backend.to_pyarrow_batches(expression, chunk_size=rows)
    except pa.ArrowInvalid as error:
        names = [
            name for name, kind in expression.schema().items() if kind.is_decimal() and kind.scale is None
        ]
        raise InputError(
            f"{'column' if len(names) == 1 else 'one of the columns'} {', '.join(map(repr, names))} of type numeric holds "
            f"a number with more than nine decimals, or none at all ({error}). Make a view that tells how many there "
            f'are: CAST("{names[0]}" AS numeric(38, 15)), or that makes it text: CAST("{names[0]}" AS text)'
        ) from None


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
