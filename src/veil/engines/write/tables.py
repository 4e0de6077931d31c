"""Releases as tables of a database.

The rows are staged in a table of their own in the same schema, and a small table beside it records the pieces
it holds; both are written in one transaction a piece, so that a piece is there once or not at all. If rows of
several pieces are shuffled, another table replaces the staging table: tables have no order, but show the
order of insertion. At the end the staging table is renamed to the target, in one transaction with the removal
of the old one. MySQL cannot roll back such statements, but renames several tables in one step. Spark has
neither: its tables are staged and renamed as well, but a kill between the removal of an old table and the
renaming leaves only the staging table, which holds the whole release.

In PostgreSQL the new table gets the owner and the rights of the old one; MySQL keeps rights by name. Indexes
are not copied.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from veil.engines.database import Database, connect
from veil.engines.dialects import dialect_of
from veil.engines.dialects.connections import close_at_the_end, within
from veil.engines.dialects.quoting import quote_text
from veil.engines.relation import Relation
from veil.engines.shuffle import shuffled
from veil.engines.write.staging_tables import kinds_for, lock_table, staging_prefix, staging_tables
from veil.engines.write.target import Target
from veil.errors import InputError, OutputError
from veil.tables.journal import Witness

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir


def table_target(database: Database, relation: Relation, mark: str, overwrite: bool) -> TableTarget:
    """Return the target for a table, over the connection of the source if that is the same database."""
    if database.table is None:
        raise OutputError(f"{database.url}: no table is named. Add #table to the URL, or give `table`")
    backend = _backend(database, relation)
    kind = TableInOnePiece if database.dialect.transaction is None else TableTarget
    target = kind(database, backend, relation, mark, overwrite)
    if target.is_source():
        raise OutputError(f"{database}: is the input table. Choose another name")
    target.check_replaceable()
    return target


def _backend(database: Database, relation: Relation) -> Any:
    if (reason := database.dialect.own_rows_only) is not None:
        if relation.kind != database.engine:
            raise OutputError(f"{database}: {reason}")
        return relation.backend
    return backend_of(database, [relation])


def backend_of(database: Database, relations: Iterable[Relation]) -> Any:
    """Return a connection for writing to a database: that of a source there, if there is one."""
    for relation in relations:
        if relation.kind == database.engine and _same(database, relation):
            return relation.backend
    if is_new_file(database):
        return close_at_the_end(database.dialect.driver().connect(database.file))
    try:
        return connect(database)
    except InputError as error:
        raise OutputError(*error.words) from None


def is_new_file(database: Database) -> bool:
    """Whether a database is a file that does not exist yet; refuse one in a folder that does not exist."""
    if database.file is None or database.file.exists():
        return False
    if not database.file.absolute().parent.is_dir():
        raise OutputError(f"{database.file}: the folder does not exist. Create it, or choose another path")
    return True


def _same(database: Database, relation: Relation) -> bool:
    if database.file is not None:
        file = relation.dialect.file()
        return file is not None and database.file.exists() and file.samefile(database.file)
    return isinstance(relation.location, Database) and relation.location.url == database.url


class TableTarget(Target):
    """A table of a database that has transactions."""

    def __init__(
        self, database: Database, backend: Any, relation: Relation, mark: str, overwrite: bool
    ) -> None:
        self.database, self.backend, self.relation, self.overwrite = database, backend, relation, overwrite
        self.name, self.secrets = str(database), database.secrets()
        self.table = str(database.table)
        self.dialect, self.schema = dialect_of(backend), database.schema
        self.temporary = f"{staging_prefix(self.table)}{mark}"
        self.progress = f"{self.temporary}_done"
        self.key = ""
        self.kinds: ibis.Schema

    @property
    def staging(self) -> str:
        return str(self.database.with_table(self.temporary, self.database.schema))

    def is_source(self) -> bool:
        """Whether the source is this table, or an expression on it."""
        import ibis.expr.operations as ops

        source = self.relation.original
        if source.backend is not self.backend and not self.dialect.is_same(source.dialect):
            return False
        here = self.database.schema or _current_schema(self.backend)
        there = _current_schema(source.backend)
        for table in source.table.op().find(ops.DatabaseTable):
            if table.name == self.table and (table.namespace.database or there) == here:
                return True
        return False

    def check_replaceable(self) -> None:
        """Refuse a table that cannot be replaced, or is locked, before hours of work for it."""
        with self.explain_errors():
            obstacle = self.dialect.obstacle(self.table, self.schema) if self.overwrite else None
            if obstacle is not None:
                raise OutputError(f"{self.name}: {obstacle}")

    def lock(self) -> AbstractContextManager[None]:
        return lock_table(self.dialect, self.schema, self.table, self.name)

    def exists(self) -> bool:
        return self.table in self.dialect.tables(self.schema)

    def begin(self, key: str, labels: Sequence[str], example: ir.Table) -> set[str]:
        self.key, tables = key, set(self.dialect.tables(self.schema))
        self.dialect.remove_for_good()
        self.kinds = kinds_for(self.name, self.dialect, example)
        for each in staging_tables(self.table, tables):
            if each not in (self.temporary, self.progress):
                self._drop(each)
        if {self.temporary, self.progress} <= tables:
            done = {
                label for (label,) in self.dialect.rows(f"SELECT label FROM {self._quote(self.progress)}")
            }
            if key in done and done <= {key, *labels}:
                return done - {key}
        self.abandon()
        self._create()
        return set()

    def _create(self) -> None:
        import ibis

        tables = {self.temporary: self.kinds, self.progress: ibis.schema({"label": "string"})}
        with self._transaction():
            for name, kinds in tables.items():
                self.dialect.create(name, kinds, self.schema)
            self._note(self.key)

    def append(self, label: str, piece: ir.Table) -> None:
        columns = [self.dialect.quote(name) for name in piece.columns]
        ours = self.relation.backend is self.backend
        if ours:
            self.backend._run_pre_execute_hooks(piece)  # creates tables in memory that the expression needs
        with self._transaction():
            if ours:
                query = self.backend.compile(piece)
                self.dialect.run(f"INSERT INTO {self._quote(self.temporary)} ({', '.join(columns)}) {query}")
            else:
                self.dialect.load(self._quote(self.temporary), columns, self.relation.batches(piece))
            self._note(label)

    def shuffle(self, rows: int) -> None:
        mixed = f"{self.temporary}_mixed"
        self.dialect.run(f"DROP TABLE IF EXISTS {self._quote(mixed)}")
        columns = ", ".join(self.dialect.quote(name) for name in self.kinds)
        query = self.backend.compile(shuffled(self.staged_rows()))
        with self._transaction():
            self.dialect.create(mixed, self.kinds, self.schema)
            self.dialect.run(f"INSERT INTO {self._quote(mixed)} ({columns}) {query}")
            for statement in self.dialect.replace(mixed, self.temporary, self.schema, exists=True):
                self.dialect.run(statement)

    def staged_rows(self) -> ir.Table:
        return self.dialect.table(self.temporary, self.kinds, self.schema)

    def prepare(self) -> None:
        """Refuse rights of the old table that the new one cannot have, while staging can be undone."""
        self.dialect.replace(self.temporary, self.table, self.schema, exists=self.exists())

    def witness(self) -> Witness:
        return {"database": self.name, "staged": self.temporary}

    def has_taken_place(self, witness: Witness) -> bool | None:
        if witness.get("database") != self.name:
            return None
        return witness["staged"] not in self.dialect.tables(self.schema)

    def commit(self) -> None:
        exists = self.exists()
        if exists and not self.overwrite:
            raise OutputError(f"{self.name}: has been created by somebody else in the meantime")
        with self._transaction() if self.dialect.undoes_definitions else contextlib.nullcontext():
            self._take_place(exists=exists)
            self._drop(self.progress)

    def _take_place(self, *, exists: bool) -> None:
        for statement in self.dialect.replace(self.temporary, self.table, self.schema, exists=exists):
            self.dialect.run(statement)

    def wipe(self) -> None:
        self.dialect.wipe([self.table])

    def abandon(self) -> None:
        for each in (self.temporary, self.progress):
            self.dialect.run(f"DROP TABLE IF EXISTS {self._quote(each)}")

    def _note(self, label: str) -> None:
        self.dialect.run(f"INSERT INTO {self._quote(self.progress)} VALUES ({quote_text(label)})")

    def _drop(self, table: str) -> None:
        self.dialect.run(f"DROP TABLE {self._quote(table)}")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self.dialect.run(str(self.dialect.transaction))
        try:
            yield
        except BaseException:
            with contextlib.suppress(Exception):  # some engines have rolled back already
                self.dialect.run("ROLLBACK")
            raise
        self.dialect.run("COMMIT")

    def _quote(self, table: str) -> str:
        return self.dialect.quote(self.schema, table)


class TableInOnePiece(TableTarget):
    """A table of an engine without transactions, such as Spark: written by the engine in one piece."""

    def begin(self, key: str, labels: Sequence[str], example: ir.Table) -> set[str]:
        self.kinds = example.schema()
        self.abandon()
        return set()

    def append(self, label: str, piece: ir.Table) -> None:
        self.backend.create_table(self.temporary, piece, **within(self.schema))

    def commit(self) -> None:
        self._take_place(exists=self.exists())

    def abandon(self) -> None:
        self.dialect.run(f"DROP TABLE IF EXISTS {self._quote(self.temporary)}")


def _current_schema(backend: Any) -> str | None:
    return getattr(backend, "current_database", None)
