"""What Veil asks of an engine, and what it does with one that it does not know.

An engine is one file with a subclass of `Dialect`, which says what is different there. The base class stands for any
engine of Ibis: as it may take different texts for equal, its rows are brought over to a DuckDB of our own before
anything is decided about them (see `veil.engines.copy`), and releases are stored in it by plain SQL.

A package can bring an engine along by an entry point of the group ``veil.engines``, called as the URLs begin, or as
Ibis calls the engine; with both names, if they differ.
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
from veil.engines.dialects.urls import Parts, server_arguments, server_parts
from veil.engines.dialects.values import plain
from veil.engines.settings import Settings
from veil.errors import MissingDependencyError, PlanError

if TYPE_CHECKING:
    import ibis

    from veil.engines.database import Database

ROWS = 1 << 16
"""Rows of a batch."""


class Adopted(NamedTuple):
    """A data frame of an engine's own kind as a table, and what it is called in messages."""

    table: ibis.Table
    backend: Any
    name: str


class Dialect:
    """How to deal with an engine, over an open connection of Ibis."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    # --- connect --------------------------------------------------------------------------------------

    name: ClassVar[str] = ""
    """What Ibis calls the engine."""

    schemes: ClassVar[tuple[str, ...]] = ()
    """How URLs begin."""

    takes_short_urls: ClassVar[bool] = False
    """Whether a scheme and a colon are enough to tell a URL from a path, without ``//``."""

    extra: ClassVar[str | None] = None
    """The extra of Veil that installs the driver."""

    drivers: ClassVar[frozenset[str]] = frozenset()
    """Modules whose errors come from the engine."""

    has_schemas: ClassVar[bool] = True
    timeout: ClassVar[str | None] = None
    """How the driver calls the number of seconds that it waits for a server."""

    @classmethod
    def driver(cls) -> Any:
        """Return what connects to the engine, or say what to install."""
        try:
            return getattr(import_ibis(), cls.name)
        except (ImportError, AttributeError) as error:
            missing = f" ({error.name} is missing)" if isinstance(error, ImportError) and error.name else ""
            package = f"ibis-framework[{cls.name}]" if cls.extra is None else f"veil-anonymizer[{cls.extra}]"
            raise MissingDependencyError(
                f"the driver for {cls.name} is not installed{missing}: pip install '{package}'"
            ) from None

    @classmethod
    def split(cls, scheme: str, url: str) -> Parts:
        """Take a URL apart; a `ValueError` says what is wrong with it, and repeats no password."""
        return server_parts(scheme, url, has_schemas=cls.has_schemas)

    @classmethod
    def place(cls, url: str) -> str:
        """What a URL stands for, in messages."""
        return url

    @classmethod
    def file_of(cls, url: str) -> Path | None:
        """Return the file that a URL names, if databases of this engine are files."""
        return None

    @classmethod
    def connect(cls, database: Database, secrets: dict[str, str], settings: Settings) -> Any:
        """Open a database. The caller puts into words what the driver raises."""
        return close_at_the_end(cls.log_in({**server_arguments(database.url, cls.timeout), **secrets}))

    @classmethod
    def log_in(cls, arguments: dict[str, Any]) -> Any:
        """Open a connection to a server."""
        return cls.driver().connect(**arguments)

    @classmethod
    def explain(cls, said: str) -> str | None:
        """Say why a database cannot be opened, if that can be told from the driver's words, in small letters."""
        if re.search(r"password|authentication|login failed|access denied", said):
            return (
                "the server does not accept this user and password. Check both; a password may stand where the driver "
                "looks for it (PostgreSQL: PGPASSWORD or ~/.pgpass), or in an environment variable that a recipe names "
                "with `password_variable`"
            )
        if re.search(r"database .* does not exist|unknown database|cannot open database", said, re.DOTALL):
            return "the server has no such database. Check the name behind the host"
        if re.search(
            r"refused|timeout|timed out|translate host|resolve|no route|unreachable|no such file|can't connect|"
            r"unable to connect|name or service not known|not known",
            said,
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
    """A query whose answer tells databases of servers apart."""

    def is_same(self, other: Dialect) -> bool:
        """Whether two connections lead to one database, however it is spelled."""
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

    # --- tell apart -----------------------------------------------------------------------------------

    copying: ClassVar[Literal["always", "if asked", "never"]] = "always"
    """When rows are brought over to a DuckDB of our own: always, where texts that differ may be taken for equal."""

    why_not_copied: ClassVar[str | None] = None
    """Why rows cannot be brought over, with the way out, if that is so."""

    counts_by_number: ClassVar[bool] = False
    """Whether single columns are read so cheaply that their values are numbered before combinations are counted."""

    has_nan: ClassVar[bool] = True
    """Whether a float may be no number."""

    def exact(self, text: Any) -> Any:
        """The bytes of a text: equal if and only if the texts are the same."""
        return text.cast("binary")

    def collated(self, table: ibis.Table, texts: Sequence[str]) -> set[str]:
        """Columns of which the engine may take different texts for equal, even where they are compared as released."""
        return set()

    def cell_by_cell(self, table: ibis.Table) -> ibis.Table:
        """The table with cells that every reader holds: what is more would be an error of the whole column.

        Decimals are texts, as DuckDB's largest whole numbers and PostgreSQL's `numeric` are decimals to Ibis. Days and times are
        missing beyond the years 1 to 9999, such as `infinity`.
        """
        import ibis

        cells = {}
        for name, kind in table.schema().items():
            column = table[name]
            if kind.is_decimal():
                cells[name] = column.cast("string")
            elif kind.is_date() or (kind.is_timestamp() and kind.scale != 9):  # which ends in 2262
                # A day less for times that are near the ends in another zone.
                ends = (dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
                first, last = (ibis.literal(end.date() if kind.is_date() else end, type=kind) for end in ends)
                cells[name] = ibis.cases((column.between(first, last), column), else_=ibis.null(kind))
        return table.mutate(**cells) if cells else table

    def comparable(self, column: Any) -> Any:
        """What values of a column that is not collated are told apart by."""
        return self.as_released(column)

    def check_lengths(self, name: str, values: pa.Array) -> None:
        """Refuse values, told apart by their bytes, that the engine does not compare in full."""

    def missing(self, column: Any) -> Any:
        """Tell of each row whether a column shows no value; not-a-number is none."""
        return column.isnull() | column.isnan() if self._may_be_nan(column) else column.isnull()

    def as_released(self, column: Any) -> Any:
        """The values as they are shown: what was counted as one value must not look like two.

        Engines take -0.0 and 0.0 for equal, and for Veil not-a-number is a missing value.
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
        """Return a table whose flags are truth values."""
        return table

    def hand_over(self, table: pa.Table, keys: Sequence[str]) -> ibis.Table:
        """Hand a small table of the driver over, to be joined by some of its columns."""
        import ibis

        return ibis.memtable(table)

    # --- draw and cut ---------------------------------------------------------------------------------

    def row_number(self) -> Any:
        """Number the rows, in any order, each number once."""
        import ibis

        return ibis.row_number()

    def differing(self) -> Any:
        """Something that differs from row to row, to sort rows by its digest."""
        return self.row_number()

    def sort(self, table: ibis.Table, by: str, names: Sequence[str]) -> ibis.Table:
        """Return some columns of a table in the order of one."""
        return table.order_by(by).select(list(names))

    def digest(self, text: Any) -> Any:
        """SHA-256 of a text, as 64 hexadecimal digits."""
        import ibis.expr.operations as operations

        if self.backend.has_operation(operations.HexDigest):
            return text.hexdigest("sha256")
        raise PlanError(
            f"{self.backend.name} can neither sample rows nor shuffle them, because Ibis has no SHA-256 "
            "there. Copy "
            "the table to DuckDB, PostgreSQL, MySQL or Spark, or read it into memory"
        )

    def keep(self, rows: ibis.Table, pieces: int | None = None) -> ibis.Table:
        """Store rows in the engine, for this session; in so many pieces, if the engine has any."""
        name = f"veil_sample_{secrets.token_hex(6)}"
        made = self.backend.create_table(name, rows, temp=True)
        # Whatever is made of it holds this, and need not hold the table.
        weakref.finalize(made.op(), _drop, self.backend, name).atexit = False
        return made

    def pieces(self, table: ibis.Table, rows: int) -> list[Chunk] | None:
        """Cut a table into pieces of about `rows` rows by where they lie; None if nobody knows."""
        return None

    def fingerprint(self, table: ibis.Table) -> str | None:
        """Describe the state of the rows and of where they lie; None if a change could go unnoticed."""
        return None

    # --- write ----------------------------------------------------------------------------------------

    own_rows_only: ClassVar[str | None] = None
    """Why rows of other engines cannot be written to tables of this one, with the way out, if that is so."""

    transaction: ClassVar[str | None] = "BEGIN TRANSACTION"
    """How a transaction begins; None if there are none, and a table is written in one piece."""

    undoes_definitions: ClassVar[bool] = True
    """Whether a transaction that fails takes back the making, renaming and removing of tables."""

    renames_together: ClassVar[bool] = False
    """Whether one statement renames several tables, all of them or none: `rename_all`."""

    placeholder: ClassVar[str] = "?"

    def quote(self, *names: str | None) -> str:
        """Spell the name of a column, or of a table with its schema."""
        return quote_name(self.backend.dialect, *names)

    def run(self, statement: str) -> None:
        """Run a statement to its end."""
        self.backend.raw_sql(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return all that a small query finds."""
        return [tuple(row) for row in self.backend.raw_sql(query).fetchall()]

    def lock(self, name: str) -> tuple[str, str] | None:
        """Spell how to take a lock that ends with the session, and how to give it back; None if there are none.

        Both say 1 or true where they succeed.
        """
        return None

    patience: ClassVar[str | None] = None
    """A statement after which a session waits only seconds for what somebody else has locked."""

    views_query: ClassVar[str | None] = None
    """A query for the schema and name of everything that is listed as a table and is none, such as views."""

    def obstacle(self, table: str, schema: str | None) -> str | None:
        """Say why what bears a name cannot be replaced by a table, with the way out; None if it can."""
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
        """Make a table without rows."""
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
        """Return a table that was made for some types."""
        return self.backend.table(name, **within(schema))

    def rename_all(self, staged: Mapping[str, str], there: Collection[str], schema: str | None) -> list[str]:
        """Statements that put staged tables, by the names they are to have, in place of those that are there."""
        return [
            each
            for table, new in staged.items()
            for each in self.replace(new, table, schema, exists=table in there)
        ]

    def replace(self, staged: str, table: str, schema: str | None, *, exists: bool) -> list[str]:
        """Spell how a staged table takes the place of a table, which is there already or not."""
        removed = [f"DROP TABLE {self.quote(schema, table)}"] if exists else []
        return [*removed, self.rename(staged, table, schema)]

    def rename(self, old: str, new: str, schema: str | None) -> str:
        """Spell the renaming of a table, which stays in its schema."""
        return f"ALTER TABLE {self.quote(schema, old)} RENAME TO {self.quote(new)}"

    def remove_for_good(self) -> None:
        """From now on, leave nothing in the file of what is removed from it, if the engine can do so by itself."""

    def wipe(self, released: Collection[str]) -> None:
        """Leave nothing in the file of what was removed from it, where some released tables are all that it holds.

        Files are handed out, and what was staged lay there in the order of the input.
        """

    def write_parquet(self, rows: ibis.Table, place: Path, name: str, most: int | None = None) -> list[Path]:
        """Write rows to a Parquet file, or to a folder of files with `most` rows each; return them.

        `name` is the target in messages.
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
"""Engines by what Ibis calls them, and by how their URLs begin."""


def register(dialect: type[D]) -> type[D]:
    """Make an engine known; names that are taken stay with whom they are."""
    for name in (dialect.name, *dialect.schemes):
        ENGINES.setdefault(name, dialect)
    return dialect


def as_plain_text(column: Any) -> Any:
    """Text and nothing but text, of an engine with enumerations.

    PostgreSQL compares and mixes values of an enumeration with nothing else, and DuckDB would write all values of one
    into a Parquet file, also those that no row has.
    """
    # A text with a length is no enumeration, and CHAR(n) would lose its blanks.
    if column.type().length is not None:
        return column
    return column.cast("!string").cast("string")  # Ibis would leave a cast to the same type out


def _write_files(batches: pa.RecordBatchReader, folder: Path, rows: int) -> list[Path]:
    """Write a stream to Parquet files of so many rows each; the last one has what is left."""
    made: list[Path] = []
    with contextlib.ExitStack() as open_file:
        room = 0
        for batch in batches:
            while batch.num_rows or not made:
                if not room:
                    open_file.close()
                    made.append(folder / f"{len(made):05}.parquet")
                    writer = open_file.enter_context(
                        pq.ParquetWriter(made[-1], batches.schema, compression="zstd")
                    )
                    room = rows
                written = batch.slice(0, room)
                writer.write_batch(written)
                room -= written.num_rows
                batch = batch.slice(written.num_rows)
    return made


def _drop(backend: Any, name: str) -> None:
    with contextlib.suppress(Exception):  # the session may be over
        backend.drop_table(name, force=True)
