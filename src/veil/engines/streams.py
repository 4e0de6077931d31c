"""Rows from one engine to another, as Arrow batches: never more than a few of them in memory."""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv

from veil.engines.reading import batches
from veil.engines.settings import Settings
from veil.tables.csv.writer import write_csv
from veil.tables.formats import Csv
from veil.tables.text import canonical_text

if TYPE_CHECKING:
    import ibis.expr.types as ir

_BATCH = 1 << 16
# PostgreSQL takes an unquoted empty field for null, as Veil does; and a lone \. for the end of the data.
_POSTGRES_CSV = Csv(separator=",", header=False, missing=("", "\\."))
_PLACEHOLDERS = {"sqlite": "?", "mssql": "?", "mysql": "%s"}


def batches_of(backend: Any, table: ir.Table) -> pa.RecordBatchReader:
    """Return the rows of an expression as a stream."""
    if backend.name == "duckdb":  # Ibis 12 asks DuckDB 2 for a stream by a method that it no longer has
        backend._run_pre_execute_hooks(table)
        return backend.con.execute(backend.compile(table)).to_arrow_reader(_BATCH)
    if backend.name == "postgres" and all(map(_plain_in_csv, table.schema().to_pyarrow().types)):
        return _copied(backend, table)
    return batches(backend, table, _BATCH)


def _plain_in_csv(kind: pa.DataType) -> bool:
    is_a = pa.types
    plain = is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_string(kind) or is_a.is_boolean(kind)
    return bool(plain or is_a.is_date(kind) or (is_a.is_timestamp(kind) and kind.tz is None))


def _copied(backend: Any, table: ir.Table) -> pa.RecordBatchReader:
    """Return rows of PostgreSQL by COPY, three times as fast as through Python objects."""
    schema = table.schema().to_pyarrow()
    backend._run_pre_execute_hooks(table)
    query = f"COPY ({backend.compile(table)}) TO STDOUT (FORMAT csv)"

    def batches() -> Iterator[pa.RecordBatch]:
        with backend.con.transaction(), backend.con.cursor() as cursor:
            cursor.execute("SET LOCAL datestyle = ISO")
            with cursor.copy(query) as rows:
                yield from csv.open_csv(
                    io.BufferedReader(_Pieces(rows), 1 << 20),
                    read_options=csv.ReadOptions(column_names=schema.names, block_size=1 << 22),
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

    return pa.RecordBatchReader.from_batches(schema, batches())


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


def database_file(backend: Any) -> Path | None:
    """Return the file of an open DuckDB or SQLite database, if it has one."""
    query = {
        "duckdb": "SELECT path FROM duckdb_databases() WHERE database_name = current_database()",
        "sqlite": "SELECT file FROM pragma_database_list WHERE name = 'main'",
    }.get(backend.name)
    if query is None:
        return None
    ((path,),) = backend.raw_sql(query).fetchall()
    return Path(path) if path else None


def own_duckdb() -> Any:
    """Return a DuckDB of our own, for files."""
    import ibis

    backend = ibis.duckdb.connect()
    Settings().apply(backend)
    return backend


def load(backend: Any, table: str, columns: Sequence[str], rows: pa.RecordBatchReader) -> None:
    """Insert a stream into a table; `table` and `columns` are quoted as the engine wants them."""
    into = f"{table} ({', '.join(columns)})"
    if backend.name == "duckdb":
        view = f"veil_{secrets.token_hex(8)}"
        backend.con.register(view, rows)
        try:
            backend.raw_sql(f"INSERT INTO {into} SELECT * FROM {view}")
        finally:
            backend.con.unregister(view)
    elif backend.name == "postgres":
        with backend.con.cursor() as cursor, cursor.copy(f"COPY {into} FROM STDIN (FORMAT csv)") as copy:
            for batch in rows:
                text = io.BytesIO()
                write_csv(pa.Table.from_batches([batch]), text, _POSTGRES_CSV)
                copy.write(text.getbuffer())
    else:
        marks = ", ".join([_PLACEHOLDERS.get(backend.name, "?")] * len(columns))
        cursor = backend.con.cursor()
        for batch in rows:
            values = [_plain(column) for column in batch.columns]
            cursor.executemany(f"INSERT INTO {into} VALUES ({marks})", list(zip(*values, strict=True)))
        cursor.close()


def _plain(column: pa.Array) -> list[Any]:
    """Return values that every driver takes: numbers, text, and text for the rest."""
    kind = column.type
    is_a = pa.types
    if is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_string(kind) or is_a.is_binary(kind):
        return list(column.to_pylist())
    if pa.types.is_boolean(kind):
        return list(column.cast(pa.int8()).to_pylist())
    return list(canonical_text(column))
