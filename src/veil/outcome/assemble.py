"""Parts of a table, generalized to different levels, put together: the outcome of local recoding."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.classes.encoding import Levels
from veil.outcome.apply import apply_levels, blank_cells
from veil.outcome.outcome import Outcome, Part, prepared_part
from veil.plan.prepare import Prepared
from veil.published.flag import free_flag
from veil.tables.arrow import in_new_memory
from veil.tables.columns import is_text
from veil.tables.source import Source


def assemble(source: Source, prepared: Prepared, parts: Sequence[Part], hidden: NDArray[np.bool_]) -> Outcome:
    """Generalize each part to its levels, put the rows in their order, and blank those that are hidden."""
    prepared = prepared.named_by(parts)
    table, rows, flag = _put_together(prepared, parts, hidden)
    return Outcome(
        source,
        prepared.plan,
        table if prepared.weights is not None else in_new_memory(table),
        weights=prepared.weights_of(rows),
        rows=rows,
        hidden=hidden,
        flag=flag,
        parts=tuple(parts),
        prepared=prepared,
    )


def _put_together(
    prepared: Prepared, parts: Sequence[Part], hidden: NDArray[np.bool_]
) -> tuple[pa.Table, NDArray[np.int64] | None, str | None]:
    """Return the table, the rows of the input that are in it (None: all), and the name of its flag column."""
    plan, quasi_identifiers = prepared.plan, {*prepared.encoding.names, *prepared.plan.aggregated}
    shown = [part for part in parts if part.rows.size]
    pieces = [*shown, *([Part(parts[0].levels, np.flatnonzero(hidden))] if hidden.any() else [])]
    tables = [_generalize_rows(prepared_part(prepared, piece.rows), piece.levels) for piece in pieces]
    order = pa.array(np.argsort(np.concatenate([piece.rows for piece in pieces])))
    blank = pa.array(hidden)
    columns, ambiguous = {}, False
    for name in tables[0].column_names:
        chunks = [table[name] for table in tables]
        if name not in quasi_identifiers:
            columns[name] = _join_chunks(chunks).take(order)
            continue
        fresh = False
        if name not in plan.microaggregated:
            j = prepared.encoding.names.index(name)
            chunks = _of_one_type(prepared, j, pieces, chunks)
            originals = [chunk for part, chunk in zip(shown, chunks, strict=False) if part.levels[j] == 0]
            fresh = not any(_shows(chunk, plan.marker) for chunk in originals)
        columns[name], clash = blank_cells(_join_chunks(chunks).take(order), blank, plan.marker, fresh=fresh)
        ambiguous |= clash
    if not hidden.any():
        return pa.table(columns), None, None
    if plan.suppressed_rows == "drop":
        rows = np.flatnonzero(~hidden)
        return pa.table(columns).take(pa.array(rows)), rows, None
    flag = None
    if ambiguous:
        flag = free_flag(prepared.table.column_names)
        columns[flag] = blank
    return pa.table(columns), None, flag


def _generalize_rows(some: Prepared, levels: Levels) -> pa.Table:
    groups = some.sample.classes_of_rows(levels)[1]
    some = dataclasses.replace(
        some, weights=None
    )  # cells of parts are put together as they are, without codes
    return apply_levels(some, levels, groups, np.zeros(groups.size, np.bool_))[0]


def _of_one_type(
    prepared: Prepared, j: int, pieces: Sequence[Part], chunks: list[pa.ChunkedArray]
) -> list[pa.ChunkedArray]:
    """Spell original values as text where other records show labels."""
    if len({chunk.type for chunk in chunks}) == 1:
        return chunks
    labels = pa.array(prepared.encoding.hierarchies[j].labels[0], pa.string())
    return [
        chunk.cast(pa.string())
        if is_text(chunk.type)
        else pa.chunked_array([labels.take(pa.array(prepared.codes[j][piece.rows]))])
        for piece, chunk in zip(pieces, chunks, strict=True)
    ]


def _join_chunks(chunks: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    return pa.chunked_array([array for chunk in chunks for array in chunk.chunks], chunks[0].type)


def _shows(column: pa.ChunkedArray, marker: str | None) -> bool:
    return is_text(column.type) and bool(pc.any(pc.equal(column, pa.scalar(marker, column.type))).as_py())
