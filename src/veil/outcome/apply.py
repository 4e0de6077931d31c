"""From a node of the lattice to the cells of a table: generalizing, aggregating, blanking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.classes.encoding import Levels
from veil.plan.prepare import Prepared
from veil.published.flag import free_flag
from veil.tables.arrow import dictionary_encoded, in_new_memory


def apply_levels(
    prepared: Prepared, levels: Levels, groups: NDArray[np.int32], suppressed: NDArray[np.bool_]
) -> tuple[pa.Table, NDArray[np.int64] | None, str | None]:
    """Build the output table. Also return the rows that stay (None: all) and the name of the flag column.

    Of a condensed table, which may have millions of rows, quasi-identifiers stay dictionary-encoded.
    """
    plan, table = prepared.plan, prepared.table
    position = {name: j for j, name in enumerate(prepared.encoding.names)}
    treated = {*position, *plan.microaggregated}
    hidden = pa.array(suppressed)
    columns: dict[str, Any] = {}
    ambiguous = False
    for name in table.column_names:
        role = plan.role_of(name)
        if role == "dropped" or plan.identifying.get(name) == "remove":
            continue
        if role == "identifying":
            columns[name] = pa.array([plan.marker] * table.num_rows, pa.string())
        elif name in plan.microaggregated:
            made = _aggregate(prepared, name, groups, suppressed)
            columns[name], clash = blank_cells(made, hidden, plan.marker)
            ambiguous |= clash
        elif name in position:
            j = position[name]
            made = _generalize(prepared, j, levels[j], table[name])
            columns[name], clash = blank_cells(made, hidden, plan.marker, fresh=levels[j] > 0)
            ambiguous |= clash
        else:
            columns[name] = table[name]
    flag = None
    if plan.suppressed_rows == "keep" and ambiguous and suppressed.any():
        flag = free_flag(table.column_names)
        columns[flag] = hidden
    if prepared.weights is None:
        columns = {
            name: _decode_column(column) if name in treated else column for name, column in columns.items()
        }
    result = pa.table(columns)
    stay = np.ones(table.num_rows, np.bool_) if prepared.subset is None else prepared.subset
    if plan.suppressed_rows == "drop":
        stay = stay & ~suppressed
    rows = None if stay.all() else np.flatnonzero(stay)
    if rows is not None:
        return result.take(pa.array(rows)).combine_chunks(), rows, flag
    # What an engine holds is never handed out from here.
    return result if prepared.weights is not None else in_new_memory(result), rows, flag


def _generalize(
    prepared: Prepared, j: int, level: int, column: pa.ChunkedArray
) -> pa.ChunkedArray | pa.Array:
    if level > 0:
        hierarchy = prepared.encoding.hierarchies[j]
        labels = pa.array(hierarchy.labels[level], pa.string())
        return pa.DictionaryArray.from_arrays(
            pa.array(hierarchy.label_map(level)[prepared.codes[j]], pa.int32()), labels
        )
    return column


def _aggregate(
    prepared: Prepared, name: str, groups: NDArray[np.int32], suppressed: NDArray[np.bool_]
) -> pa.Array:
    """Return for each row the aggregate of the released values of its class."""
    from veil.outcome.aggregates import aggregate_groups

    column, how = prepared.table[name], prepared.plan.microaggregated[name]
    released = ~suppressed
    # Classes without a released record have no aggregate; their rows are not released either.
    numbers = np.full(int(groups.max()) + 1, -1, np.int64)
    present = np.unique(groups[released])
    numbers[present] = np.arange(present.size)
    found = aggregate_groups(
        column.filter(pa.array(released)), numbers[groups[released]], how, name, keep_type=True
    )
    found = _decode_column(found)
    rows = numbers[groups]
    return found.take(pa.array(rows, mask=rows < 0))


def blank_cells(
    column: pa.ChunkedArray | pa.Array, hidden: pa.Array, marker: str | None, *, fresh: bool = False
) -> tuple[pa.ChunkedArray | pa.Array, bool]:
    """Blank the suppressed cells of a column.

    Also return whether a cell that is not suppressed looks like one that is; labels of a hierarchy (`fresh`)
    that look so are nothing new.
    """
    coded = pa.types.is_dictionary(column.type)
    kind = column.type.value_type if coded else column.type
    blank = pa.scalar(marker if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None, kind)
    if coded:
        return _blank_codes(column, np.array(hidden), blank, fresh=fresh)
    shown = pc.filter(column, pc.invert(hidden))
    if blank.is_valid:
        clash = not fresh and bool(pc.any(pc.equal(shown, blank)).as_py())
    else:
        clash = shown.null_count > 0
    return pc.if_else(hidden, blank, column), clash


def _blank_codes(
    column: pa.ChunkedArray | pa.Array, hidden: NDArray[np.bool_], blank: pa.Scalar, *, fresh: bool
) -> tuple[pa.Array, bool]:
    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    values, codes = dictionary_encoded(chunked)
    looks_blank = np.array(
        pc.is_null(values) if not blank.is_valid else pc.equal(values, blank).fill_null(False)
    )
    clash = bool(np.isin(np.flatnonzero(looks_blank), codes[~hidden]).any())
    values = pa.concat_arrays([values, pa.array([blank.as_py()], values.type)])
    codes = np.where(hidden, np.int32(len(values) - 1), codes)
    made = pa.DictionaryArray.from_arrays(pa.array(codes), values)
    return made, clash and not (fresh and blank.is_valid)


def _decode_column(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
