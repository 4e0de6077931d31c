"""Sets of items in a table: as lists, as text with a separator, or as one row for each item of a person."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.base.arrays import Integers
from veil.errors import InputError
from veil.tables.arrow import with_one_zero
from veil.tables.columns import encode_values, is_list, is_text


@dataclass(frozen=True, eq=False)
class Baskets:
    """The set of each record, by number: set s has the items `codes[starts[s] : starts[s + 1]]`, sorted.

    `items` are the distinct items in the order of their values. A missing set is an empty one, and a missing
    item, or an empty text, is no item.
    """

    items: pa.Array
    starts: Integers
    codes: Integers
    set_of: Integers
    item_of: Integers
    """The item of each row, or of each place in the lists; -1 if it is missing."""

    @staticmethod
    def of_column(column: pa.ChunkedArray, name: str, separator: str) -> Baskets:
        """Return the sets of a column of lists, or of text with a separator.

        >>> baskets = Baskets.of_column(pa.chunked_array([["b,a", None, "a,b,b"]]), "items", ",")
        >>> baskets.items.to_pylist(), baskets.codes.tolist(), baskets.set_of.tolist()
        (['a', 'b'], [0, 1], [0, 1, 0])
        """
        if is_text(column.type):
            column = pc.split_pattern(column.cast(pa.large_string()), separator)
        if not is_list(column.type) or pa.types.is_nested(column.type.value_type):
            raise InputError(
                f"column {name!r} should hold sets of items, as lists or as text with a separator, but holds values of type "
                f"{column.type}. For a table with one row for each item of a person, name the column of `person`"
            )
        lists = column.cast(pa.large_list(column.type.value_type)).combine_chunks()
        if isinstance(lists, pa.ChunkedArray):  # no chunks
            lists = pa.array([], lists.type)
        lengths = np.array(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)
        rows = np.repeat(np.arange(len(lists)), lengths)
        return Baskets.of_rows(rows, pa.chunked_array([lists.flatten()]), len(lists))

    @staticmethod
    def of_rows(owners: Integers, items: pa.ChunkedArray, number: int) -> Baskets:
        """Return the sets of `number` owners, who have an item in each of their rows."""
        if pa.types.is_dictionary(items.type):
            items = items.cast(items.type.value_type)
        if is_text(items.type):
            items = items.cast(pa.string())
        values, codes = encode_values(with_one_zero(items))
        valid = np.array(pc.is_valid(values), dtype=np.bool_)
        if is_text(values.type):
            valid &= np.array(pc.fill_null(pc.not_equal(values, ""), False), dtype=np.bool_)
        sortable = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
        order = np.array(pc.array_sort_indices(sortable), dtype=np.int64)
        order = order[valid[order]]
        place = np.full(len(values), -1, np.int64)
        place[order] = np.arange(order.size)
        there = valid[codes]
        width = max(1, order.size)
        pairs = np.unique(owners[there] * width + place[codes[there]])
        starts = np.append(0, np.cumsum(np.bincount(pairs // width, minlength=number)))
        lists = pa.LargeListArray.from_arrays(pa.array(starts), pa.array(pairs % width))
        different, set_of = encode_values(pa.chunked_array([lists]))
        lengths = np.array(pc.list_value_length(different), dtype=np.int64)
        return Baskets(
            values.take(pa.array(order)),
            np.append(0, np.cumsum(lengths)),
            np.array(different.flatten(), dtype=np.int64) if len(different) else np.empty(0, np.int64),
            set_of.astype(np.int64),
            place[codes],
        )
