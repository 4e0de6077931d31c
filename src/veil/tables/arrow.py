"""Arrow tables in a normal form, which the rest of Veil reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.errors import InputError
from veil.tables.canonical import copied, one_form, widened


def normalize(table: pa.Table) -> pa.Table:
    """Return the table without metadata, with one type of text and one form of each value (see `one_form`).

    All strings have Arrow's type ``string``, and so has a column without any value. NaN is a missing value:
    pandas does not distinguish them, and the same data must give the same answer from every library.
    """
    names = table.column_names
    columns = [_normalize_column(column, name) for column, name in zip(table.columns, names, strict=True)]
    return pa.table(columns, names=names)


def in_new_memory(table: pa.Table) -> pa.Table:
    """Return a copy of the table in one piece, without any values of blank cells.

    In Arrow, a blank cell is a bit beside a value that may still be in memory, and is written to some files.
    The copy has only the values of cells, and only the categories that occur.
    """
    columns = []
    for column in only_used_categories(table).columns:
        columns.append(pa.chunked_array([copied(chunk) for chunk in column.chunks], column.type))
    return pa.table(columns, names=table.column_names).combine_chunks()


def only_used_categories(table: pa.Table) -> pa.Table:
    """Return the table with its dictionary-encoded columns encoded anew.

    Categories that no row has any more would reveal that they occurred in the input.
    """
    for number, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            used = used_categories(table.column(number))
            table = table.set_column(number, pa.field(field.name, used.type), used)
    return table


def used_categories(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a dictionary-encoded column whose dictionary holds only values that occur.

    Ordered categories keep their order. Others are sorted, so that they do not reveal the order of rows.
    """
    column = _unify_dictionaries(column)
    if not column.num_chunks:
        return column
    kind, dictionary = column.type, column.chunk(0).dictionary
    indices = pa.chunked_array([chunk.indices for chunk in column.chunks])
    used_codes = np.unique(np.array(indices.drop_null(), dtype=np.int64))
    if not kind.ordered:
        values = dictionary.take(pa.array(used_codes))
        values = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
        used_codes = used_codes[np.array(pc.array_sort_indices(values), dtype=np.int64)]
    if np.array_equal(used_codes, np.arange(len(dictionary))):
        return column
    place = pc.index_in(indices, pa.array(used_codes, kind.index_type)).cast(kind.index_type)
    categories = dictionary.take(pa.array(used_codes))
    chunks = [
        pa.DictionaryArray.from_arrays(chunk, categories, ordered=kind.ordered) for chunk in place.chunks
    ]
    return pa.chunked_array(chunks, kind)


def dictionary_encoded(column: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return the different values of a column, in order of first appearance, and the code of each cell.

    A missing value is a value. If the column has a dictionary already, only that is encoded anew.

    >>> values, codes = dictionary_encoded(pa.chunked_array([["b", None], ["a", "b"]]))
    >>> values.to_pylist(), codes.tolist()
    (['b', None, 'a'], [0, 1, 2, 0])
    """
    if pa.types.is_float16(column.type):
        values, codes = dictionary_encoded(widened(column))
        return values.cast(column.type), codes
    if not pa.types.is_dictionary(column.type):
        encoded = pc.dictionary_encode(column, null_encoding="encode")  # one dictionary for all chunks
        if not encoded.num_chunks:
            return pa.array([], column.type), np.empty(0, np.int32)
        return encoded.chunk(0).dictionary, np.concatenate(
            [np.array(each.indices) for each in encoded.chunks]
        )
    column = _unify_dictionaries(column)
    if not len(column):
        return pa.array([], column.type.value_type), np.empty(0, np.int32)
    dictionary = column.chunk(0).dictionary
    # A dictionary may list a value twice, or null, and cells may be null without it.
    values = pc.dictionary_encode(
        pa.concat_arrays([dictionary, pa.nulls(1, dictionary.type)]), null_encoding="encode"
    )
    places = np.array(values.indices, dtype=np.int32)
    codes = np.concatenate([places[_fill_missing(each.indices, len(dictionary))] for each in column.chunks])
    first = np.full(len(values.dictionary), codes.size, np.int64)
    first[codes[::-1]] = np.arange(codes.size, dtype=np.min_scalar_type(codes.size))[::-1]
    used = np.argsort(first, kind="stable")[: np.count_nonzero(first < codes.size)]
    number = np.empty(first.size, np.int32)
    number[used] = np.arange(used.size, dtype=np.int32)
    return values.dictionary.take(pa.array(used)), number[codes]


def with_one_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the same numbers with 0.0 for -0.0, as they are one value."""
    kind = column.type
    if pa.types.is_dictionary(kind) and pa.types.is_floating(kind.value_type):
        column = column.cast(kind.value_type)
    column = widened(column)
    return pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column


def decode_column(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return the cells of a column instead of their dictionary codes."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def has_ordered_categories(kind: pa.DataType) -> bool:
    """Whether values of a type are ordered categories."""
    return bool(pa.types.is_dictionary(kind) and kind.ordered)


def categories(column: pa.ChunkedArray) -> pa.Array | None:
    """Return the ordered categories of a column; None if they have no order, or several in its chunks."""
    if not (has_ordered_categories(column.type) and column.num_chunks):
        return None
    first, *others = (chunk.dictionary.drop_null() for chunk in column.chunks)
    same = all(other.equals(first) for other in others) and len(first.unique()) == len(first) > 0
    return first if same else None


def _unify_dictionaries(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give all chunks one dictionary, without missing values, as Arrow requires."""
    if column.num_chunks > 1 and any(chunk.dictionary.null_count for chunk in column.chunks):
        column = pa.chunked_array([_without_missing(chunk) for chunk in column.chunks], column.type)
    return column.unify_dictionaries()


def _without_missing(chunk: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return the same cells with a dictionary without a missing value."""
    valid = pc.is_valid(chunk.dictionary)
    place = pc.if_else(valid, pc.subtract(pc.cumulative_sum(valid.cast(pa.int64())), 1), None)
    indices = place.take(chunk.indices).cast(chunk.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, chunk.dictionary.drop_null(), ordered=chunk.type.ordered)


def _fill_missing(indices: pa.Array, missing: int) -> NDArray[np.integer[Any]]:
    """Return indices with the number `missing` instead of nulls."""
    if not indices.null_count:
        return np.asarray(indices)
    return np.asarray(pc.fill_null(indices.cast(pa.int64()), missing))


def _normalize_column(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _as_string(column, pa.string())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        _check_zone(kind, name)
    return one_form(column, name)


def _check_zone(kind: pa.TimestampType, name: str) -> None:
    """Refuse times in an unknown zone, as their dates are unknown."""
    try:
        pa.array([0], kind).cast(pa.string())
    except pa.ArrowInvalid:
        raise InputError(
            f"column {name!r} has times in the zone {kind.tz!r}, which is not known here. Convert them to a known zone such "
            "as Europe/Berlin, or to UTC"
        ) from None


def _as_string(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast text, in pieces if a chunk is larger than the 2 GB that ``string`` holds."""
    pieces = []
    waiting = list(reversed(column.chunks))
    while waiting:
        chunk = waiting.pop()
        try:
            pieces.append(chunk.cast(kind))
        except pa.ArrowInvalid:
            if len(chunk) < 2:
                raise
            half = len(chunk) // 2
            waiting += [chunk.slice(half), chunk.slice(0, half)]
    return pa.chunked_array(pieces, kind)
