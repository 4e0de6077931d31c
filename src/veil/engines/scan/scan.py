"""The way in which the rows of a relation are read: files by a DuckDB of our own, or what an engine stores."""

from __future__ import annotations

import dataclasses
import os
import re
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from veil.engines.dialects import Dialect
from veil.engines.dialects.spans import Chunk, Span, between, gather_spans
from veil.engines.kinds import cast_in_duckdb
from veil.tables.cells import POINT, Marks
from veil.tables.formats import Csv, Format, Parquet
from veil.tables.source import RowsOrTypes

if TYPE_CHECKING:
    from ibis.backends import BaseBackend
    from ibis.expr.types import Table

_CSV_BYTES_A_ROW = 50


@dataclass(frozen=True)
class EngineRows:
    """Rows that an engine stores: it reads no files, and has the types."""

    files: ClassVar[tuple[str, ...]] = ()
    format: ClassVar[None] = None
    marks: ClassVar[Marks] = POINT
    texts: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[Mapping[str, pa.DataType]] = {}
    categories: ClassVar[frozenset[str]] = frozenset()
    state: ClassVar[None] = None
    inputs: ClassVar[tuple[tuple[Path, Format, RowsOrTypes], ...]] = ()
    examples: ClassVar[tuple[pa.Table, ...]] = ()

    def without_categories(self, names: Collection[str]) -> EngineRows:
        """Return the same: an engine has no categories."""
        return self

    def cell_by_cell(self, table: Table, dialect: Dialect) -> tuple[EngineRows, Table]:
        """Return the table with cells that every reader can hold."""
        return self, dialect.cell_by_cell(table)

    def chunks(self, table: Table, dialect: Dialect, rows: int) -> list[Chunk]:
        """Cut the table by storage location; a view or a query is one piece."""
        pieces = dialect.pieces(table, rows)
        return [Chunk("everything", None, table)] if pieces is None else pieces

    def fingerprint(self, table: Table, dialect: Dialect) -> str | None:
        """Describe the state of the rows and their locations; None if a change could go unnoticed."""
        return dialect.fingerprint(table)


@dataclass(frozen=True)
class Scan:
    """The files to read, and the way to read them.

    DuckDB reads the columns `texts` as text; `kinds` are the types of columns in memory, and `categories` the
    columns that are dictionary-encoded there.
    """

    files: tuple[str, ...]
    format: Csv | Parquet
    options: dict[str, Any]
    texts: tuple[str, ...] = ()
    kinds: dict[str, pa.DataType] = field(default_factory=dict)
    categories: frozenset[str] = frozenset()

    @property
    def marks(self) -> Marks:
        """The marks of numbers in texts."""
        return Marks(self.format.decimal, self.format.thousands) if isinstance(self.format, Csv) else POINT

    @property
    def state(self) -> str:
        """Name, size and time of change of each file."""
        return " ".join(map(_file_state, self.files))

    @property
    def inputs(self) -> tuple[tuple[Path, Format, RowsOrTypes], ...]:
        """The files with their formats, and the types of columns by which to read them."""
        kinds = {name: self.kinds.get(name, pa.string()) for name in self.options.get("columns", ())}
        return tuple((Path(file), self.format, kinds) for file in self.files)

    @property
    def examples(self) -> tuple[pa.Table, ...]:
        """An empty table with the types that a Parquet file declares, if there is one."""
        import pyarrow.parquet as pq

        return (pq.read_schema(self.files[0]).empty_table(),) if isinstance(self.format, Parquet) else ()

    def without_categories(self, names: Collection[str]) -> Scan:
        """Return the scan with some columns as plain text."""
        return dataclasses.replace(self, categories=self.categories.difference(names))

    def cell_by_cell(self, table: Table, dialect: Dialect) -> tuple[Scan, Table]:
        """Return the rows with texts unchanged, and the scan that reads them so."""
        kinds = {name: kind for name, kind in self.kinds.items() if name not in self.texts}
        scan = dataclasses.replace(self, kinds=kinds)
        return scan, scan.open(dialect.backend)

    def open(
        self, backend: BaseBackend, *, files: Sequence[str] | None = None, row_numbers: bool = False
    ) -> Table:
        """Return the rows of all or some files; ``file_row_number`` is a further column of Parquet files."""
        options = {**self.options, **({"file_row_number": True} if row_numbers else {})}
        reader = "read_csv" if isinstance(self.format, Csv) else "read_parquet"
        arguments = [_sql([_exactly(file) for file in files or self.files])]
        arguments += [f"{name} = {_sql(value)}" for name, value in options.items()]
        view = f"veil_{secrets.token_hex(8)}"
        casts = [
            f"{self._cast(each)} AS {_name(each)}"
            for each, kind in self.kinds.items()
            if self._is_cast(each, kind)
        ]
        selection = f"* REPLACE ({', '.join(casts)})" if casts else "*"
        backend.raw_sql(
            f"CREATE TEMPORARY VIEW {view} AS SELECT {selection} FROM {reader}({', '.join(arguments)})"
        )
        return backend.table(view)

    def _is_cast(self, name: str, kind: pa.DataType) -> bool:
        # Columns of Parquet files that are text in memory may be something else there: null, or UUIDs.
        return bool(pa.types.is_string(kind)) != (name in self.texts)

    def _cast(self, name: str) -> str:
        if name not in self.texts:
            return f"CAST({_name(name)} AS VARCHAR)"
        decimal = self.format.decimal if isinstance(self.format, Csv) else "."
        return cast_in_duckdb(_name(name), self.kinds[name], decimal)

    def chunks(self, table: Table, dialect: Dialect, rows: int) -> list[Chunk]:
        """Return small files in groups, and ranges of row numbers of a large Parquet file."""
        return list(self._chunks(table, dialect.backend, rows))

    def _chunks(self, table: Table, backend: BaseBackend, rows: int) -> Iterator[Chunk]:
        is_csv = isinstance(self.format, Csv)
        for group in gather_spans([Span(name, self._rows_of(name)) for name in self.files], rows):
            names = [span.start for span in group]
            total = sum(span.rows for span in group)
            if is_csv or total <= rows or "file_row_number" in table.columns:
                label = names[0] if len(names) == 1 else f"{len(names)} files from {names[0]} to {names[-1]}"
                yield Chunk(label, None if is_csv else total, self.open(backend, files=names))
                continue
            numbered = self.open(backend, files=names, row_numbers=True)
            for start in range(0, total, rows):
                stop = min(start + rows, total)
                some = between(numbered, numbered.file_row_number, start, stop).drop("file_row_number")
                yield Chunk(f"{names[0]}, rows {start} to {stop}", stop - start, some)

    def _rows_of(self, name: str) -> int:
        """Return the number of rows in the metadata of a Parquet file, or a guess from the size of a CSV file."""
        if isinstance(self.format, Csv):
            return os.path.getsize(name) // _CSV_BYTES_A_ROW
        import pyarrow.parquet as pq

        return int(pq.read_metadata(name).num_rows)

    def fingerprint(self, table: Table, dialect: Dialect) -> str:
        """Return the state of the files."""
        return self.state


def _file_state(name: str) -> str:
    state = os.stat(name)
    return f"{name} {state.st_ino} {state.st_size} {state.st_mtime_ns}"


def _exactly(path: str) -> str:
    """Escape wildcards of DuckDB in a path."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _sql(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(map(_sql, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_sql(name)}: {_sql(each)}" for name, each in value.items()) + "}"
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
