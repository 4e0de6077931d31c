"""A table on an engine: its location, its rows, and results in the form that the table came in."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from veil.base.declare import declared
from veil.base.paths import usable
from veil.engines.database import Database, connect, database_of, open_table
from veil.engines.dialects import Dialect, adopt, collect, dialect_of, new_duckdb
from veil.engines.failures import explain_errors, is_interrupt, stop_queries
from veil.engines.kinds import restored, shown_kind
from veil.engines.scan.files import Files, is_pattern, normalize_column, scan_of, settle_format
from veil.engines.scan.scan import EngineRows, Scan
from veil.engines.settings import Settings, available_memory
from veil.errors import InputError, did_you_mean
from veil.outcome.outcome import Outcome
from veil.tables.arrow import normalize
from veil.tables.cells import Marks
from veil.tables.formats import Csv, Format, Parquet, format_of, is_gzip, is_small_file
from veil.tables.frames import check_names

if TYPE_CHECKING:
    from ibis.backends import BaseBackend
    from ibis.expr.types import Table

Engine = Literal["auto", "memory", "duckdb"]

_GROWTH = 8  # a file in memory, with the room to work on it, takes about this many times its size
_UNPACKED = 4  # times that for a gzip file


@declared
class Handed:
    """A table that a program handed over: it has a name, but cannot be opened again from a recipe."""

    engine: Annotated[str, Field(description="the engine that holds it")]
    table: Annotated[str | None, Field(description="its name there, if it has one")] = None
    kind: Literal["Handed"] = Field(default="Handed", repr=False, kw_only=True)


Location = Database | Files | Handed


@dataclass(frozen=True, eq=False)
class Relation:
    """A table on an engine. Nothing of it is in memory."""

    table: Table = field(repr=False)
    backend: BaseBackend = field(repr=False)
    name: str
    frame: Literal["ibis", "frame", "file", "url"]
    location: Location
    scan: Scan | EngineRows = field(default=EngineRows(), repr=False)
    settings: Settings = field(default=Settings(), repr=False)
    origin: Relation | None = field(default=None, repr=False)
    """The relation that this is a copy of, if the rows were brought over."""

    note: str | None = field(default=None, repr=False)
    """Note for the user about how the rows came here."""

    @property
    def kind(self) -> str:
        """The engine, as Ibis calls it."""
        return str(self.backend.name)

    @property
    def dialect(self) -> Dialect:
        """The dialect of the engine."""
        return dialect_of(self.backend)

    @property
    def original(self) -> Relation:
        """The table in its original place: that of a copy, or itself."""
        return self.origin or self

    @property
    def marks(self) -> Marks:
        """The marks of numbers in texts of files."""
        return self.scan.marks

    def cell_by_cell(self) -> Relation:
        """Return the table with texts of files unchanged: a type that follows from all reveals some."""
        scan, table = self.scan.cell_by_cell(self.table, self.dialect)
        return replace(self, scan=scan, table=table)

    def with_labels(self, outcome: Outcome) -> Relation:
        """Return the table for writing an outcome: columns with labels or markers are text, as in memory."""
        labels = {*outcome.quasi_identifiers, *outcome.roles.identifying}
        return replace(self, scan=self.scan.without_categories(labels))

    def restore(self, expression: Table) -> Any:
        """Return a result in the kind of frame that came in: a Spark DataFrame, or else an Ibis table."""
        return expression if self.frame == "ibis" else self.dialect.restore(expression)

    def batches(self, expression: Table, rows: int = 1 << 16) -> pa.RecordBatchReader:
        """Return the rows of an expression on this engine as a stream of Arrow batches."""
        return self.dialect.batches(expression, rows)

    def fetch(self, expression: Table) -> pa.Table:
        """Return all rows of an expression on this engine, in the types that they have in memory."""
        with self.explain_errors(), self.batches(expression) as batches:
            rows = batches.read_all()
        return normalize(pa.table({name: self.arrow_view(name, rows[name]) for name in rows.column_names}))

    def arrow_view(self, column: str, values: pa.Array) -> pa.Array:
        """Return values of the engine in the type that they have in memory.

        Text stays text: columns of every type may have labels.
        """
        chunked = normalize_column(
            values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
        )
        kinds = self.scan.kinds
        if pa.types.is_string(chunked.type):
            self._check_text(column, chunked)
        elif column in kinds:
            chunked = chunked.cast(restored(chunked.type, kinds[column]))
        elif column in self.original.table.columns and _is_unbounded(self.original.table.schema()[column]):
            chunked = _with_few_places(chunked)
        else:
            chunked = chunked.cast(shown_kind(chunked.type))
        array = chunked.combine_chunks()
        return array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)

    def _check_text(self, column: str, texts: pa.ChunkedArray) -> None:
        if column in self.scan.texts and pc.any(pc.match_substring(texts, "\0")).as_py():
            raise InputError(
                f"{self.name}: column {column!r} holds a NUL byte: the file is damaged, not text, or UTF-16"
            )

    @contextlib.contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn errors of the engine into an `InputError` that names the table, and no password."""
        secrets = self.location.secrets() if isinstance(self.location, Database) else {}
        try:
            with explain_errors(self.name, secrets=secrets):
                yield
        except RuntimeError as error:
            if not is_interrupt(error):
                raise
            stop_queries(self.backend)
            raise KeyboardInterrupt from None


def relation_of(
    source: Any,
    *,
    format: Format | None = None,
    engine: Engine = "auto",
    settings: Settings | None = None,
    may_be_empty: bool = False,
) -> Relation | None:
    """Return the table on an engine, or files for one to read; ``None`` for files best read into memory.

    An engine takes Ibis tables, Spark DataFrames, databases (as URL or `Database`), folders and patterns of
    Parquet or CSV files, and single files too large for the memory of this machine, or all of them with
    ``engine="duckdb"``. ``engine="memory"`` leaves every file to memory. A table without rows is refused,
    unless it `may_be_empty`.
    """
    if (database := database_of(source)) is not None:
        return _of_database(database, settings, may_be_empty)
    if isinstance(source, Files):
        return _of_path(source.path, source.format, engine, settings or Settings(), may_be_empty)
    if isinstance(source, str | os.PathLike):
        return _of_path(os.fspath(source), format, engine, settings or Settings(), may_be_empty)
    if (adopted := adopt(source)) is not None:
        location = Handed(str(adopted.backend.name))
        return _check_relation(Relation(*adopted, "frame", location, settings=settings or Settings()))
    ibis = sys.modules.get("ibis")
    if ibis is not None and isinstance(source, ibis.Table):
        return _of_ibis(source, settings or Settings())
    return None


def check_columns(relation: Relation, names: Iterable[str]) -> None:
    """Refuse columns that are absent, or whose values have no text form and so no hierarchy."""
    schema = relation.table.schema()
    for name in names:
        if name not in schema:
            raise InputError(
                f"{relation.name}: there is no column {name!r}.{did_you_mean(name, schema.names)}"
            )
        kind = schema[name]
        tests = (kind.is_numeric, kind.is_string, kind.is_boolean, kind.is_date, kind.is_timestamp)
        if not any(test() for test in tests) or kind.is_nested():
            raise InputError(
                f"{relation.name}: column {name!r} has type {kind}, which cannot have a hierarchy and has no "
                "text form. Turn it into text, a number or a date first, for example with a view or "
                f"table.mutate({name}="
                f'table.{name}.cast("string")), or leave it out of the plan'
            )


def no_rows(relation: Relation) -> InputError:
    """Return the error for a table without rows."""
    return InputError(f"{relation.name} has no rows. It should hold at least one")


def _is_unbounded(kind: Any) -> bool:
    """Whether a column is PostgreSQL's ``numeric``, whose values have any number of decimals."""
    return bool(kind.is_decimal() and kind.scale is None)


def _with_few_places(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return numbers that came with the many decimals of their engine with as few as hold them exactly."""
    if not pa.types.is_decimal(values.type):
        return values
    for kind in (pa.int64(), *(pa.decimal128(38, places) for places in range(1, values.type.scale))):
        with contextlib.suppress(pa.ArrowInvalid):
            return values.cast(kind)
    return values


def _of_ibis(table: Table, settings: Settings) -> Relation:
    backend = table._find_backend(use_default=True)
    table_name = table.get_name() if hasattr(table.op(), "name") else None
    name = f"table {table_name} of {backend.name}" if table_name else f"an Ibis expression on {backend.name}"
    location = Handed(str(backend.name), table_name)
    return _check_relation(Relation(table, backend, name, "ibis", location, settings=settings))


def _of_database(database: Database, settings: Settings | None, may_be_empty: bool) -> Relation:
    backend = connect(database, settings)
    table = open_table(backend, database)
    relation = _check_relation(
        Relation(table, backend, str(database), "url", database, settings=settings or Settings())
    )
    with relation.explain_errors():
        # This also fails if the rows may not be read.
        counts = collect(backend, table.limit(1).aggregate(rows=lambda one: one.count()))
        if not counts["rows"][0].as_py() and not may_be_empty:
            raise no_rows(relation)
    return relation


def _of_path(
    path: str, format: Format | None, engine: Engine, settings: Settings, may_be_empty: bool
) -> Relation | None:
    if engine == "memory":
        return None
    usable(path)
    if not is_pattern(path) and not os.path.isdir(path) and engine == "auto" and _fits(Path(path), format):
        return None
    scan = scan_of(path, format, over_neighbours=may_be_empty)
    backend = new_duckdb()
    settings.apply(backend)
    with explain_errors(path):
        # A table that may be empty is read for a promise over neighbours: no type may follow from all cells, and
        # no row is read to see whether there is one.
        scan = settle_format(scan, backend, typed=not may_be_empty)
        table = scan.open(backend)
        empty = not may_be_empty and not collect(backend, table.limit(1)).num_rows
    relation = _check_relation(
        Relation(table, backend, path, "file", Files(path, scan.format), scan, settings)
    )
    if empty:
        raise no_rows(relation)
    return relation


def _fits(path: Path, format: Format | None) -> bool:
    """Whether a file is best read into memory; also if it does not exist, or is not for DuckDB."""
    try:
        size = path.stat().st_size
    except OSError:
        return True
    if is_small_file(path):
        return True
    file_format = format if format is not None else format_of(path)
    growth = _GROWTH * (_UNPACKED if is_gzip(path) else 1)
    return not isinstance(file_format, Csv | Parquet) or size * growth <= available_memory()


def _check_relation(relation: Relation) -> Relation:
    check_names(list(relation.table.columns))
    return relation
