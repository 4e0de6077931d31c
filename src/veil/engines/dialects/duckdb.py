"""Differences of DuckDB, which also does for Veil what other engines cannot."""

from __future__ import annotations

import contextlib
import datetime as dt
import secrets
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from veil.engines.dialects.base import ROWS, as_plain_text, register
from veil.engines.dialects.in_file import InFile
from veil.engines.settings import Settings

if TYPE_CHECKING:
    import ibis

_COLLATING = (
    "SELECT current_setting('default_collation') <> '' "
    "OR EXISTS (SELECT 1 FROM duckdb_tables() WHERE sql ILIKE '%collate%') "
    "OR EXISTS (SELECT 1 FROM duckdb_views() WHERE NOT internal AND sql ILIKE '%collate%')"
)
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"
_FREE = "SELECT free_blocks, block_size FROM pragma_database_size() WHERE database_name = current_database()"
_FILLING = "veil_filling"


@register
class DuckDB(InFile):
    """DuckDB, in memory or in a file."""

    name = "duckdb"
    schemes = ("duckdb",)
    extra = "engines"
    drivers = frozenset({"duckdb", "_duckdb"})
    path_query = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
    divide = "//"
    copying = "never"
    views_query = "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
    counts_by_number = True  # in our own memory, and columns are read one by one

    @classmethod
    def open_file(cls, file: Path, settings: Settings) -> Any:
        try:
            backend = cls.driver().connect(file)
        except Exception:
            # Open for reading elsewhere, or in a read-only place: reading is enough here.
            backend = cls.driver().connect(file, read_only=True)
        settings.apply(backend)
        return backend

    # DuckDB 2 lacks the methods by which Ibis 12 asks for these lists.

    def schemas(self) -> list[str]:
        return [name for (name,) in self.rows("SELECT DISTINCT schema_name FROM information_schema.schemata")]

    def tables(self, schema: str | None = None) -> list[str]:
        schema = (self.backend.current_database if schema is None else schema).replace("'", "''")
        query = f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'"
        return [name for (name,) in self.rows(query)]

    def batches(self, expression: ibis.Table, rows: int = ROWS) -> pa.RecordBatchReader:
        # Since DuckDB 2, only relations have what Ibis 12 asks a cursor for.
        return self.backend._to_duckdb_relation(expression).fetch_record_batch(rows)

    def stop(self) -> None:
        """Interrupt the threads, which go on after Ctrl-C while everything else waits for them."""
        self.backend.con.interrupt()

    def exact(self, text: Any) -> Any:
        import ibis

        return ibis.udf.scalar.builtin(_encode, name="encode")(text)

    def collated(self, table: ibis.Table, texts: Sequence[str]) -> set[str]:
        is_collated = "collate" in self.backend.compile(table.select(texts)).lower()
        return set(texts) if is_collated or self.backend.raw_sql(_COLLATING).fetchone()[0] else set()

    def moment(self, value: dt.date, kind: Any) -> Any:
        # Compared with microseconds, times in seconds or milliseconds far from now would be an error.
        import ibis

        return ibis.literal(value.isoformat()).cast(kind)

    def as_released(self, column: Any) -> Any:
        return as_plain_text(column) if column.type().is_string() else super().as_released(column)

    def differing(self) -> Any:
        import ibis

        return ibis.uuid()  # drawn by all threads, while one thread numbers rows

    def checkpoint(self) -> None:
        # Writing may make DuckDB remove deleted rows, and renumber the others; better now than later.
        with contextlib.suppress(Exception):
            self.backend.raw_sql("CHECKPOINT")

    def fingerprint(self, table: ibis.Table) -> str | None:
        """Return a hash over all values and row ids."""
        name = self.name_with_row_ids(table)
        if name is None:
            return None
        columns = ", ".join(self.quote(column) for column in table.columns)
        (state,) = self.rows(f"SELECT count(*), bit_xor(hash(rowid, {columns})) FROM {name}")
        return " ".join(map(str, state))

    def load(self, table: str, columns: Sequence[str], rows: pa.RecordBatchReader) -> None:
        view = f"veil_{secrets.token_hex(8)}"
        for batch in rows:  # not the whole stream: a thread of DuckDB would read it, which SQLite refuses
            self.backend.con.register(view, pa.Table.from_batches([batch]))
            try:
                self.backend.raw_sql(f"INSERT INTO {table} ({', '.join(columns)}) SELECT * FROM {view}")
            finally:
                self.backend.con.unregister(view)

    def wipe(self, tables: Collection[str]) -> None:
        """Fill the free blocks with random numbers, in a table that is dropped again.

        A database that holds anything else is no release to hand out, and may have very many free blocks.
        """
        if self.file() is None:
            return
        self.run(f"DROP TABLE IF EXISTS {_FILLING}")
        names = {name for (name,) in self.rows(_TABLES)}
        self.checkpoint()
        ((free, size),) = self.rows(_FREE)
        if not free or not names <= set(tables):
            return
        self.run(f"CREATE TABLE {_FILLING} AS SELECT hash(uuid()) AS n FROM range({(free + 1) * size // 8})")
        self.checkpoint()
        self.run(f"DROP TABLE {_FILLING}")
        self.checkpoint()

    def write_parquet(self, rows: ibis.Table, place: Path, name: str, most: int | None = None) -> list[Path]:
        if most is not None:
            return super().write_parquet(rows, place, name, most)
        self.backend.to_parquet(rows, place, compression="zstd")
        return [place]

    def read_parquet(self, folder: Path, files: Sequence[Path]) -> ibis.Table:
        return self.backend.read_parquet([str(file) for file in files], hive_partitioning=False)


def _encode(text: str) -> bytes: ...  # type: ignore[empty-body]  # of DuckDB; Ibis learns its types from this
