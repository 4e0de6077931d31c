"""Differences of SQLite: dates are texts, Booleans are numbers, and any column may hold anything."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from veil.engines.dialects.base import ROWS, register
from veil.engines.dialects.connections import typed_table
from veil.engines.dialects.in_file import InFile
from veil.engines.dialects.spans import Chunk
from veil.engines.dialects.values import fetch_batches
from veil.engines.settings import Settings

if TYPE_CHECKING:
    import ibis

_PIECE = 500_000  # SQLite returns a result as Python objects, all at once


@register
class SQLite(InFile):
    """SQLite, in a file."""

    name = "sqlite"
    schemes = ("sqlite",)
    extra = "sqlite"
    drivers = frozenset({"sqlite3"})
    path_query = "SELECT file FROM pragma_database_list WHERE name = 'main'"
    divide = "/"
    has_schemas = False
    copying = "if asked"
    transaction = "BEGIN IMMEDIATE"
    views_query = "SELECT NULL, name FROM sqlite_master WHERE type = 'view'"

    @classmethod
    def open_file(cls, file: Path, settings: Settings) -> Any:
        """Open an existing file after a check that it is a database; else Ibis leaves a connection open."""
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA schema_version")
        return super().open_file(file, settings)

    def batches(self, expression: ibis.Table, rows: int = ROWS) -> pa.RecordBatchReader:
        schema = expression.schema().to_pyarrow()
        return pa.RecordBatchReader.from_batches(schema, self._fetch(expression, schema, rows))

    def _fetch(self, expression: ibis.Table, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        self.backend._run_pre_execute_hooks(expression)
        cursor = self.backend.con.execute(self.backend.compile(expression))
        yield from fetch_batches(cursor, schema, rows, _array, _misfit)

    def cell_by_cell(self, table: ibis.Table) -> ibis.Table:
        """Return all columns as texts, as they may hold values of any type; Booleans as true and false.

        Bytes that are not UTF-8 become U+FFFD, as Python would refuse the whole column.
        """
        import ibis

        self.backend.con.create_function("veil_text", 1, _text, deterministic=True)
        as_text = ibis.udf.scalar.builtin(_veil_text, name="veil_text")
        cells = {}
        for name, kind in table.schema().items():
            column = table[name]
            text = as_text(column.cast("string").cast("binary"))
            if kind.is_boolean():
                text = ibis.cases((text == "0", "false"), (text == "1", "true"), else_=text)
            cells[name] = ibis.cases((column.typeof() == "blob", ibis.null("string")), else_=text)
        return table.select(**cells)

    def comparable(self, column: Any) -> Any:
        kind = column.type()
        if kind.is_temporal() or kind.is_decimal():
            return column.cast("string")
        return self.as_released(column)

    def as_released(self, column: Any) -> Any:
        """Return bytes and numbers in a column of text as text, and any number but 0 as true."""
        if column.type().is_string():
            return column + ""  # which has no collation, either
        if column.type().is_boolean():
            return column.cast("int64") != 0
        return super().as_released(column)

    def digest(self, text: Any) -> Any:
        import ibis

        self.backend.con.create_function("veil_sha256", 1, _sha256, deterministic=True)
        return ibis.udf.scalar.builtin(_veil_sha256, name="veil_sha256")(text)

    def pieces(self, table: ibis.Table, rows: int) -> list[Chunk] | None:
        return super().pieces(table, min(rows, _PIECE))

    def create(self, table: str, kinds: ibis.Schema, schema: str | None = None) -> None:
        """Create a table within the current transaction, which Ibis would end."""
        columns = [
            f"{self.quote(name)} {self.backend.compiler.type_mapper.to_string(kind)}"
            for name, kind in kinds.items()
        ]
        self.run(f"CREATE TABLE {self.quote(schema, table)} ({', '.join(columns)})")

    def table(self, name: str, kinds: ibis.Schema, schema: str | None = None) -> ibis.Table:
        """Return a table with the types it was created with, without a query that ends the transaction."""
        return typed_table(self.backend, name, kinds, schema)

    def remove_for_good(self) -> None:
        self.run("PRAGMA secure_delete = ON")

    def has(self, kind: Any) -> bool:
        return not kind.is_decimal() and super().has(kind)  # Ibis would make it a float


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.string()).cast(kind)
    if pa.types.is_decimal(kind):
        return pa.array([None if value is None else Decimal(str(value)) for value in values], kind)
    return pa.array(values, kind)


def _misfit(field: pa.Field, error: Exception) -> str:
    return (
        f"column {field.name!r} is declared as {field.type} and holds something else. Correct it, or make a view "
        f'that casts it: CAST("{field.name}" AS TEXT)'
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _veil_sha256(text: str) -> str: ...  # type: ignore[empty-body]  # Ibis learns its types from this


def _text(cell: bytes | None) -> str | None:
    return None if cell is None else cell.decode("utf-8", "replace")


def _veil_text(cell: bytes) -> str: ...  # type: ignore[empty-body]
