"""The interface of an engine, and its defaults for engines that Veil does not know.

Each engine is one file with a subclass of `Dialect` that holds the differences. The base class serves any
engine of Ibis: as it may take different texts for equal, its rows are brought over to a DuckDB of our own
before anything is decided about them (see `veil.engines.copy`), and releases are stored in it by plain SQL.

A package adds an engine by an entry point of the group ``veil.engines``, named as the URLs begin or as Ibis
calls the engine; by both names, if they differ.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import secrets
import weakref
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from veil.engines.dialects.connections import close_at_the_end, import_ibis, within
from veil.engines.dialects.quoting import quote_name
from veil.engines.dialects.spans import Chunk
from veil.engines.dialects.urls import UrlParts, server_arguments, server_parts
from veil.engines.dialects.values import plain
from veil.engines.settings import Settings
from veil.errors import MissingDependencyError, PlanError

if TYPE_CHECKING:
    import ibis

    from veil.engines.database import Database

ROWS = 1 << 16
"""Rows of a batch."""


class Adopted(NamedTuple):
    """A data frame of an engine's own kind as a table, and its name in messages."""

    table: ibis.Table
    backend: Any
    name: str


class Dialect:
    """The operations of an engine, over an open connection of Ibis."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    # --- connect --------------------------------------------------------------------------------------

    name: ClassVar[str] = ""
    """Name of the engine in Ibis."""

    schemes: ClassVar[tuple[str, ...]] = ()
    """Schemes of its URLs."""

    takes_short_urls: ClassVar[bool] = False
    """Whether a scheme and a colon distinguish a URL from a path, without ``//``."""

    extra: ClassVar[str | None] = None
    """The extra of Veil that installs the driver."""

    drivers: ClassVar[frozenset[str]] = frozenset()
    """Modules whose errors come from the engine."""

    has_schemas: ClassVar[bool] = True
    timeout: ClassVar[str | None] = None
    """The driver's option for the seconds that it waits for a server."""

    @classmethod
    def driver(cls) -> Any:
        """Return the module of Ibis for the engine, or refuse with the package to install."""
        try:
            return getattr(import_ibis(), cls.name)
        except (ImportError, AttributeError) as error:
            missing = f" ({error.name} is missing)" if isinstance(error, ImportError) and error.name else ""
            package = f"ibis-framework[{cls.name}]" if cls.extra is None else f"veil-anonymizer[{cls.extra}]"
            raise MissingDependencyError(
                f"the driver for {cls.name} is not installed{missing}: pip install '{package}'"
            ) from None

    @classmethod
    def split(cls, scheme: str, url: str) -> UrlParts:
        """Split a URL; raise a `ValueError` that explains the fault and repeats no password."""
        return server_parts(scheme, url, has_schemas=cls.has_schemas)

    @classmethod
    def place(cls, url: str) -> str:
        """Return the name of the database in messages."""
        return url

    @classmethod
    def file_of(cls, url: str) -> Path | None:
        """Return the file that a URL names, if databases of this engine are files."""
        return None

    @classmethod
    def connect(cls, database: Database, secrets: dict[str, str], settings: Settings) -> Any:
        """Open a database. The caller translates the driver's errors."""
        return close_at_the_end(cls.log_in({**server_arguments(database.url, cls.timeout), **secrets}))

    @classmethod
    def log_in(cls, arguments: dict[str, Any]) -> Any:
        """Open a connection to a server."""
        return cls.driver().connect(**arguments)

    @classmethod
    def explain(cls, message: str) -> str | None:
        """Explain why a database cannot be opened, from the driver's lower-case message; None if unknown."""
        if re.search(r"password|authentication|login failed|access denied", message):
            return (
                "the server does not accept this user and password. Check both; a password may stand where "
                "the driver looks for it (PostgreSQL: PGPASSWORD or ~/.pgpass), or in an environment variable "
                "that a recipe names with `password_variable`"
            )
        if re.search(r"database .* does not exist|unknown database|cannot open database", message, re.DOTALL):
            return "the server has no such database. Check the name behind the host"
        if re.search(
            r"refused|timeout|timed out|translate host|resolve|no route|unreachable|no such file|can't connect|"
            r"unable to connect|name or service not known|not known",
            message,
        ):
            return (
                "the server cannot be reached. Check host and port, that it is running, and that no firewall is "
                "between"
            )
        return None

    def schemas(self) -> list[str]:
        """List the schemas of the database."""
        return list(self.backend.list_databases())

    def tables(self, schema: str | None = None) -> list[str]:
        """List the tables and views of the database, or of one schema."""
        return list(self.backend.list_tables(**within(schema)))

    def file(self) -> Path | None:
        """Return the file of the open database, if it is one."""
        return None

    identity: ClassVar[str | None] = None
    """A query whose answer identifies a database of a server."""

    def is_same(self, other: Dialect) -> bool:
        """Whether two connections lead to the same database, under any spelling."""
        if self.identity is None or self.backend.name != other.backend.name:
            return False
        return self.rows(self.identity) == other.rows(self.identity)

    # --- read -----------------------------------------------------------------------------------------

    @classmethod
    def adopt(cls, frame: Any) -> Adopted | None:
        """Return a data frame of the engine's own kind as a table; None if it is something else."""
        return None

    def restore(self, expression: ibis.Table) -> Any:
        """Return a result as a data frame of the engine's own kind, if it has one."""
        return expression

    def batches(self, expression: ibis.Table, rows: int = ROWS) -> pa.RecordBatchReader:
        """Return the rows of an expression as a stream of batches, in the engine's own types."""
        return self.backend.to_pyarrow_batches(expression, chunk_size=rows)

    def stop(self) -> None:
        """Stop what goes on in this process after Ctrl-C."""

    # --- compare --------------------------------------------------------------------------------------

    copying: ClassVar[Literal["always", "if asked", "never"]] = "always"
    """When rows are copied to a DuckDB of our own: always, if different texts may be taken for equal."""

    why_not_copied: ClassVar[str | None] = None
    """Why rows cannot be copied, with the way out; None if they can."""

    counts_by_number: ClassVar[bool] = False
    """Whether columns are read so cheaply that their values are numbered before combinations are counted."""

    has_nan: ClassVar[bool] = True
    """Whether a float may be NaN."""

    def exact(self, text: Any) -> Any:
        """Return the bytes of a text: equal if and only if the texts are the same."""
        return text.cast("binary")

    def collated(self, table: ibis.Table, texts: Sequence[str]) -> set[str]:
        """Return the columns whose texts may be taken for equal though different, even as released."""
        return set()

    def cell_by_cell(self, table: ibis.Table) -> ibis.Table:
        """Return the table with cells that every reader can hold; any other cell would make its column fail.

        Decimals are texts, as Ibis takes DuckDB's largest integers and PostgreSQL's `numeric` for decimals.
        Dates and times outside the years 1 to 9999, such as `infinity`, are missing.
        """
        import ibis

        cells = {}
        for name, kind in table.schema().items():
            column = table[name]
            if kind.is_decimal():
                cells[name] = column.cast("string")
            elif kind.is_date() or (kind.is_timestamp() and kind.scale != 9):  # nanoseconds end in 2262
                # One day less, for times near the ends in another zone.
                ends = (dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
                first, last = (self.moment(end.date() if kind.is_date() else end, kind) for end in ends)
                cells[name] = ibis.cases((column.between(first, last), column), else_=ibis.null(kind))
        return table.mutate(**cells) if cells else table

    def moment(self, value: dt.date, kind: Any) -> Any:
        """Return a day or time in the type of a column that it is compared with."""
        import ibis

        return ibis.literal(value, type=kind)

    def comparable(self, column: Any) -> Any:
        """Return the form in which values of a column without collation are compared."""
        return self.as_released(column)

    def check_lengths(self, name: str, values: pa.Array) -> None:
        """Refuse values, compared by their bytes, that the engine does not compare in full."""

    def missing(self, column: Any) -> Any:
        """Return an expression that is true where a column is NULL or NaN."""
        return column.isnull() | column.isnan() if self._may_be_nan(column) else column.isnull()

    def as_released(self, column: Any) -> Any:
        """Return the values as they are released: values counted as one must not look like two.

        Engines take -0.0 and 0.0 for equal, and Veil takes NaN for a missing value.
        """
        import ibis

        if not column.type().is_floating():
            return column
        unsigned = (column == 0).ifelse(ibis.literal(0.0, type=column.type()), column)
        return column.isnan().ifelse(None, unsigned) if self._may_be_nan(column) else unsigned

    def _may_be_nan(self, column: Any) -> bool:
        import ibis.expr.operations as operations

        return (
            self.has_nan
            and column.type().is_floating()
            and bool(self.backend.has_operation(operations.IsNan))
        )

    def with_truth(self, table: ibis.Table, flags: Sequence[str]) -> ibis.Table:
        """Return a table whose flags are Booleans."""
        return table

    def hand_over(self, table: pa.Table, keys: Sequence[str]) -> ibis.Table:
        """Pass a small table to the engine, to be joined by some of its columns."""
        import ibis

        return ibis.memtable(table)

    # --- sample and cut -------------------------------------------------------------------------------

    def row_number(self) -> Any:
        """Return a number for each row, in any order, each number once."""
        import ibis

        return ibis.row_number()

    def differing(self) -> Any:
        """Return a value that differs from row to row, whose digest rows are sorted by."""
        return self.row_number()

    def sort(self, table: ibis.Table, by: str, names: Sequence[str]) -> ibis.Table:
        """Return some columns of a table, sorted by one column."""
        return table.order_by(by).select(list(names))

    def digest(self, text: Any) -> Any:
        """Return the SHA-256 of a text, as 64 hexadecimal digits."""
        import ibis.expr.operations as operations

        if self.backend.has_operation(operations.HexDigest):
            return text.hexdigest("sha256")
        raise PlanError(
            f"{self.backend.name} can neither sample rows nor shuffle them, because Ibis has no SHA-256 there. "
            "Copy the table to DuckDB, PostgreSQL, MySQL or Spark, or read it into memory"
        )

    def keep(self, rows: ibis.Table, pieces: int | None = None) -> ibis.Table:
        """Store rows in the engine for this session, in so many pieces if the engine has any."""
        name = f"veil_sample_{secrets.token_hex(6)}"
        table = self.backend.create_table(name, rows, temp=True)
        # Every expression on the table holds its operation, and need not hold the table.
        weakref.finalize(table.op(), _drop, self.backend, name).atexit = False
        return table

    def pieces(self, table: ibis.Table, rows: int) -> list[Chunk] | None:
        """Cut a table into pieces of about `rows` rows by storage location; None if that is unknown."""
        return None

    def fingerprint(self, table: ibis.Table) -> str | None:
        """Describe the state of the rows and their storage locations; None if a change could go unnoticed."""
        return None

    # --- write ----------------------------------------------------------------------------------------

    own_rows_only: ClassVar[str | None] = None
    """Why rows of other engines cannot be written to tables here, with the way out; None if they can."""

    transaction: ClassVar[str | None] = "BEGIN TRANSACTION"
    """Statement that begins a transaction; None if there are none, and a table is written in one piece."""

    undoes_definitions: ClassVar[bool] = True
    """Whether a failed transaction undoes the creation, renaming and removal of tables."""

    renames_together: ClassVar[bool] = False
    """Whether one statement renames several tables, all or none: `rename_all`."""

    placeholder: ClassVar[str] = "?"

    def quote(self, *names: str | None) -> str:
        """Quote the name of a column, or of a table with its schema."""
        return quote_name(self.backend.dialect, *names)

    def run(self, statement: str) -> None:
        """Run a statement to its end."""
        self.backend.raw_sql(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of a small query."""
        return [tuple(row) for row in self.backend.raw_sql(query).fetchall()]

    def lock(self, name: str) -> tuple[str, str] | None:
        """Return queries that take and release a lock, which ends with the session; None if there are none.

        Both answer 1 or true on success.
        """
        return None

    patience: ClassVar[str | None] = None
    """Statement after which a session waits only seconds for the locks of others."""

    views_query: ClassVar[str | None] = None
    """Query for the schema and name of everything listed as a table that is none, such as views."""

    def obstacle(self, table: str, schema: str | None) -> str | None:
        """Return why the object of a name cannot be replaced by a table, with the way out; None if it can."""
        if self.views_query is None:
            return None
        here = schema or getattr(self.backend, "current_database", None)
        views = {name for place, name in self.rows(self.views_query) if place in (here, None)}
        if table not in views:
            return None
        return "is a view, or something else that is no plain table. Choose another name, or drop it"

    def has(self, kind: Any) -> bool:
        """Whether a column can have a type."""
        from ibis.common.exceptions import UnsupportedBackendType

        try:
            self.backend.compiler.type_mapper.from_ibis(kind)
        except UnsupportedBackendType:
            return False
        return True

    def create(self, table: str, kinds: ibis.Schema, schema: str | None = None) -> None:
        """Create an empty table."""
        self.backend.create_table(table, schema=kinds, **within(schema))

    def load(self, table: str, columns: Sequence[str], rows: pa.RecordBatchReader) -> None:
        """Insert a stream into a table; `table` and `columns` are quoted."""
        marks = ", ".join([self.placeholder] * len(columns))
        statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
        cursor = self.backend.con.cursor()
        for batch in rows:
            values = [plain(column) for column in batch.columns]
            cursor.executemany(statement, list(zip(*values, strict=True)))
        cursor.close()

    def table(self, name: str, kinds: ibis.Schema, schema: str | None = None) -> ibis.Table:
        """Return a table that was created with these types."""
        return self.backend.table(name, **within(schema))

    def rename_all(self, staging: Mapping[str, str], old: Collection[str], schema: str | None) -> list[str]:
        """Return statements that put staging tables, by their final names, in place of existing tables."""
        return [
            each
            for table, new in staging.items()
            for each in self.replace(new, table, schema, exists=table in old)
        ]

    def replace(self, staging: str, table: str, schema: str | None, *, exists: bool) -> list[str]:
        """Return statements that put a staging table in the place of a table, which `exists` or not."""
        removed = [f"DROP TABLE {self.quote(schema, table)}"] if exists else []
        return [*removed, self.rename(staging, table, schema)]

    def rename(self, old: str, new: str, schema: str | None) -> str:
        """Return the statement that renames a table within its schema."""
        return f"ALTER TABLE {self.quote(schema, old)} RENAME TO {self.quote(new)}"

    def remove_for_good(self) -> None:
        """Make the engine overwrite what is removed from the file from now on, if it can."""

    def wipe(self, tables: Collection[str]) -> None:
        """Overwrite what was removed from the file, if the given tables are all that it holds.

        Files are handed out, and staged rows lay there in the order of the input.
        """

    def write_parquet(self, rows: ibis.Table, place: Path, name: str, most: int | None = None) -> list[Path]:
        """Write rows to a Parquet file, or to a folder of files with `most` rows each; return the files.

        `name` names the target in messages.
        """
        batches = self.batches(rows)
        if most is not None:
            place.mkdir()
            return _write_files(batches, place, most)
        with pq.ParquetWriter(place, batches.schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch)
        return [place]

    def read_parquet(self, folder: Path, files: Sequence[Path]) -> ibis.Table:
        """Return the rows of all Parquet files of a folder, read by this engine or by a DuckDB of our own."""
        from veil.engines.dialects import new_duckdb

        backend = new_duckdb()
        Settings().apply(backend)
        return backend.read_parquet([str(file) for file in files], hive_partitioning=False)


D = TypeVar("D", bound=Dialect)

ENGINES: dict[str, type[Dialect]] = {}
"""Engines by their names in Ibis and by the schemes of their URLs."""


def register(dialect: type[D]) -> type[D]:
    """Register an engine; a name that is in use stays with its engine."""
    for name in (dialect.name, *dialect.schemes):
        ENGINES.setdefault(name, dialect)
    return dialect


def as_plain_text(column: Any) -> Any:
    """Return a column of an engine with enumerations as plain text.

    PostgreSQL compares and mixes values of an enumeration with nothing else, and DuckDB would write all
    values of one into a Parquet file, also those that no row has.
    """
    # A text with a length is no enumeration, and CHAR(n) would lose its blanks.
    if column.type().length is not None:
        return column
    return column.cast("!string").cast("string")  # Ibis would leave a cast to the same type out


def _write_files(batches: pa.RecordBatchReader, folder: Path, rows: int) -> list[Path]:
    """Write a stream to Parquet files of so many rows each; the last one has the rest."""
    files: list[Path] = []
    with contextlib.ExitStack() as open_file:
        room = 0
        for batch in batches:
            while batch.num_rows or not files:
                if not room:
                    open_file.close()
                    files.append(folder / f"{len(files):05}.parquet")
                    writer = open_file.enter_context(
                        pq.ParquetWriter(files[-1], batches.schema, compression="zstd")
                    )
                    room = rows
                head = batch.slice(0, room)
                writer.write_batch(head)
                room -= head.num_rows
                batch = batch.slice(head.num_rows)
    return files


def _drop(backend: Any, name: str) -> None:
    with contextlib.suppress(Exception):  # the session may be over
        backend.drop_table(name, force=True)
