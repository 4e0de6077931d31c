"""Rows from one engine to another, as Arrow batches: never more than a few of them in memory."""

from __future__ import annotations

import io
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.engines.settings import Settings
from veil.tables.csv.writer import write_csv
from veil.tables.formats import Csv
from veil.tables.text import canonical_text

# PostgreSQL takes an unquoted empty field for null, as Veil does; and a lone \. for the end of the data.
_POSTGRES_CSV = Csv(separator=",", header=False, missing=("", "\\."))
_PLACEHOLDERS = {"sqlite": "?", "mssql": "?", "mysql": "%s"}


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
