"""Several tables written to a database in one transaction, or renamed in one statement: all of them appear, or none."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from veil.base.signals import uninterrupted
from veil.engines.database import Database
from veil.engines.dialects import Dialect, dialect_of, import_ibis
from veil.engines.failures import explain_errors
from veil.engines.relation import Relation
from veil.engines.write.rows import rows_as_texts
from veil.engines.write.staged import hold, prefix_of, staged_for
from veil.engines.write.tables import TableTarget, backend_of
from veil.errors import OutputError, Say
from veil.tables.arrow import normalize
from veil.tables.atomic import Together
from veil.tables.journal import Witness, recover

if TYPE_CHECKING:
    import ibis

_PENDING = "_pending"
"""Ends the name of a table that is there until the others are."""


def check_database(
    database: Database,
    names: Sequence[str],
    relations: Sequence[Relation],
    *,
    overwrite: bool,
    beside: Sequence[Path] = (),
) -> None:
    """Refuse a database that tables cannot be written to.

    Files `beside` them that a killed run has put in place without them are put back.
    """
    if database.table is not None:
        raise OutputError(
            f"{database}: names one table, but several are written, each under its own name. Leave "
            f"#{database.table} out; for a schema, "
            "give Database(…, schema=…)"
        )
    kind = database.dialect
    if kind.transaction is None or not (kind.undoes_definitions or kind.renames_together):
        raise OutputError(
            f"{database.place}: {database.engine} cannot roll back the creation of tables, so some could "
            "appear without the others. Write to a folder, or to DuckDB, SQLite, PostgreSQL or MySQL"
        )
    if database.file is not None and not database.file.exists():
        if not database.file.absolute().parent.is_dir():
            raise OutputError(
                f"{database.file}: the folder does not exist. Create it, or choose another path"
            )
        return
    import_ibis()
    backend = backend_of(database, relations)
    dialect = dialect_of(backend)
    there = dialect.tables(database.schema)

    def has_taken_place(witness: Witness) -> bool | None:
        return witness["staged"] not in there if witness.get("database") == str(database) else None

    for witness in recover(beside, has_taken_place):
        if str(witness.get("staged")).endswith(_PENDING):
            dialect.run(f"DROP TABLE {dialect.quote(database.schema, witness['staged'])}")
    for name in names:
        place = database.with_table(name, database.schema)
        for relation in relations:
            if TableTarget(place, backend, relation, "", overwrite).is_source():
                raise OutputError(f"{place}: is the input. Choose another database, or another schema")
        if name in there and not overwrite:
            raise OutputError(
                f"{place}: already exists. Choose another place, or say ", Say("overwrite", True)
            )
        with explain_errors(str(place), OutputError, database.secrets()):
            obstacle = dialect.obstacle(name, database.schema)
        if obstacle is not None:
            raise OutputError(f"{place}: {obstacle}")


def write_tables(
    database: Database,
    tables: Mapping[str, pa.Table],
    relations: Sequence[Relation] = (),
    *,
    overwrite: bool = False,
    beside: Together | None = None,
) -> None:
    """Write tables to a database, each under its name, and read them again before anybody else can see them.

    `relations` are the tables that were read, which are never written over. Files `beside` them appear
    with them.
    """
    with explain_errors(str(database), OutputError, database.secrets()):
        check_database(database, list(tables), relations, overwrite=overwrite)
        import_ibis()
        dialect = dialect_of(backend_of(database, relations))
        for name, table in tables.items():
            _check_kinds(database.with_table(name, database.schema), dialect, table)
        mark = secrets.token_hex(6)
        staged = {name: f"{prefix_of(name)}{mark}" for name in tables}
        with (
            _held(database, dialect, staged),
            _marked(dialect, database.schema, staged, beside) as marker,
            _all_or_none(dialect, database.schema, staged),
        ):
            there = set(dialect.tables(database.schema))
            for name in [] if overwrite else [each for each in tables if each in there]:
                place = database.with_table(name, database.schema)
                raise OutputError(f"{place}: has been made by somebody else meanwhile")
            for name, table in tables.items():
                _stage(dialect, database.schema, name, staged[name], table)
            witness = {"database": str(database), "staged": marker or next(iter(staged.values()))}
            with uninterrupted():
                with nullcontext() if beside is None else beside.placing(witness):
                    for statement in dialect.rename_all(staged, there, database.schema):
                        dialect.run(statement)
                    if marker is not None:
                        dialect.run(f"DROP TABLE {dialect.quote(database.schema, marker)}")
                    if dialect.undoes_definitions:
                        dialect.run("COMMIT")
                dialect.wipe(list(tables))


@contextlib.contextmanager
def _held(database: Database, dialect: Dialect, staged: Mapping[str, str]) -> Iterator[None]:
    """Keep other runs away from the tables, and remove what killed ones have left on the way to them."""
    with contextlib.ExitStack() as stack:
        for name in sorted(staged):
            place = str(database.with_table(name, database.schema))
            stack.enter_context(hold(dialect, database.schema, name, place))
        dialect.remove_for_good()
        there = dialect.tables(database.schema)
        for each in [left for name in staged for left in staged_for(name, there)]:
            dialect.run(f"DROP TABLE {dialect.quote(database.schema, each)}")
        yield


@contextlib.contextmanager
def _all_or_none(dialect: Dialect, schema: str | None, staged: Mapping[str, str]) -> Iterator[None]:
    """Take back what was made if something goes wrong."""
    if dialect.undoes_definitions:
        dialect.run(str(dialect.transaction))
    try:
        yield
    except BaseException:
        undo = [f"DROP TABLE {dialect.quote(schema, name)}" for name in staged.values()]
        for statement in ["ROLLBACK"] if dialect.undoes_definitions else undo:
            with contextlib.suppress(
                Exception
            ):  # some have rolled back by themselves; a table may not be there yet
                dialect.run(statement)
        raise


@contextlib.contextmanager
def _marked(
    dialect: Dialect, schema: str | None, staged: Mapping[str, str], beside: Together | None
) -> Iterator[str | None]:
    """Make a table that is gone once the others are there, where files go with them and nothing else would tell."""
    if beside is None or not beside.has_files or not dialect.undoes_definitions:
        yield None
        return
    import ibis

    marker = f"{next(iter(staged.values()))}{_PENDING}"
    dialect.create(marker, ibis.schema({"n": "int64"}), schema)
    try:
        yield marker
    finally:
        with contextlib.suppress(Exception):
            dialect.run(f"DROP TABLE IF EXISTS {dialect.quote(schema, marker)}")


def _kinds(table: pa.Table) -> ibis.Schema:
    import ibis

    kinds = ibis.memtable(table.slice(0, 0)).schema()
    return ibis.schema({name: kind.copy(nullable=True) for name, kind in kinds.items()})


def _check_kinds(place: Database, dialect: Dialect, table: pa.Table) -> None:
    for name, kind in _kinds(table).items():
        if not dialect.has(kind):
            raise OutputError(
                f"{place}: column {name!r} has type {kind}, which {dialect.name} does not have. Write to Parquet files or to "
                "another engine"
            )


def _stage(dialect: Dialect, schema: str | None, name: str, staged: str, table: pa.Table) -> None:
    """Write one table under another name, and compare what the database has with it."""
    kinds = _kinds(table)
    dialect.create(staged, kinds, schema)
    columns = [dialect.quote(column) for column in table.column_names]
    plain = normalize(table).unify_dictionaries()
    plain = pa.table({column: _decoded(plain[column]) for column in plain.column_names})
    dialect.load(dialect.quote(schema, staged), columns, plain.to_reader(1 << 16))
    with dialect.batches(dialect.table(staged, kinds, schema)) as batches:
        found = batches.read_all()
    if not rows_as_texts(found).equals(rows_as_texts(table)):
        raise OutputError(
            f"table {name!r}: the rows in the database differ from those written. Nothing was kept"
        )


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
