"""Copies of rows in a DuckDB of our own, where texts are compared byte by byte.

SQL Server, and any engine of Ibis that Veil does not know, may take different texts for equal (in case,
accents or trailing blanks), and a privacy decision must not rest on that. So such an engine only provides its
rows and stores those of the release; DuckDB does all counting, looking up, sampling and checking on the copy.

The copy is a file in a folder that only this user can open, and removed with the last reference to it, or on
an error or Ctrl-C. Its values are exactly those of the engine; a column that DuckDB cannot hold exactly is
refused. Times with a zone keep the instant, as with every engine, and are shown in UTC.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from veil.base.progress import Progress
from veil.engines.dialects import collect, new_duckdb
from veil.engines.failures import stop_queries
from veil.engines.kinds import duckdb_kind
from veil.engines.scan.files import check_case
from veil.errors import InputError

if TYPE_CHECKING:
    from veil.engines.relation import Relation

_TABLE = "brought_over"
_ROWS = 1 << 16


def needs_copy(relation: Relation) -> bool:
    """Whether rows have to be copied before anything is decided about them."""
    copying = relation.dialect.copying
    return copying == "always" or (copying == "if asked" and relation.settings.bring_over)


def bring_over(
    relation: Relation, columns: Iterable[str] | None = None, progress: Progress | None = None
) -> Relation:
    """Return a relation on a reliable engine: the same, or a copy of all or some columns.

    >>> import ibis
    >>> from veil.engines import relation_of
    >>> people = ibis.polars.connect({"people": ibis.memtable({"sex": ["f", "F"]}).to_polars()}).table("people")
    >>> copy = bring_over(relation_of(people))
    >>> copy.kind, copy.origin.kind, copy.table.sex.nunique().execute()
    ('duckdb', 'polars', 2)
    """
    with relation.explain_errors():
        return copy_rows(relation, columns, progress)


def copy_rows(
    relation: Relation, columns: Iterable[str] | None = None, progress: Progress | None = None
) -> Relation:
    """Do the same, but let the caller turn errors of the engine into messages without a password."""
    if not needs_copy(relation):
        return relation
    if (reason := relation.dialect.why_not_copied) is not None:
        raise InputError(f"{relation.name}: {reason}")
    selection = set(relation.table.columns if columns is None else columns)
    names = [name for name in relation.table.columns if name in selection]
    check_case(relation.name, names, "Rename one in a view, and give that")
    with contextlib.ExitStack() as undo:
        folder = relation.settings.private_folder()
        undo.callback(folder.remove)
        backend = new_duckdb(folder.files / "rows.duckdb")
        undo.callback(relation.settings.apply(backend, folder))
        undo.callback(stop_queries, backend)
        rows = _fill(backend, relation, names, progress or Progress(), str(folder.folder))
        undo.pop_all()
    note = (
        f"{rows:,} rows of {relation.name} were brought over to {folder.folder}, which is removed at the end"
    )
    return dataclasses.replace(
        relation, table=backend.table(_TABLE), backend=backend, origin=relation, note=note
    )


def _fill(backend: Any, relation: Relation, names: list[str], progress: Progress, folder: str) -> int:
    """Copy the rows, a batch at a time; return their number."""
    progress.phase(f"bringing rows over from {relation.kind}")
    table, done = relation.table.select(names), 0
    due = int(collect(relation.backend, table.aggregate(rows=table.count()))["rows"][0].as_py())
    with relation.batches(table, _ROWS) as batches:
        fields = [
            pa.field(each.name, _type_in_duckdb(each.type, relation.name, each.name))
            for each in batches.schema
        ]
        schema = pa.schema(fields)
        _insert(backend, schema.empty_table(), f"CREATE TABLE {_TABLE} AS")
        for batch in batches:
            _insert(backend, _cast(batch, schema, relation.name), f"INSERT INTO {_TABLE}")
            done += batch.num_rows
            progress.advance(done, due, f"to {folder}")
    if done != due:
        raise InputError(
            f"{relation.name}: had {due:,} rows, but {done:,} were read: it was changed in the meantime. "
            "Run it again when nobody is changing the table"
        )
    return done


def _insert(backend: Any, rows: pa.Table, statement: str) -> None:
    # Not in a transaction: until its end, DuckDB would keep every batch in memory.
    backend.con.register("veil_batch", rows)
    try:
        backend.raw_sql(f"{statement} SELECT * FROM veil_batch")
    finally:
        backend.con.unregister("veil_batch")


def _type_in_duckdb(kind: pa.DataType, name: str, column: str) -> pa.DataType:
    duckdb_type = duckdb_kind(kind)
    if duckdb_type is None:
        raise _loss_error(name, column, kind, "values of this type are not brought over")
    return duckdb_type


def _cast(batch: pa.RecordBatch, schema: pa.Schema, name: str) -> pa.Table:
    """Return a batch in the types of the copy; refuse values that would change."""
    columns = []
    for cells, field in zip(batch.columns, schema, strict=True):
        if isinstance(cells, pa.ExtensionArray):
            cells = cells.storage
        try:
            columns.append(cells.cast(field.type))
        except pa.ArrowException as error:
            raise _loss_error(name, field.name, cells.type, str(error)) from None
    return pa.table(columns, schema=schema)


def _loss_error(name: str, column: str, kind: pa.DataType, why: str) -> InputError:
    return InputError(
        f"{name}: column {column!r} has type {kind}, which cannot be brought over exactly ({why}). Leave it "
        "out of the table or let the plan drop it, or use a view that turns it into text, a number or a time "
        "in microseconds"
    )
