"""The outcome of local recoding: parts of a table, generalized to different levels, put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.classes.encoding import Levels
from veil.outcome.apply import Column, blank_rows, generalize_columns, origins_out
from veil.outcome.outcome import Outcome, outcome_of_plan, prepared_part
from veil.outcome.pseudonyms import with_pseudonyms
from veil.outcome.result import Origins, RecodedPart
from veil.plan.prepare import Prepared
from veil.tables.arrow import decode_column
from veil.tables.columns import is_text
from veil.tables.source import Source


def assemble(
    source: Source,
    prepared: Prepared,
    parts: Sequence[RecodedPart],
    suppressed_mask: NDArray[np.bool_],
    *,
    shuffle: bool = False,
) -> Outcome:
    """Generalize each part to its levels, put the rows together, and blank the suppressed ones."""
    prepared = prepared.named_by(parts)
    table, origins, flag = _assemble_table(prepared, parts, suppressed_mask, shuffle=shuffle)
    table, key = with_pseudonyms(table, prepared, origins, suppressed_mask)
    return outcome_of_plan(source, prepared, table, origins, suppressed_mask, parts, flag=flag, apart=key)


def _assemble_table(
    prepared: Prepared, parts: Sequence[RecodedPart], suppressed_mask: NDArray[np.bool_], *, shuffle: bool
) -> tuple[pa.Table, Origins, str | None]:
    """Return the table, the input row of each of its rows, and its flag column."""
    plan, quasi_identifiers = prepared.plan, {*prepared.encoding.names, *prepared.plan.aggregated}
    pieces = [part for part in parts if part.rows.size]
    pieces += [RecodedPart(parts[0].levels, np.flatnonzero(suppressed_mask))] if suppressed_mask.any() else []
    tables = [_generalize_rows(prepared_part(prepared, piece.rows), piece.levels) for piece in pieces]
    order = np.argsort(np.concatenate([piece.rows for piece in pieces]))
    origins = origins_out(np.ones(suppressed_mask.size, np.bool_), suppressed_mask, plan, shuffle=shuffle)
    order = origins.pick(order)
    columns: dict[str, Column] = {}
    for name in tables[0].column_names:
        chunks = [table[name] for table in tables]
        if name in prepared.encoding.names and name not in plan.microaggregated:
            chunks = _of_one_type(prepared, prepared.encoding.names.index(name), pieces, chunks)
        columns[name] = _join_chunks(chunks).take(pa.array(order))
    columns, flag = blank_rows(columns, origins.pick(suppressed_mask), prepared, quasi_identifiers)
    return pa.table(columns), origins, flag


def _generalize_rows(part: Prepared, levels: Levels) -> pa.Table:
    groups = part.sample.classes_of_rows(levels)[1]
    columns = generalize_columns(part, levels, groups, np.zeros(groups.size, np.bool_))
    # Parts are joined as cells: codes differ from part to part.
    for name in {*part.encoding.names, *part.plan.microaggregated} & columns.keys():
        columns[name] = decode_column(columns[name])
    return pa.table(columns)


def _of_one_type(
    prepared: Prepared, j: int, pieces: Sequence[RecodedPart], chunks: list[pa.ChunkedArray]
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
