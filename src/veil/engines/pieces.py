"""Disjoint pieces of a table that an engine holds, for showing progress and for going on after a crash.

A piece is described by where its rows lie, not by what they hold: row numbers in a Parquet file, row ids in
a DuckDB or SQLite table, blocks of a PostgreSQL table. So a piece is found without reading the others, and it
is the same piece in the next run, as long as nobody has changed the table; `fingerprint` tells.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from veil.engines.dialects.quoting import quoted, text
from veil.tables.formats import Csv

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from veil.engines.relation import Relation
    from veil.engines.scan.files import Scan

_SQLITE_ROWS = 500_000  # SQLite hands over a result as Python objects, all of it at once
_CSV_BYTES_A_ROW = 50
_RANGES = 10_000  # more are never asked for, however wide apart row ids lie


class Chunk(NamedTuple):
    """A piece of a relation: the same columns, some of the rows."""

    label: str
    rows: int | None
    table: ir.Table


class _Span(NamedTuple):
    """Rows that lie together, from a file, a row id or a block on."""

    start: Any
    rows: int


def chunks(relation: Relation, rows: int = 5_000_000) -> list[Chunk]:
    """Cut a relation into pieces of about `rows` rows; together they are everything, and nothing twice.

    What is not a table or a set of files itself (a view, a query, a Spark frame) is one piece.

    >>> import ibis, pyarrow as pa
    >>> from veil.engines.relation import relation_of
    >>> connection = ibis.duckdb.connect()
    >>> people = connection.create_table("people", pa.table({"age": list(range(10))}))
    >>> [(each.label, each.rows) for each in chunks(relation_of(people), rows=4)]
    [('row ids from 0 on', 4), ('row ids from 4 on', 4), ('row ids from 8 on', 2)]
    """
    if relation.scan is not None:
        return _of_files(relation, relation.scan, rows)
    if _has_row_ids(relation):
        return _of_row_ids(relation, min(rows, _SQLITE_ROWS) if relation.kind == "sqlite" else rows)
    if _has_blocks(relation):
        return _of_blocks(relation, rows)
    return [Chunk("everything", None, relation.table)]


def fingerprint(relation: Relation) -> str | None:
    """Describe the state of the rows and of where they lie; None if a change could go unnoticed, or nobody finds them again.

    Files: name, size, time of change. A DuckDB table: a hash over all values and row ids. A PostgreSQL table:
    its file, its number of rows, and the sum of the transactions that wrote them; each insert, update and
    delete changes one of these. A SQLite table has nothing of the kind, and a copy is gone with the run that made it.
    """
    if relation.origin is not None:
        return None
    if relation.scan is not None:
        return " ".join(map(_file_state, relation.scan.files))
    if relation.kind == "duckdb" and _has_row_ids(relation):
        name = _quoted(relation)
        columns = ", ".join(quoted(relation.backend.dialect, column) for column in relation.table.columns)
        (found,) = _rows(relation, f"SELECT count(*), bit_xor(hash(rowid, {columns})) FROM {name}")
    elif _has_blocks(relation):
        name = _quoted(relation)
        (found,) = _rows(
            relation,
            f"SELECT pg_relation_filenode({text(name)}), count(*), sum(xmin::text::bigint) FROM {name}",
        )
    else:
        return None
    return " ".join(map(str, found))


def _of_files(relation: Relation, scan: Scan, rows: int) -> list[Chunk]:
    """Whole files together while they are small, and ranges of row numbers in a Parquet file that is large."""
    pieces = []
    spans = [_Span(name, _rows_of_file(name, scan)) for name in scan.files]
    for group in _gathered(spans, rows):
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
            table = _between(numbered, numbered.file_row_number, start, stop).drop("file_row_number")
            pieces.append(Chunk(f"{names[0]}, rows {start} to {stop}", stop - start, table))
    return pieces


def _rows_of_file(name: str, scan: Scan) -> int:
    """Return how many rows a Parquet file says it has, or a guess from the size of a CSV file."""
    if isinstance(scan.format, Csv):
        return os.path.getsize(name) // _CSV_BYTES_A_ROW
    import pyarrow.parquet as pq

    return int(pq.read_metadata(name).num_rows)


def _of_row_ids(relation: Relation, rows: int) -> list[Chunk]:
    if relation.kind == "duckdb":
        # Writing may make DuckDB tidy up deleted rows, and number the others anew; better now than later.
        with contextlib.suppress(Exception):
            relation.backend.raw_sql("CHECKPOINT")
    name = _quoted(relation)
    ((low, high),) = _rows(relation, f"SELECT min(rowid), max(rowid) FROM {name}")
    if low is None:
        return [Chunk("everything", 0, relation.table)]
    step = max(rows, -(-(high - low + 1) // _RANGES))
    divide = "//" if relation.kind == "duckdb" else "/"
    counted = _rows(
        relation,
        f"SELECT (rowid - ({low})) {divide} {step} AS piece, count(*) FROM {name} GROUP BY 1 ORDER BY 1",
    )
    spans = (_Span(low + piece * step, count) for piece, count in counted)
    row_id = relation.table.rowid()
    return _ranges(
        relation, spans, rows, "row ids", lambda start, stop: _between(relation.table, row_id, start, stop)
    )


def _of_blocks(relation: Relation, rows: int) -> list[Chunk]:
    """Ranges of blocks, which PostgreSQL finds without reading the others. The last one is open."""
    name = _quoted(relation)
    ((blocks, count),) = _rows(
        relation,
        f"SELECT pg_relation_size({text(name)}) / current_setting('block_size')::bigint, "
        f"(SELECT count(*) FROM {name})",
    )
    step = max(1, rows * blocks // max(count, 1))
    columns = ", ".join(quoted(relation.backend.dialect, each) for each in relation.table.columns)

    def piece(start: int, stop: int | None) -> ir.Table:
        until = "" if stop is None else f" AND ctid < '({stop},0)'::tid"
        query = f"SELECT {columns} FROM {name} WHERE ctid >= '({start},0)'::tid{until}"
        return relation.backend.sql(query, schema=relation.table.schema())

    starts = range(0, max(blocks, 1), step)
    spans = [_Span(start, count // len(starts)) for start in starts]
    return _ranges(relation, spans, 0, "blocks", piece)


def _ranges(
    relation: Relation,
    spans: Iterable[_Span],
    rows: int,
    what: str,
    piece: Callable[[Any, Any], ir.Table],
) -> list[Chunk]:
    groups = list(_gathered(spans, rows))
    if len(groups) == 1:
        return [Chunk("everything", sum(span.rows for span in groups[0]), relation.table)]
    starts = [group[0].start for group in groups]
    return [
        Chunk(f"{what} from {start} on", sum(span.rows for span in group), piece(start, stop))
        for group, start, stop in zip(groups, starts, [*starts[1:], None], strict=True)
    ]


def _gathered(spans: Iterable[_Span], rows: int) -> Iterator[list[_Span]]:
    """Put neighbours together as long as they hold at most `rows` rows."""
    group: list[_Span] = []
    held = 0
    for span in spans:
        if group and held + span.rows > rows:
            yield group
            group, held = [], 0
        group.append(span)
        held += span.rows
    if group:
        yield group


def _between(table: ir.Table, row_id: Any, start: int, stop: int | None) -> ir.Table:
    wanted = row_id >= start
    return table.filter(wanted if stop is None else wanted & (row_id < stop))


def _has_row_ids(relation: Relation) -> bool:
    if relation.kind not in ("duckdb", "sqlite") or physical(relation) is None:
        return False
    if any(name.lower() == "rowid" for name in relation.table.columns):
        return False  # a column of that name hides the row id
    try:
        _rows(relation, f"SELECT rowid FROM {_quoted(relation)} LIMIT 1")
    except Exception:  # a view of DuckDB, or a table of SQLite that was made without row ids
        return False
    return True


def _has_blocks(relation: Relation) -> bool:
    """Whether it is a table of PostgreSQL that holds its rows itself: no view, no partitions, no children."""
    if relation.kind != "postgres" or physical(relation) is None:
        return False
    name = text(_quoted(relation))
    ((kind, parent),) = _rows(
        relation, f"SELECT relkind::text, relhassubclass FROM pg_class WHERE oid = {name}::regclass"
    )
    return kind in ("r", "m") and not parent


def physical(relation: Relation) -> Any | None:
    """Return Ibis' description of the table if the relation is a table as it stands in the database."""
    import ibis.expr.operations as ops

    found = relation.table.op()
    return found if isinstance(found, ops.DatabaseTable) else None


def _quoted(relation: Relation) -> str:
    table: Any = physical(relation)
    place = table.namespace
    return quoted(relation.backend.dialect, place.catalog, place.database, table.name)


def _rows(relation: Relation, query: str) -> list[tuple[Any, ...]]:
    return list(relation.backend.raw_sql(query).fetchall())


def _file_state(name: str) -> str:
    state = os.stat(name)
    return f"{name} {state.st_ino} {state.st_size} {state.st_mtime_ns}"
