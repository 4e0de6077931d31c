"""Differences of SQL Server, which only stores rows (see `veil.engines.copy`).

Ibis sends a missing Boolean as false, pyodbc cuts off the seventh digit of times, and a connection without
autocommit counts transactions twice. No test has a server; the statements follow Microsoft's reference.
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.engines.dialects.base import ROWS, Dialect, register
from veil.engines.dialects.quoting import quote_name, quote_text
from veil.engines.dialects.values import fetch_batches, parse_times
from veil.errors import InputError, MissingDependencyError, OutputError

if TYPE_CHECKING:
    import ibis

_DIGITS = 6
"""Decimals of a second in Python and DuckDB."""

_INTEGERS = {
    "int8": "SMALLINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT",
    "uint8": "TINYINT", "uint16": "INT", "uint32": "BIGINT", "uint64": "DECIMAL(20, 0)",
}  # fmt: skip


@register
class SQLServer(Dialect):
    """A database of Microsoft's SQL Server."""

    name = "mssql"
    schemes = ("mssql", "sqlserver")
    extra = "mssql"
    drivers = frozenset({"pyodbc"})
    timeout = "timeout"
    identity = "SELECT @@SERVERNAME, DB_NAME()"

    @classmethod
    def log_in(cls, arguments: dict[str, Any]) -> Any:
        """Open a connection whose transactions begin and end by statements only."""
        driver, options = cls.driver(), {}
        if "driver" not in arguments:
            options["driver"] = odbc_driver(importlib.import_module("pyodbc").drivers())
        return driver.connect(**{"autocommit": True, **options, **arguments})

    @classmethod
    def explain(cls, message: str) -> str | None:
        if "can't open lib" in message or "data source name not found" in message:
            return (
                "there is no ODBC driver of this name. Install it (on Debian: apt install tdsodbc), or name another in "
                "the URL: ?driver=FreeTDS"
            )
        return super().explain(message)

    def batches(self, expression: ibis.Table, rows: int = ROWS) -> pa.RecordBatchReader:
        """Return the rows, times in microseconds."""
        schema = pa.schema([(name, _arrow_type(name, kind)) for name, kind in expression.schema().items()])
        return pa.RecordBatchReader.from_batches(schema, self._fetch(expression, schema, rows))

    def _fetch(self, expression: ibis.Table, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        cursor = self.backend.con.cursor()
        try:
            cursor.execute(self.backend.compile(sendable(expression)))
            yield from fetch_batches(cursor, schema, rows, array_of, misfit)
        finally:
            cursor.close()

    def differing(self) -> Any:
        import ibis

        return ibis.uuid()  # rows can be numbered only in a given order

    def run(self, statement: str) -> None:
        """Run a statement and read all its messages, as an error may follow the first."""
        cursor = self.backend.con.cursor()
        try:
            cursor.execute(statement)
            while cursor.nextset():
                pass
        finally:
            cursor.close()

    def lock(self, name: str) -> tuple[str, str]:
        mark = f"veil-{hashlib.sha256(name.encode()).hexdigest()[:40]}"
        resource = f"@Resource = N{quote_text(mark)}, @LockOwner = N'Session'"
        return (
            _call_with_answer(f"sp_getapplock {resource}, @LockMode = N'Exclusive', @LockTimeout = 0"),
            _call_with_answer(f"sp_releaseapplock {resource}"),
        )

    def has(self, kind: Any) -> bool:
        return True  # `definitions` spells them

    def create(self, table: str, kinds: ibis.Schema, schema: str | None = None) -> None:
        self.run(f"CREATE TABLE {self.quote(schema, table)} ({definitions(kinds)})")

    def rename(self, old: str, new: str, schema: str | None) -> str:
        return f"EXEC sp_rename N{quote_text(self.quote(schema, old))}, N{quote_text(new)}"


def odbc_driver(installed: Sequence[str]) -> str:
    """Choose the ODBC driver: Microsoft's newest, or FreeTDS.

    >>> odbc_driver(["FreeTDS", "ODBC Driver 17 for SQL Server", "ODBC Driver 18 for SQL Server"])
    'ODBC Driver 18 for SQL Server'
    """
    versions = {name: re.fullmatch(r"ODBC Driver (\d+) for SQL Server", name) for name in installed}
    ours = {name: int(match[1]) for name, match in versions.items() if match}
    if ours:
        return max(ours, key=ours.__getitem__)
    if "FreeTDS" in installed:
        return "FreeTDS"
    raise MissingDependencyError(
        "no ODBC driver for SQL Server is installed. On Debian: apt install tdsodbc; or install Microsoft's, or name "
        "another one in the URL: mssql://...?driver=NAME"
    )


def sendable(expression: ibis.Table) -> ibis.Table:
    """Return Booleans as numbers, and times as text if the driver would cut off digits or the zone."""
    return expression.select(**{name: _sendable_column(expression[name]) for name in expression.columns})


def _sendable_column(column: Any) -> Any:
    kind = column.type()
    if kind.is_boolean():
        return column.cast("int8")
    return column.cast("string") if _is_text(kind) else column


def _is_text(kind: Any) -> bool:
    # CAST spells these as 2024-01-31 23:59:59.1234567, but not `datetime`, which has three digits.
    return kind.is_time() or (
        kind.is_timestamp() and (kind.timezone is not None or (kind.scale or 0) > _DIGITS)
    )


def _arrow_type(name: str, kind: Any) -> pa.DataType:
    if kind.is_time():
        return pa.time64("us")
    if kind.is_timestamp():
        return pa.timestamp("us", None if kind.timezone is None else "UTC")
    try:
        return kind.to_pyarrow()
    except Exception:
        raise InputError(
            f"column {name!r} has type {kind}, which cannot be read. Leave it out of the table, or make a view that "
            f"casts it: CAST({quote_name('tsql', name)} AS NVARCHAR(MAX))"
        ) from None


def array_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return the fetched values of a column as Arrow."""
    if pa.types.is_temporal(kind) and any(isinstance(value, str) for value in values):
        return _parse_times(pa.array(values, pa.string()), kind)
    return pa.array(values, kind)


def misfit(field: pa.Field, error: Exception) -> str:
    """Explain that a value of a column is none of its type."""
    return (
        f"column {field.name!r} should hold values of type {field.type}, and one cannot be read as such ({error}). Make a view "
        f"that casts it, for example: CAST({quote_name('tsql', field.name)} AS "
        f"{'DATETIME2(6)' if pa.types.is_timestamp(field.type) else 'NVARCHAR(MAX)'})"
    )


def _parse_times(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Parse times; a seventh digit other than zero is an error, as microseconds cannot hold it."""
    texts = pc.replace_substring_regex(texts, r"(\.\d{6})0+", r"\1")
    if pa.types.is_time(kind):
        return parse_times(texts, kind)
    return pc.replace_substring_regex(texts, r" ([+-]\d\d:\d\d)$", r"\1").cast(kind)


def definitions(kinds: ibis.Schema) -> str:
    """Return the columns of a new table: full Unicode, compared by code points, and times with all digits."""
    return ", ".join(
        f"{quote_name('tsql', name)} {_definition(name, kind)} NULL" for name, kind in kinds.items()
    )


def _definition(name: str, kind: Any) -> str:
    if kind.is_integer():
        return _INTEGERS[str(kind.copy(nullable=True))]
    if kind.is_decimal():
        return f"DECIMAL({kind.precision or 38}, {9 if kind.scale is None else kind.scale})"
    if kind.is_floating():
        return "FLOAT(53)" if kind.is_float64() else "REAL"
    if kind.is_timestamp():
        return f"{'DATETIME2' if kind.timezone is None else 'DATETIMEOFFSET'}({_DIGITS})"
    types = {
        "is_string": "NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2", "is_boolean": "BIT", "is_date": "DATE",
        "is_time": f"TIME({_DIGITS})", "is_binary": "VARBINARY(MAX)", "is_uuid": "UNIQUEIDENTIFIER",
    }  # fmt: skip
    for test, sql in types.items():
        if getattr(kind, test)():
            return sql
    raise OutputError(
        f"column {name!r} has type {kind}, which SQL Server does not have. Turn it into text or a number, or drop it"
    )


def _call_with_answer(call: str) -> str:
    return f"SET NOCOUNT ON; DECLARE @answer INT; EXEC @answer = {call}; SELECT CASE WHEN @answer >= 0 THEN 1 ELSE 0 END"
