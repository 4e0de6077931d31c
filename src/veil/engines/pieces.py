"""Disjoint pieces of a table on an engine, to show progress and to continue after a crash.

A piece is described by the location of its rows, not by their values: row numbers in a Parquet file, row ids
in a DuckDB or SQLite table, blocks of a PostgreSQL table. So a piece is found without reading the others, and
it is the same piece in the next run, as long as the table is unchanged; `fingerprint` checks that.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from veil.engines.dialects.spans import Chunk, Span, between, gather_spans
from veil.tables.formats import Csv

if TYPE_CHECKING:
    from veil.engines.relation import Relation
    from veil.engines.scan.files import Scan

_CSV_BYTES_A_ROW = 50


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
    if relation.scan is not None:
        return _of_files(relation, relation.scan, rows)
    pieces = relation.dialect.pieces(relation.table, rows)
    return [Chunk("everything", None, relation.table)] if pieces is None else pieces


def fingerprint(relation: Relation) -> str | None:
    """Describe the state of the rows and their locations; None if a change could go unnoticed.

    Files: name, size, time of change. A DuckDB table: a hash over all values and row ids. A PostgreSQL table:
    its file, its number of rows, and the sum of the transactions that wrote them; each insert, update and
    delete changes one of these. A SQLite table has nothing of the kind, and a copy ends with its run.
    """
    if relation.origin is not None:
        return None
    if relation.scan is not None:
        return " ".join(map(_file_state, relation.scan.files))
    return relation.dialect.fingerprint(relation.table)


def _of_files(relation: Relation, scan: Scan, rows: int) -> list[Chunk]:
    """Return small files in groups, and ranges of row numbers of a large Parquet file."""
    pieces = []
    spans = [Span(name, _rows_of_file(name, scan)) for name in scan.files]
    for group in gather_spans(spans, rows):
        names = [span.start for span in group]
        total = sum(span.rows for span in group)
        if isinstance(scan.format, Csv) or total <= rows or "file_row_number" in relation.table.columns:
            label = names[0] if len(names) == 1 else f"{len(names)} files from {names[0]} to {names[-1]}"
            count = None if isinstance(scan.format, Csv) else total
            pieces.append(Chunk(label, count, scan.open(relation.backend, files=names)))
            continue
        numbered = scan.open(relation.backend, files=names, row_numbers=True)
        for start in range(0, total, rows):
            stop = min(start + rows, total)
            table = between(numbered, numbered.file_row_number, start, stop).drop("file_row_number")
            pieces.append(Chunk(f"{names[0]}, rows {start} to {stop}", stop - start, table))
    return pieces


def _rows_of_file(name: str, scan: Scan) -> int:
    """Return the number of rows in the metadata of a Parquet file, or a guess from the size of a CSV file."""
    if isinstance(scan.format, Csv):
        return os.path.getsize(name) // _CSV_BYTES_A_ROW
    import pyarrow.parquet as pq

    return int(pq.read_metadata(name).num_rows)


def _file_state(name: str) -> str:
    state = os.stat(name)
    return f"{name} {state.st_ino} {state.st_size} {state.st_mtime_ns}"
