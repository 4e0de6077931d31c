"""Releases as tables of a database.

The rows are staged in a table of its own in the same schema, and a small table beside it says which pieces it
holds; both are written in one transaction a piece, so that a piece is there once or not at all. At the end the
staging table is renamed to the target, in one transaction with the removal of the old one. MySQL cannot roll
back such statements, but renames several tables in one step. Spark has neither: its tables are staged and
renamed as well, but a kill between the removal of an old table and the renaming leaves only the staging table,
which holds the whole release.

Rights and indexes that the old table had are not those of the new one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from veil.engines.database import Database, connect, driver_of, import_ibis, table_names
from veil.engines.dialects import mssql as sqlserver
from veil.engines.dialects import mysql
from veil.engines.dialects.load import database_file, load
from veil.engines.dialects.quoting import quoted, text
from veil.engines.relation import Relation
from veil.engines.write.locks import busy, file_lock
from veil.engines.write.target import Target
from veil.errors import InputError, OutputError

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir

_LONGEST = 38  # letters of the name that fit into PostgreSQL's 63 bytes with what is added
_IDENTITY = {
    "postgres": "SELECT oid, current_database(), pg_postmaster_start_time() FROM pg_database WHERE datname = current_database()",
    "mysql": "SELECT @@hostname, @@port, @@datadir, @@pid_file",
    "mssql": "SELECT @@SERVERNAME, DB_NAME()",
}
_PATIENCE = 3.0  # seconds in which a server notices that the run before has been killed


def table_target(database: Database, relation: Relation, mark: str, overwrite: bool) -> TableTarget:
    """Return the target for a table, over the connection of the source where that is the same database."""
    if database.table is None:
        raise OutputError(f"{database.url}: no table is named. Add #table to the URL, or say `table`")
    backend = _backend(database, relation)
    made = (SparkTable if database.engine == "pyspark" else TableTarget)(
        database, backend, relation, mark, overwrite
    )
    if made.is_source():
        raise OutputError(f"{database}: is what is being read. Choose another name")
    return made


def _backend(database: Database, relation: Relation) -> Any:
    if database.engine == "pyspark":
        if relation.kind != "pyspark":
            raise OutputError(
                f"{database}: only what Spark holds can be written to its tables. Write a Parquet folder, and read "
                "it with spark.read.parquet"
            )
        return relation.backend
    if relation.kind == database.engine and _same(database, relation):
        return relation.backend
    if database.file is not None and not database.file.exists():
        if not database.file.absolute().parent.is_dir():
            raise OutputError(
                f"{database.file}: the folder does not exist. Create it, or choose another path"
            )
        return driver_of(import_ibis(), database.engine).connect(database.file)
    try:
        return connect(database)
    except InputError as error:
        raise OutputError(*error.words) from None


def _same(database: Database, relation: Relation) -> bool:
    if database.file is not None:
        held = database_file(relation.backend)
        return held is not None and database.file.exists() and held.samefile(database.file)
    return isinstance(relation.location, Database) and relation.location.url == database.url


class TableTarget(Target):
    """A table of DuckDB, SQLite, PostgreSQL, MySQL or SQL Server."""

    def __init__(
        self, database: Database, backend: Any, relation: Relation, mark: str, overwrite: bool
    ) -> None:
        self.database, self.backend, self.relation, self.overwrite = database, backend, relation, overwrite
        self.name, self.secrets = str(database), database.secrets()
        self.table = str(database.table)
        self.place = {} if database.schema is None else {"database": database.schema}
        short = self.table
        if len(short.encode()) > _LONGEST:
            short = (
                f"{re.sub(r'[^A-Za-z0-9_]', '', short)[:29]}_{hashlib.sha256(short.encode()).hexdigest()[:8]}"
            )
        self.prefix = f"{short}__veil_"
        self.temporary = f"{self.prefix}{mark}"
        self.progress = f"{self.temporary}_done"
        self.key = ""
        self.kinds: ibis.Schema

    @property
    def staging(self) -> str:
        return str(self.database.with_table(self.temporary, self.database.schema))

    def is_source(self) -> bool:
        """Whether the source is the very table, or an expression on it."""
        import ibis.expr.operations as ops

        held = self.relation.held
        if held.backend is not self.backend and not self._same_server(held):
            return False
        here = self.database.schema or _current_schema(self.backend)
        there = _current_schema(held.backend)
        for table in held.table.op().find(ops.DatabaseTable):
            if table.name == self.table and (table.namespace.database or there) == here:
                return True
        return False

    def _same_server(self, held: Relation) -> bool:
        """Whether two connections lead to one database file or database of a server, however it is spelled."""
        ask = _IDENTITY.get(self.backend.name)
        if self.backend.name != held.kind:
            return False
        if ask is None:
            files = database_file(self.backend), database_file(held.backend)
            return None not in files and os.path.samefile(*files)  # type: ignore[arg-type]
        return [tuple(row) for row in self._rows(ask)] == [
            tuple(row) for row in held.backend.raw_sql(ask).fetchall()
        ]

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        name = f"veil {self._quoted(self.table)}"
        file = database_file(self.backend)
        if file is not None:
            digest = hashlib.sha256(name.encode()).hexdigest()[:12]
            with file_lock(file.with_name(f".{file.name}.veil-{digest}-lock"), self.name):
                yield
        elif self.backend.name == "postgres":
            number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
            with self._held(f"SELECT pg_try_advisory_lock({number})", f"SELECT pg_advisory_unlock({number})"):
                yield
        elif self.backend.name in ("mysql", "mssql"):
            mark = f"veil-{hashlib.sha256(name.encode()).hexdigest()[:40]}"
            mysql_lock = f"SELECT GET_LOCK({text(mark)}, 0)", f"SELECT RELEASE_LOCK({text(mark)})"
            with self._held(*(mysql_lock if self.backend.name == "mysql" else sqlserver.lock(mark))):
                yield
        else:
            yield  # in memory it is ours alone

    @contextlib.contextmanager
    def _held(self, take: str, give_back: str) -> Iterator[None]:
        until = time.monotonic() + _PATIENCE
        while not self._rows(take)[0][0]:
            if time.monotonic() > until:
                raise busy(self.name)
            time.sleep(0.1)
        try:
            yield
        finally:
            with contextlib.suppress(Exception):  # without a connection there is no lock either
                self._rows(give_back)

    def exists(self) -> bool:
        return self.table in table_names(self.backend, self.place)

    def begin(self, key: str, labels: Sequence[str], example: ir.Table) -> set[str]:
        import ibis

        self.key, tables = key, set(table_names(self.backend, self.place))
        self.kinds = ibis.schema({name: kind.copy(nullable=True) for name, kind in example.schema().items()})
        self._check_kinds()
        pattern = re.compile(re.escape(self.prefix) + "[0-9a-f]{12}(_done|_old)?")
        for each in tables:
            if pattern.fullmatch(each) and each not in (self.temporary, self.progress):
                self._drop(each)
        if {self.temporary, self.progress} <= tables:
            done = {label for (label,) in self._rows(f"SELECT label FROM {self._quoted(self.progress)}")}
            if key in done and done <= {key, *labels}:
                return done - {key}
        self.abandon()
        self._create()
        return set()

    def _check_kinds(self) -> None:
        """Refuse columns of types that the engine does not have."""
        for name, kind in self.kinds.items():
            if not self._has(kind):
                raise OutputError(
                    f"{self.name}: column {name!r} has type {kind}, which {self.backend.name} does not have. Write to Parquet "
                    "files or to another engine, or give a view that turns the column into text or a whole number"
                )

    def _has(self, kind: Any) -> bool:
        from ibis.common.exceptions import UnsupportedBackendType

        if self.backend.name in ("mysql", "mssql"):
            return True  # for which the types are spelled here
        if self.backend.name == "sqlite" and kind.is_decimal():
            return False  # Ibis would make it a float
        try:
            self.backend.compiler.type_mapper.from_ibis(kind)
        except UnsupportedBackendType:
            return False
        return True

    def _create(self) -> None:
        import ibis

        tables = {self.temporary: self.kinds, self.progress: ibis.schema({"label": "string"})}
        with self._transaction():
            for name, schema in tables.items():
                if self.backend.name == "mysql":
                    self._run(
                        f"CREATE TABLE {self._quoted(name)} ({mysql.definitions(schema)}) ENGINE = InnoDB"
                    )
                elif self.backend.name == "mssql":
                    self._run(f"CREATE TABLE {self._quoted(name)} ({sqlserver.definitions(schema)})")
                else:
                    self.backend.create_table(name, schema=schema, **self.place)
            self._note(self.key)

    def append(self, label: str, piece: ir.Table) -> None:
        columns = [quoted(self.backend.dialect, name) for name in piece.columns]
        ours = self.relation.backend is self.backend
        if ours:
            self.backend._run_pre_execute_hooks(piece)  # tables in memory that the expression needs
        with self._transaction():
            if ours:
                query = self.backend.compile(piece)
                self._run(f"INSERT INTO {self._quoted(self.temporary)} ({', '.join(columns)}) {query}")
            else:
                load(
                    self.backend,
                    self._quoted(self.temporary),
                    columns,
                    self.relation.batches(piece),
                )
            self._note(label)

    def staged(self) -> ir.Table:
        if self.backend.name == "mysql":  # which has no truth values, only numbers
            return mysql.table_of(self.backend, self.temporary, self.kinds, self.database.schema)
        return self.backend.table(self.temporary, **self.place)

    def commit(self) -> None:
        target, temporary = self._quoted(self.table), self._quoted(self.temporary)
        replaces = self.exists()
        if replaces and not self.overwrite:
            raise OutputError(f"{self.name}: has been made by somebody else meanwhile")
        if self.backend.name == "mysql":
            old = self._quoted(f"{self.temporary}_old")
            both = f"{target} TO {old}, " if replaces else ""
            self._run(f"RENAME TABLE {both}{temporary} TO {target}")
            if replaces:
                self._run(f"DROP TABLE {old}")
            self._drop(self.progress)
            return
        with self._transaction():
            if replaces:
                self._drop(self.table)
            if self.backend.name == "mssql":
                self._run(sqlserver.rename(temporary, self.table))
            else:
                self._run(f"ALTER TABLE {temporary} RENAME TO {quoted(self.backend.dialect, self.table)}")
            self._drop(self.progress)

    def abandon(self) -> None:
        for each in (self.temporary, self.progress):
            self._run(f"DROP TABLE IF EXISTS {self._quoted(each)}")

    def _note(self, label: str) -> None:
        self._run(f"INSERT INTO {self._quoted(self.progress)} VALUES ({text(label)})")

    def _drop(self, table: str) -> None:
        self._run(f"DROP TABLE {self._quoted(table)}")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run(
            {"sqlite": "BEGIN IMMEDIATE", "mysql": "START TRANSACTION"}.get(
                self.backend.name, "BEGIN TRANSACTION"
            )
        )
        try:
            yield
        except BaseException:
            with contextlib.suppress(Exception):  # some engines have rolled back by themselves
                self._run("ROLLBACK")
            raise
        self._run("COMMIT")

    def _run(self, statement: str) -> None:
        if self.backend.name == "mssql":
            sqlserver.run(self.backend, statement)
        else:
            self.backend.raw_sql(statement)

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return list(self.backend.raw_sql(query).fetchall())

    def _quoted(self, table: str) -> str:
        return quoted(self.backend.dialect, self.database.schema, table)


class SparkTable(TableTarget):
    """A table of the running Spark session, written by Spark in one piece."""

    def begin(self, key: str, labels: Sequence[str], example: ir.Table) -> set[str]:
        self.abandon()
        return set()

    def append(self, label: str, piece: ir.Table) -> None:
        self.backend.create_table(self.temporary, piece, **self.place)

    def commit(self) -> None:
        if self.exists():
            self._drop(self.table)
        self._run(f"ALTER TABLE {self._quoted(self.temporary)} RENAME TO {self._quoted(self.table)}")

    def abandon(self) -> None:
        self._run(f"DROP TABLE IF EXISTS {self._quoted(self.temporary)}")


def _current_schema(backend: Any) -> str | None:
    return getattr(backend, "current_database", None)
