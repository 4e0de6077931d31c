"""Several tables written to a database in one transaction, or renamed in one statement: all or none."""

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
from veil.engines.write.rows import decode, rows_as_texts
from veil.engines.write.staging_tables import kinds_for, lock_table, staging_prefix, staging_tables
from veil.engines.write.tables import TableTarget, backend_of, is_new_file
from veil.errors import OutputError, Say
from veil.tables.atomic import AtomicWrite
from veil.tables.journal import Witness, recover

if TYPE_CHECKING:
    import ibis

_PENDING = "_pending"
"""Ends the name of a table that exists until the others do."""


def check_database(
    database: Database,
    names: Sequence[str],
    relations: Sequence[Relation],
    *,
    overwrite: bool,
    beside: Sequence[Path] = (),
) -> None:
    """Refuse a database that tables cannot be written to.

    Files `beside` them that a killed run has put in place without the tables are put back.
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
    if is_new_file(database):
        return
    import_ibis()
    backend = backend_of(database, relations)
    dialect = dialect_of(backend)
    existing = dialect.tables(database.schema)

    def has_taken_place(witness: Witness) -> bool | None:
        return witness["staged"] not in existing if witness.get("database") == str(database) else None

    for witness in recover(beside, has_taken_place):
        if str(witness.get("staged")).endswith(_PENDING):
            dialect.run(f"DROP TABLE {dialect.quote(database.schema, witness['staged'])}")
    for name in names:
        place = database.with_table(name, database.schema)
        for relation in relations:
            if TableTarget(place, backend, relation, "", overwrite).is_source():
                raise OutputError(f"{place}: is the input. Choose another database, or another schema")
        if name in existing and not overwrite:
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
    beside: AtomicWrite | None = None,
) -> None:
    """Write tables to a database, each under its name, and read them back before they are visible.

    `relations` are the sources, which are never overwritten. Files `beside` the tables appear with them.
    """
    with explain_errors(str(database), OutputError, database.secrets()):
        check_database(database, list(tables), relations, overwrite=overwrite)
        import_ibis()
        dialect = dialect_of(backend_of(database, relations))
        kinds = {
            name: _kinds(str(database.with_table(name, database.schema)), dialect, table)
            for name, table in tables.items()
        }
        mark = secrets.token_hex(6)
        staging = {name: f"{staging_prefix(name)}{mark}" for name in tables}
        with (
            _locked(database, dialect, staging),
            _pending_marker(dialect, database.schema, staging, beside) as marker,
            _all_or_none(dialect, database.schema, staging),
        ):
            existing = set(dialect.tables(database.schema))
            for name in [] if overwrite else [each for each in tables if each in existing]:
                place = database.with_table(name, database.schema)
                raise OutputError(f"{place}: has been made by somebody else meanwhile")
            for name, table in tables.items():
                _stage(dialect, database.schema, name, staging[name], table, kinds[name])
            witness = {"database": str(database), "staged": marker or next(iter(staging.values()))}
            with uninterrupted():
                with nullcontext() if beside is None else beside.placing(witness):
                    for statement in dialect.rename_all(staging, existing, database.schema):
                        dialect.run(statement)
                    if marker is not None:
                        dialect.run(f"DROP TABLE {dialect.quote(database.schema, marker)}")
                    if dialect.undoes_definitions:
                        dialect.run("COMMIT")
                dialect.wipe(list(tables))


@contextlib.contextmanager
def _locked(database: Database, dialect: Dialect, staging: Mapping[str, str]) -> Iterator[None]:
    """Lock the tables against other runs, and remove staging tables of killed ones."""
    with contextlib.ExitStack() as stack:
        for name in sorted(staging):
            place = str(database.with_table(name, database.schema))
            stack.enter_context(lock_table(dialect, database.schema, name, place))
        dialect.remove_for_good()
        existing = dialect.tables(database.schema)
        for each in [left for name in staging for left in staging_tables(name, existing)]:
            dialect.run(f"DROP TABLE {dialect.quote(database.schema, each)}")
        yield


@contextlib.contextmanager
def _all_or_none(dialect: Dialect, schema: str | None, staging: Mapping[str, str]) -> Iterator[None]:
    """Undo everything on an error."""
    if dialect.undoes_definitions:
        dialect.run(str(dialect.transaction))
    try:
        yield
    except BaseException:
        undo = [f"DROP TABLE {dialect.quote(schema, name)}" for name in staging.values()]
        for statement in ["ROLLBACK"] if dialect.undoes_definitions else undo:
            with contextlib.suppress(Exception):  # rolled back already, or no such table yet
                dialect.run(statement)
        raise


@contextlib.contextmanager
def _pending_marker(
    dialect: Dialect, schema: str | None, staging: Mapping[str, str], beside: AtomicWrite | None
) -> Iterator[str | None]:
    """Create a table that is dropped when the others appear, to witness that for the files beside them."""
    if beside is None or not beside.has_files or not dialect.undoes_definitions:
        yield None
        return
    import ibis

    marker = f"{next(iter(staging.values()))}{_PENDING}"
    dialect.create(marker, ibis.schema({"n": "int64"}), schema)
    try:
        yield marker
    finally:
        with contextlib.suppress(Exception):
            dialect.run(f"DROP TABLE IF EXISTS {dialect.quote(schema, marker)}")


def _kinds(place: str, dialect: Dialect, table: pa.Table) -> ibis.Schema:
    import ibis

    return kinds_for(place, dialect, ibis.memtable(table.slice(0, 0)))


def _stage(
    dialect: Dialect, schema: str | None, name: str, staging: str, table: pa.Table, kinds: ibis.Schema
) -> None:
    """Write one table under its staging name, and compare the rows in the database with it."""
    dialect.create(staging, kinds, schema)
    columns = [dialect.quote(column) for column in table.column_names]
    plain = decode(table)
    dialect.load(dialect.quote(schema, staging), columns, plain.to_reader(1 << 16))
    with dialect.batches(dialect.table(staging, kinds, schema)) as batches:
        rows = batches.read_all()
    if not rows_as_texts(rows).equals(rows_as_texts(table)):
        raise OutputError(
            f"table {name!r}: the rows in the database differ from those written. Nothing was kept"
        )
