"""Columns as arrays: values and codes, numbers, ranks, groups; and tests of their types."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.errors import InputError, PlanError, did_you_mean
from veil.tables.arrow import dictionary_encoded, has_ordered_categories, used_categories, with_one_zero
from veil.tables.canonical import widened
from veil.tables.text import canonical_text

_LONG = 1_000_000
"""Cells from which on several threads pay off."""


Encoded = tuple[pa.Array, NDArray[np.int32]]


def encode_comparable(column: pa.ChunkedArray, name: str) -> Encoded:
    """Encode comparable values, with 0.0 for -0.0, which do not make a class diverse; refuse other types."""
    check_comparable(column, name)
    return encode_values(with_one_zero(column))


def check_comparable(column: pa.ChunkedArray, name: str) -> None:
    """Refuse structures, lists of lists and extension types, which cannot be compared."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    item = kind.value_type if is_list(kind) else kind
    if pa.types.is_nested(item) or pa.types.is_interval(item) or isinstance(item, pa.BaseExtensionType):
        raise InputError(
            f"column {name!r} holds values of type {kind}, which cannot be compared: turn them into text or "
            "numbers, or leave the column out"
        )


def encode_columns(columns: Sequence[pa.ChunkedArray]) -> list[Encoded]:
    """Encode several columns, in parallel if they are long."""
    if sum(map(len, columns)) < _LONG:
        return [encode_values(column) for column in columns]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(encode_values, columns))


def encode_values(column: pa.ChunkedArray) -> Encoded:
    """Return the different values of a column, in order of first appearance, and the code of each cell.

    A missing value is a value. Lists are equal if their items are, in order, and structures if their fields
    are.

    >>> values, codes = encode_values(pa.chunked_array([["b", None], ["a", "b"]]))
    >>> values.to_pylist(), codes.tolist()
    (['b', None, 'a'], [0, 1, 2, 0])
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return dictionary_encoded(column)
    if pa.types.is_string_view(kind):  # Arrow has few functions for it
        column, kind = column.cast(pa.string()), pa.string()
    if not len(column):
        return pa.array([], kind), np.empty(0, np.int32)
    if pa.types.is_nested(kind):
        _, codes = encode_values(_spell_structs(column) if pa.types.is_struct(kind) else _spell_lists(column))
        first = np.empty(int(codes.max()) + 1, np.int64)
        first[codes[::-1]] = np.arange(codes.size)[::-1]
        return column.take(pa.array(first)).combine_chunks(), codes
    return dictionary_encoded(column)


def count_codes(
    codes: NDArray[np.int32] | NDArray[np.int64], size: int, weights: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Add up the weights of each code, or count its occurrences.

    >>> count_codes(np.array([0, 2, 0]), 4, None).tolist(), count_codes(np.array([0, 2]), 4, np.array([5, 7])).tolist()
    ([2, 0, 1, 0], [5, 0, 7, 0])
    """
    if weights is None:
        return np.bincount(codes, minlength=size).astype(np.int64)
    sums = np.zeros(max(size, int(codes.max(initial=-1)) + 1), np.int64)
    np.add.at(sums, codes, weights)  # a weighted `bincount` would use floating point
    return sums


def is_text(kind: pa.DataType) -> bool:
    """Whether values of a type are text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether values of a type are lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _spell_structs(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Number structures by their fields, as Arrow cannot compare them. A missing one has its own number."""
    structs = column.combine_chunks()
    codes = np.array(pc.is_null(structs), dtype=np.int64)
    for field in structs.flatten():
        values, places = encode_values(pa.chunked_array([field]))
        codes = np.unique(codes * len(values) + places, return_inverse=True)[1]
    return pa.chunked_array([pa.array(codes)])


def _spell_lists(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Encode lists as bytes, four for each item, as Arrow cannot compare them. Missing ones stay missing."""
    kind = column.type
    if pa.types.is_map(kind):
        column = column.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
    lists = column.cast(pa.large_list(column.type.value_type)).combine_chunks()
    _, items = encode_values(pa.chunked_array([lists.flatten()]))  # without hidden items of missing lists
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    offsets = 4 * np.concatenate([[0], np.cumsum(np.array(lengths))]).astype(np.int64)
    missing = np.array(pc.is_null(lists), dtype=np.bool_)
    valid = pa.array(~missing).buffers()[1]
    content = [valid, pa.py_buffer(offsets), pa.py_buffer(items)]
    return pa.chunked_array([pa.Array.from_buffers(pa.large_binary(), len(lists), content)])


def number_rows(keys: NDArray[np.int64]) -> NDArray[np.int32]:
    """Number different integers in order of first appearance."""
    return np.array(pa.array(keys).dictionary_encode().indices, dtype=np.int32)


def freeze(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the array itself, made read-only."""
    array.flags.writeable = False
    return array


def is_measured(kind: pa.DataType) -> bool:
    """Whether values of a type have distances: numbers, dates and times."""
    return is_number(kind) or bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def as_numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return numbers, or dates as numbers; NaN where a value is missing."""
    if not is_number(column.type):
        column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    return np.array(column.cast(pa.float64(), safe=False), dtype=np.float64)


def column_of(table: pa.Table, name: str, method: object) -> pa.ChunkedArray:
    """Return a column, as plain (not dictionary-encoded) values."""
    if name not in table.column_names:
        raise PlanError(
            f"{method}: the table has no column {name!r}.{did_you_mean(name, table.column_names)}"
        )
    column = table[name]
    if not is_comparable(column.type):
        raise InputError(
            f"{method}: column {name!r} holds values of type {column.type}, which cannot be compared. Turn it into "
            "plain columns first, or drop it"
        )
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def is_comparable(kind: pa.DataType) -> bool:
    """Whether values of a type can be compared: all but structures, maps and unions."""
    return not (pa.types.is_struct(kind) or pa.types.is_map(kind) or pa.types.is_union(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether values of a type are numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def numbers(table: pa.Table, name: str, method: object) -> NDArray[np.float64]:
    """Return a column of finite numbers; refuse anything else, with the row and a way out.

    >>> numbers(pa.table({"age": [30, 41]}), "age", "Rounding")
    array([30., 41.])
    >>> numbers(pa.table({"age": [30, None]}), "age", "Rounding")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: Rounding: column 'age' has no value in row 2. Drop such rows, or fill them in first
    """
    column = column_of(table, name, method)
    require_numbers(column, name, method)
    result = as_numbers(column)
    missing = np.flatnonzero(np.isnan(result))
    if missing.size:
        raise InputError(
            f"{method}: column {name!r} has no value in row {missing[0] + 1}. Drop such rows, or fill them in first"
        )
    endless = np.flatnonzero(np.isinf(result))
    if endless.size:
        raise InputError(
            f"{method}: column {name!r} holds {result[endless[0]]} in row {endless[0] + 1}, and finite "
            "numbers are needed. Drop such rows, or replace the values first"
        )
    return result


def require_numbers(column: pa.ChunkedArray, name: str, method: object) -> None:
    """Refuse a column of anything but numbers."""
    if not is_number(column.type):
        raise InputError(
            f"{method}: column {name!r} holds values of type {column.type}, and numbers are needed. Turn it into "
            "numbers first, or choose a method for categories"
        )


def refuse_constant(values: NDArray[Any], name: str, method: object) -> None:
    """Refuse a column with a single value, which the method would not change."""
    if values.size and (values == values[0]).all():
        raise InputError(
            f"{method}: column {name!r} has the same value in every row, so nothing would change. Leave it out"
        )


def ranks(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the rank of each row's value among the distinct values, and a mask of missing ones.

    Ordered categories have their own order.

    >>> ranks(pa.chunked_array([["b", None, "a", "b"]]))[0].tolist()
    [1, 2, 0, 1]
    """
    if has_ordered_categories(column.type):
        places = np.concatenate(
            [np.array(each.indices.fill_null(-1)) for each in column.unify_dictionaries().chunks]
        )
        missing = places < 0
        return np.where(missing, places.max(initial=-1) + 1, places).astype(np.int64), missing
    values, codes = encode_values(column)
    sortable = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else widened(values)
    order = np.array(pc.array_sort_indices(sortable, null_placement="at_end"), dtype=np.int64)
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    missing = np.array(widened(values).is_null(nan_is_null=True), dtype=np.bool_)
    return place[codes], missing[codes]


def texts(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column as text, in the canonical spelling of each value; lists as lists of text."""
    values, codes = encode_values(column)
    if is_list(values.type):
        lists = values.cast(pa.large_list(values.type.value_type))
        lengths = np.array(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)
        items = pa.array(canonical_text(lists.flatten(), column=name), pa.string())
        offsets = pa.array(np.append(0, np.cumsum(lengths)))
        text_lists = pa.LargeListArray.from_arrays(offsets, items, mask=pc.is_null(lists))
        return pa.chunked_array([text_lists.take(pa.array(codes))])
    return pa.chunked_array(
        [pa.array(canonical_text(values, column=name), pa.string()).take(pa.array(codes))]
    )


def groups(table: pa.Table, names: tuple[str, ...], method: object) -> NDArray[np.int64]:
    """Number the combinations of values in some columns, in order of first appearance.

    >>> groups(pa.table({"sex": ["f", "m", "f"]}), ("sex",), "").tolist()
    [0, 1, 0]
    """
    result = np.zeros(table.num_rows, np.int64)
    for name in names:
        values, codes = encode_values(column_of(table, name, method))
        mixed = result * len(values) + codes
        result = np.array(pa.array(mixed).dictionary_encode().indices, dtype=np.int64)
    return result


def replace_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    """Return the table with other values in a column, as categories if it had these values as categories."""
    column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([pa.array(values)])
    old = table[name]
    if pa.types.is_dictionary(old.type) and column.type == old.type.value_type:
        categories = old.unify_dictionaries().chunk(0).dictionary
        places = pc.index_in(column, categories).combine_chunks()
        if places.null_count == column.null_count:
            again = pa.DictionaryArray.from_arrays(
                places.cast(old.type.index_type), categories, ordered=old.type.ordered
            )
            column = used_categories(pa.chunked_array([again]))
    return table.set_column(table.column_names.index(name), name, column)


Floats = NDArray[np.float64]


Groups = NDArray[np.int64]


def is_quantity(kind: pa.DataType) -> bool:
    """Whether values of a type have numeric differences: numbers, dates and times."""
    return is_number(kind) or bool(pa.types.is_temporal(kind) and not pa.types.is_interval(kind))


def whole_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return dates and times as counts of their unit."""
    kind = column.type
    return column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
