"""Apply a node of the lattice to a table: generalize, aggregate, blank."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.outcome.result import CellLevels, Origins
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared
from veil.published.blank import shows_nothing
from veil.published.flag import free_flag
from veil.tables.arrow import decode_column, dictionary_encoded, has_ordered_categories
from veil.tables.columns import number_rows

Column: TypeAlias = pa.ChunkedArray | pa.Array
Mask = NDArray[np.bool_]


def apply_levels(
    prepared: Prepared,
    levels: CellLevels,
    suppressed_mask: Mask,
    *,
    shuffle: bool = False,
) -> tuple[pa.Table, Origins, str | None]:
    """Return the output table, the input row of each of its rows, and the flag column.

    In a condensed table, which may have millions of rows, quasi-identifiers stay dictionary-encoded.
    """
    plan, table = prepared.plan, prepared.table
    stay = np.ones(table.num_rows, np.bool_) if prepared.subset is None else prepared.subset
    origins = origins_out(stay, suppressed_mask, plan, shuffle=shuffle)
    columns = _generalize_columns(prepared, levels, suppressed_mask)
    columns = {name: origins.take(column) for name, column in columns.items()}
    quasi_identifiers = {*prepared.encoding.names, *plan.microaggregated}
    columns, flag = blank_rows(columns, origins.pick(suppressed_mask), prepared, quasi_identifiers)
    if prepared.rows.weights.are_one:
        columns |= {name: decode_column(columns[name]) for name in quasi_identifiers & columns.keys()}
    return pa.table(columns), origins, flag


def _generalize_columns(prepared: Prepared, levels: CellLevels, suppressed_mask: Mask) -> dict[str, Column]:
    """Return the columns of the output for all records, with aggregates over those not suppressed."""
    plan, table = prepared.plan, prepared.table
    position = {name: j for j, name in enumerate(prepared.encoding.names)}
    groups = _classes_of_rows(prepared, levels) if plan.microaggregated else None
    columns: dict[str, Column] = {}
    for name in table.column_names:
        role = plan.role_of(name)
        if role == "dropped" or plan.identifying.get(name) in ("remove", "pseudonym"):
            continue  # pseudonyms are added once it is decided which rows stay
        if role == "identifying":
            columns[name] = pa.array([plan.marker] * table.num_rows, pa.string())
        elif groups is not None and name in plan.microaggregated:
            columns[name] = _aggregate(prepared, name, groups, suppressed_mask)
        elif name in position:
            columns[name] = _generalize(prepared, position[name], levels, table[name])
        else:
            columns[name] = table[name]
    return columns


def origins_out(released_mask: Mask, suppressed_mask: Mask, plan: Plan, *, shuffle: bool) -> Origins:
    """Return the input row of each row of the output, shuffled if asked."""
    if plan.suppressed_rows == "drop":
        released_mask = released_mask & ~suppressed_mask
    if released_mask.all() and not shuffle:
        return Origins(released_mask.size)
    rows = np.flatnonzero(released_mask)
    return Origins(rows.size, rows[Randomness().permutation(rows.size)] if shuffle else rows)


def blank_rows(
    columns: dict[str, Column], suppressed_mask: Mask, prepared: Prepared, quasi_identifiers: Set[str]
) -> tuple[dict[str, Column], str | None]:
    """Blank the suppressed rows: every cell, or those of the columns an attacker may know.

    Also return the name of the flag column, new to the input and added if another row looks suppressed. In a
    condensed table, the engine checks whether columns that only it reads distinguish them.
    """
    plan = prepared.plan
    if suppressed_mask.any():
        columns = {
            name: blank_cells(column, suppressed_mask, plan.marker)
            if name in quasi_identifiers or plan.suppressed_rows == "blank"
            else column
            for name, column in columns.items()
        }
    if plan.suppressed_rows != "blank":
        return columns, None
    blank_count, released_count = _count_blank(columns, suppressed_mask, plan.marker)
    if not blank_count or (blank_count == released_count and prepared.rows.weights.are_one):
        return columns, None
    flag = free_flag(prepared.table.column_names)
    return {**columns, flag: pa.array(suppressed_mask)}, flag


def _count_blank(columns: Mapping[str, Column], suppressed_mask: Mask, marker: str | None) -> tuple[int, int]:
    """Count the released rows that look suppressed, and all released rows."""
    blank = released_rows = np.flatnonzero(~suppressed_mask)
    for column in columns.values():
        blank = blank[shows_nothing(column, marker)[blank]] if blank.size else blank
    return blank.size, released_rows.size


def _generalize(prepared: Prepared, j: int, cell_levels: CellLevels, column: pa.ChunkedArray) -> Column:
    """Return the labels of a column; original values as text beside labels."""
    levels, used = cell_levels.of_rows[:, j], cell_levels.of_column(j)
    if used == [0]:
        return column
    hierarchy, codes = prepared.encoding.hierarchies[j], prepared.codes[j]
    if len(used) == 1:
        labels = pa.array(hierarchy.labels[used[0]], pa.string())
        places = hierarchy.label_map(used[0])[codes]
        return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), labels)
    # One look-up for all levels; a text that labels of several levels share is there once.
    texts = pa.concat_arrays([pa.array(hierarchy.labels[level], pa.string()) for level in used])
    encoded = texts.dictionary_encode(null_encoding="encode")
    first = np.cumsum([0, *(len(hierarchy.labels[level]) for level in used[:-1])])
    maps = np.stack([hierarchy.label_map(level) + start for level, start in zip(used, first, strict=True)])
    places = np.asarray(encoded.indices)[maps[np.searchsorted(used, levels), codes]]
    cells = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), encoded.dictionary)
    if used[0] > 0 or decode_column(column).type != pa.string():
        return cells
    return pc.if_else(pa.array(levels == 0), decode_column(column), decode_column(cells))


def _classes_of_rows(prepared: Prepared, levels: CellLevels) -> NDArray[np.int32]:
    """Return the class of each row; classes of different parts differ."""
    if len(levels) == 1:
        return prepared.sample.classes_of_rows(tuple(levels.vectors[0].tolist()))[1]
    by_row = levels.of_rows
    classes = number_rows(levels.part.astype(np.int64))
    for j, hierarchy in enumerate(prepared.encoding.hierarchies):
        maps = np.stack([hierarchy.label_map(level) for level in range(hierarchy.height + 1)])
        labels = maps[by_row[:, j], prepared.codes[j]].astype(np.int64)
        classes = number_rows(classes.astype(np.int64) * hierarchy.size + labels)
    return classes


def _aggregate(prepared: Prepared, name: str, groups: NDArray[np.int32], suppressed_mask: Mask) -> pa.Array:
    """Return for each row the aggregate of the released values of its class."""
    from veil.outcome.aggregates import aggregate_people

    column, how = prepared.table[name], prepared.plan.microaggregated[name]
    released_mask = ~suppressed_mask
    # Classes without a released record have no aggregate; their rows are not released either.
    numbers = np.full(int(groups.max()) + 1, -1, np.int64)
    present = np.unique(groups[released_mask])
    numbers[present] = np.arange(present.size)
    values, rows = column.filter(pa.array(released_mask)), numbers[groups]
    owners = prepared.rows.owners.take(released_mask)
    aggregates = aggregate_people(values, rows[released_mask], owners, how, name, keep_type=True)
    return decode_column(aggregates).take(pa.array(rows, mask=rows < 0))


def blank_cells(column: Column, blank_mask: Mask, marker: str | None) -> Column:
    """Blank some cells of a column: the marker in text, a missing value in anything else."""
    blank = _blank(column.type, marker)
    if not pa.types.is_dictionary(column.type):
        # The value under a blank cell disappears when the table is copied to new memory.
        try:
            return pc.if_else(pa.array(blank_mask), blank, column)
        except pa.ArrowNotImplementedError:  # some nested types
            return column.take(pa.array(np.arange(len(column)), mask=blank_mask))
    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    values, codes = dictionary_encoded(chunked)
    if has_ordered_categories(column.type):  # keep all categories in their order
        categories = chunked.unify_dictionaries().chunk(0).dictionary.drop_null()
        codes = np.array(pc.index_in(values, categories).fill_null(-1), dtype=np.int32)[codes]
        values = categories
    else:
        codes = np.where(np.array(pc.is_null(values), dtype=np.bool_)[codes], np.int32(-1), codes)
    place = pc.index(values, blank).as_py() if blank.is_valid else -1
    if blank.is_valid and place < 0:
        place = len(values)
        values = pa.concat_arrays([values, pa.array([blank.as_py()], values.type)])
    codes = np.where(blank_mask, np.int32(place), codes)
    indices = pa.array(codes, mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, values, ordered=column.type.ordered)


def _blank(kind: pa.DataType, marker: str | None) -> pa.Scalar:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.scalar(marker if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None, kind)
