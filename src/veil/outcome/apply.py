"""From a node of the lattice to the cells of a table: generalizing, aggregating, blanking."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.classes.encoding import Levels
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared
from veil.published.blank import shows_nothing
from veil.published.flag import free_flag
from veil.tables.arrow import dictionary_encoded, has_ordered_categories, in_new_memory

Column: TypeAlias = pa.ChunkedArray | pa.Array


def apply_levels(
    prepared: Prepared,
    levels: Levels,
    groups: NDArray[np.int32],
    suppressed: NDArray[np.bool_],
    *,
    shuffle: bool = False,
) -> tuple[pa.Table, NDArray[np.int64] | None, str | None]:
    """Build the output table. Also return the input row of each of its rows (None: all, in their order) and the flag column.

    Of a condensed table, which may have millions of rows, quasi-identifiers stay dictionary-encoded.
    """
    plan, table = prepared.plan, prepared.table
    stay = np.ones(table.num_rows, np.bool_) if prepared.subset is None else prepared.subset
    rows = rows_out(stay, suppressed, plan, shuffle=shuffle)
    columns = generalize_columns(prepared, levels, groups, suppressed)
    if rows is not None:
        columns = {name: column.take(pa.array(rows)) for name, column in columns.items()}
    known = {*prepared.encoding.names, *plan.microaggregated}
    hidden = suppressed if rows is None else suppressed[rows]
    columns, flag = blank_rows(columns, hidden, prepared, known)
    if prepared.weights is None:
        columns = {name: decode_column(each) if name in known else each for name, each in columns.items()}
    result = pa.table(columns)
    # What an engine holds is never handed out from here; whatever is, has nothing below its blank cells.
    return result.combine_chunks() if prepared.weights is not None else in_new_memory(result), rows, flag


def generalize_columns(
    prepared: Prepared, levels: Levels, groups: NDArray[np.int32], suppressed: NDArray[np.bool_]
) -> dict[str, Column]:
    """Return the columns of the output for all records; aggregates are those of records that are not suppressed."""
    plan, table = prepared.plan, prepared.table
    position = {name: j for j, name in enumerate(prepared.encoding.names)}
    columns: dict[str, Column] = {}
    for name in table.column_names:
        role = plan.role_of(name)
        if role == "dropped" or plan.identifying.get(name) in ("remove", "pseudonym"):
            continue  # pseudonyms come in once it is settled which rows stay
        if role == "identifying":
            columns[name] = pa.array([plan.marker] * table.num_rows, pa.string())
        elif name in plan.microaggregated:
            columns[name] = _aggregate(prepared, name, groups, suppressed)
        elif name in position:
            columns[name] = _generalize(prepared, position[name], levels[position[name]], table[name])
        else:
            columns[name] = table[name]
    return columns


def rows_out(
    stay: NDArray[np.bool_], suppressed: NDArray[np.bool_], plan: Plan, *, shuffle: bool
) -> NDArray[np.int64] | None:
    """Return the input row of each row of the output, in a random order if asked; None: all, in their order."""
    if plan.suppressed_rows == "drop":
        stay = stay & ~suppressed
    if not shuffle:
        return None if stay.all() else np.flatnonzero(stay)
    rows = np.flatnonzero(stay)
    return rows[Randomness().permutation(rows.size)]


def blank_rows(
    columns: dict[str, Column], hidden: NDArray[np.bool_], prepared: Prepared, known: Set[str]
) -> tuple[dict[str, Column], str | None]:
    """Blank the suppressed rows: every cell, or those of the columns an attacker may know.

    Also return the name of the column that was added to tell which rows are suppressed, if another row looks the same:
    one that is not among the names of the input. Of a condensed table, further columns may tell them apart, which its
    engine finds out.
    """
    plan = prepared.plan
    if hidden.any():
        columns = {
            name: blank_cells(column, hidden, plan.marker)
            if name in known or plan.suppressed_rows == "blank"
            else column
            for name, column in columns.items()
        }
    blank, shown = _count_blank(columns, hidden, plan.marker) if plan.suppressed_rows == "blank" else (0, 0)
    if not blank or (blank == shown and prepared.weights is None):
        return columns, None
    flag = free_flag(prepared.table.column_names)
    return {**columns, flag: pa.array(hidden)}, flag


def _count_blank(
    columns: Mapping[str, Column], hidden: NDArray[np.bool_], marker: str | None
) -> tuple[int, int]:
    """Count the rows that look suppressed and are not, and all that are not. If all do, the table says nothing at all."""
    rows = shown = np.flatnonzero(~hidden)
    for column in columns.values():
        rows = rows[shows_nothing(column, marker)[rows]] if rows.size else rows
    return rows.size, shown.size


def _generalize(prepared: Prepared, j: int, level: int, column: pa.ChunkedArray) -> Column:
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
        column.filter(pa.array(released)), numbers[groups[released]], how, name, keep_type=True, least=2
    )
    found = decode_column(found)
    rows = numbers[groups]
    return found.take(pa.array(rows, mask=rows < 0))


def blank_cells(column: Column, hidden: NDArray[np.bool_], marker: str | None) -> Column:
    """Blank some cells of a column: the marker in text, a missing value in anything else."""
    blank = _blank(column.type, marker)
    if not pa.types.is_dictionary(column.type):
        # What stands below a blank cell is left behind when the table gets memory of its own.
        try:
            return pc.if_else(pa.array(hidden), blank, column)
        except pa.ArrowNotImplementedError:  # some nested types
            return column.take(pa.array(np.arange(len(column)), mask=hidden))
    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    values, codes = dictionary_encoded(chunked)
    if has_ordered_categories(column.type):  # which stay in their order, and those that are missing so
        known = chunked.unify_dictionaries().chunk(0).dictionary.drop_null()
        codes = np.array(pc.index_in(values, known).fill_null(-1), dtype=np.int32)[codes]
        values = known
    else:
        codes = np.where(np.array(pc.is_null(values), dtype=np.bool_)[codes], np.int32(-1), codes)
    place = pc.index(values, blank).as_py() if blank.is_valid else -1
    if blank.is_valid and place < 0:
        place = len(values)
        values = pa.concat_arrays([values, pa.array([blank.as_py()], values.type)])
    codes = np.where(hidden, np.int32(place), codes)
    made = pa.array(codes, mask=codes < 0)
    return pa.DictionaryArray.from_arrays(made, values, ordered=column.type.ordered)


def _blank(kind: pa.DataType, marker: str | None) -> pa.Scalar:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.scalar(marker if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None, kind)


def decode_column(column: Column) -> Column:
    """Return the cells of a column instead of codes of them."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
