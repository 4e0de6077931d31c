"""What MySQL and MariaDB want done differently.

Their collations take texts for equal that differ in case, accents or blanks at the end; dates may be no dates at all
(``0000-00-00``); joins without an index compare every pair of rows; and what Ibis fetches, it fetches as floats and all
at once.
"""

from __future__ import annotations

import importlib
import secrets
import warnings
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.engines.dialects.quoting import quoted
from veil.errors import InputError

if TYPE_CHECKING:
    import ibis

_INDEXED = 255
"""Bytes of a text that an index holds; rows with the same beginning are compared in full."""


_LONGEST = 65536
"""Letters of a text that are looked at; longer ones are refused."""


def connected(driver: Any, arguments: dict[str, Any]) -> Any:
    """Open a connection that speaks all of Unicode, and whose clock is UTC."""
    with warnings.catch_warnings():
        # Ibis asks for the time zone by a name that servers without a table of zones do not know.
        warnings.filterwarnings("ignore", message="Unable to set session timezone")
        backend = driver.connect(**{"charset": "utf8mb4", **arguments})
    backend.raw_sql("SET time_zone = '+00:00'").close()
    return backend


def exact(column: Any) -> Any:
    """The bytes of a text, which have no collation; of dates and times, those of how they are written."""
    import ibis

    known = {"hex": _hex, "unhex": _unhex}
    call = {name: ibis.udf.scalar.builtin(each, name=name) for name, each in known.items()}
    # A cast gives the character set of the connection to texts that are stored in another one; to the same type, Ibis
    # would leave it out. Of texts without any bound, MariaDB's UNHEX makes nothing at all.
    return call["unhex"](call["hex"](column.cast("!string").left(_LONGEST)))


def check_lengths(backend: Any, name: str, values: pa.Array) -> None:
    """Refuse texts that the server does not compare in full when it groups rows."""
    ((compared,),) = backend.raw_sql("SELECT @@max_sort_length").fetchall()
    compared = min(int(compared), _LONGEST)
    longest = pc.max(pc.binary_length(values)).as_py() or 0
    if longest >= compared:
        raise InputError(
            f"column {name!r} holds a text of {longest} bytes or more, and the server compares only the first {compared}. "
            f"Leave the column out of the plan, or let the server compare more: SET GLOBAL max_sort_length = {_LONGEST}"
        )


def handed(backend: Any, table: pa.Table, keys: Sequence[str]) -> ibis.Table:
    """Hand a small table over: a temporary one, with an index for joins, which is gone with the session."""
    import ibis

    from veil.engines.dialects.load import load

    schema = ibis.schema(table.schema)
    name = f"veil_{secrets.token_hex(8)}"
    indexed = ", ".join(
        f"{quoted('mysql', each)}({_INDEXED})" if schema[each].is_binary() else quoted("mysql", each)
        for each in keys
    )
    backend.raw_sql(f"CREATE TEMPORARY TABLE {name} ({definitions(schema)}, INDEX ({indexed}))").close()
    load(backend, name, [quoted("mysql", each) for each in schema.names], table.to_reader())
    return table_of(backend, name, schema)


def kept(backend: Any, rows: ibis.Table) -> ibis.Table:
    """Store rows for this session, every column as it is."""
    name = f"veil_{secrets.token_hex(8)}"
    backend.raw_sql(f"CREATE TEMPORARY TABLE {name} {backend.compile(rows)}").close()
    return table_of(backend, name, rows.schema())


def table_of(backend: Any, name: str, schema: ibis.Schema, database: str | None = None) -> ibis.Table:
    """Return a table with the types that it was made for: a truth value is a small number in MySQL."""
    import ibis.expr.operations as operations

    place = operations.Namespace(database=database)
    return operations.DatabaseTable(name, schema=schema, source=backend, namespace=place).to_expr()


def definitions(schema: ibis.Schema) -> str:
    """Columns for a new table: text of all of Unicode that is told apart, and times with all their digits."""
    return ", ".join(f"{quoted('mysql', name)} {_definition(kind)}" for name, kind in schema.items())


def _definition(kind: Any) -> str:
    from ibis.backends.sql.datatypes import MySQLType

    if kind.is_string():
        return "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL"
    if kind.is_binary():
        return "LONGBLOB NULL"
    if kind.is_timestamp():
        return "DATETIME(6) NULL" if kind.timezone is None else "TIMESTAMP(6) NULL"
    if kind.is_decimal() and kind.scale is None:
        return "DECIMAL(38, 9) NULL"  # as Ibis has it in Arrow
    return f"{MySQLType.to_string(kind.copy(nullable=True))} NULL"


def batches(backend: Any, expression: ibis.Table, rows: int) -> pa.RecordBatchReader:
    """Return the rows of an expression as a stream, in the types that Ibis says they have."""
    # Ibis thinks of times in nanoseconds, which MySQL has not, and not every reader of files knows.
    fields = [
        field.with_type(pa.time64("us")) if pa.types.is_time(field.type) else field
        for field in expression.schema().to_pyarrow()
    ]
    schema = pa.schema(fields)
    return pa.RecordBatchReader.from_batches(schema, _fetched(backend, expression, schema, rows))


def _fetched(backend: Any, expression: ibis.Table, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
    if backend.con.character_set_name() != "utf8mb4":
        raise InputError(
            f"the connection to MySQL speaks {backend.con.character_set_name()}, which not every text can be written in. "
            'Connect with charset="utf8mb4"'
        )
    wanted = expression.select(**{name: _sent(expression[name]) for name in expression.columns})
    backend._run_pre_execute_hooks(wanted)
    cursor = backend.con.cursor(_streaming())
    try:
        cursor.execute(backend.compile(wanted))
        while found := cursor.fetchmany(rows):
            columns = zip(*found, strict=True)
            arrays = [_array(values, field) for values, field in zip(columns, schema, strict=True)]
            yield pa.record_batch(arrays, schema=schema)
    finally:
        cursor.close()


def _streaming() -> Any:
    """The kind of cursor that leaves rows with the server until they are asked for."""
    return importlib.import_module("MySQLdb.cursors").SSCursor


def _sent(column: Any) -> Any:
    """Short floats come rounded, bits as bytes, and dates that are none as missing values; these do not."""
    kind = column.type()
    if kind.is_float32():
        return column.cast("float64")
    if kind.is_signed_integer():
        return column.cast("!int64")
    return column.cast("string") if kind.is_temporal() else column


def _array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    kind = field.type
    try:
        if pa.types.is_boolean(kind):
            return pa.array([None if value is None else bool(value) for value in values], kind)
        if pa.types.is_integer(kind):
            return pa.array([None if value is None else int(value) for value in values], kind)
        if pa.types.is_decimal(kind):
            return pa.array([None if value is None else Decimal(value) for value in values], kind)
        if pa.types.is_temporal(kind):
            return parsed(pa.array(values, pa.string()), kind)
        return pa.array(values, kind)
    except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
        raise InputError(
            f"column {field.name!r} should hold values of type {kind}, and holds something else. Correct it, or make a "
            f"view that casts it: CAST(`{field.name}` AS CHAR) or CAST(`{field.name}` AS SIGNED)"
        ) from None


def parsed(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return dates and times as what they are; those with a time zone are written in UTC."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return texts.cast(pa.timestamp(kind.unit)).cast(kind)
    if pa.types.is_time(kind):  # which Arrow does not read by itself
        return pc.binary_join_element_wise("1970-01-01", texts, " ").cast(pa.timestamp("us")).cast(kind)
    return texts.cast(kind)


# Functions that MySQL brings along; Ibis learns their types from these.


def _hex(text: str) -> str: ...  # type: ignore[empty-body]


def _unhex(text: str) -> bytes: ...  # type: ignore[empty-body]
