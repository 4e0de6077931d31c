"""Disjoint pieces of a table on an engine, to show progress and to continue after a crash.

A piece is described by the location of its rows, not by their values: row numbers in a Parquet file, row ids
in a DuckDB or SQLite table, blocks of a PostgreSQL table. So a piece is found without reading the others, and
it is the same piece in the next run, as long as the table is unchanged; `fingerprint` checks that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veil.engines.dialects.spans import Chunk

if TYPE_CHECKING:
    from veil.engines.relation import Relation


def chunks(relation: Relation, rows: int = 5_000_000) -> list[Chunk]:
    """Cut a relation into disjoint pieces of about `rows` rows, which together are the whole.

    A view, a query or a Spark frame, which is no stored table or set of files, is one piece.

    >>> import ibis, pyarrow as pa
    >>> from veil.engines.relation import relation_of
    >>> connection = ibis.duckdb.connect()
    >>> people = connection.create_table("people", pa.table({"age": list(range(10))}))
    >>> [(each.label, each.rows) for each in chunks(relation_of(people), rows=4)]
    [('row ids from 0 on', 4), ('row ids from 4 on', 4), ('row ids from 8 on', 2)]
    """
    return relation.scan.chunks(relation.table, relation.dialect, rows)


def fingerprint(relation: Relation) -> str | None:
    """Describe the state of the rows and their locations; None if a change could go unnoticed.

    Files: name, size, time of change. A DuckDB table: a hash over all values and row ids. A PostgreSQL table:
    its file, its number of rows, and the sum of the transactions that wrote them; each insert, update and
    delete changes one of these. A SQLite table has nothing of the kind, and a copy ends with its run.
    """
    if relation.origin is not None:
        return None
    return relation.scan.fingerprint(relation.table, relation.dialect)
