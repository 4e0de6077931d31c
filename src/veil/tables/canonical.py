"""Canonical forms: values that are counted as one are published in one form.

Arrow has several forms of equal values: 0.0 and -0.0, null and NaN, a day with a hidden time, a category that
is listed twice, the same cells as runs or as a view. By these, a recipient could distinguish values that were
counted as one. Texts are left as they are: two that differ in trailing blanks or in the encoding of an accent
are two values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import InputError


def one_form(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return the same values, each in one form; refuse a type that has no such form.

    >>> one_form(pa.chunked_array([[[0.0, float("nan")], [-0.0, None]]]), "x").to_pylist()
    [[0.0, None], [0.0, None]]
    """
    if _is_plain(column.type):
        return column
    try:
        kind = _plain(pa.nulls(0, column.type)).type
        return pa.chunked_array([_plain(chunk) for chunk in column.chunks], kind)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise InputError(
            f"column {name!r} cannot be used: its type {column.type} has no plain form ({error}). Turn it into text or "
            "numbers, or drop it"
        ) from None


def copied(array: pa.Array) -> pa.Array:
    """Return a copy of the cells whose memory holds no values of missing cells."""
    kind = array.type
    if pa.types.is_struct(kind):  # Arrow would copy its fields whole
        fields = [copied(field) for field in array.flatten()]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=_missing(array))
    result = array.take(pa.array(np.arange(len(array))))
    return _with_items(result, copied) if pa.types.is_nested(kind) else result


def as_type(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast a column to the type its values had, if Arrow can; otherwise return it as it is."""
    if pa.types.is_null(kind):
        return pa.chunked_array([pa.nulls(len(column))])
    if pa.types.is_run_end_encoded(kind):  # its memory cannot be checked
        return column
    try:
        return column.cast(kind)
    except pa.ArrowException:
        return column


def _is_plain(kind: pa.DataType) -> bool:
    """Whether values of a type have only one form each."""
    return not (
        pa.types.is_floating(kind)
        or pa.types.is_date64(kind)
        or pa.types.is_dictionary(kind)
        or pa.types.is_run_end_encoded(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_nested(kind)
        or isinstance(kind, pa.BaseExtensionType)
    )


def _plain(array: pa.Array) -> pa.Array:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _storage(array)
    if pa.types.is_floating(kind):
        return _numbers(array)
    if pa.types.is_date64(kind):
        return pc.floor_temporal(array.view(pa.timestamp("ms")), unit="day").cast(pa.date32())
    if pa.types.is_dictionary(kind):
        return _categories(array)
    if pa.types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(array))
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return array.cast(pa.string())
    if pa.types.is_binary_view(kind):
        return array.cast(pa.binary())
    if pa.types.is_struct(kind):
        fields = [_plain(field) for field in array.flatten()]
        return pa.StructArray.from_arrays(fields, names=[each.name for each in kind], mask=_missing(array))
    if pa.types.is_nested(kind):
        if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
            lengths = np.array(pc.fill_null(pc.list_value_length(array), 0), dtype=np.int64)
            offsets = pa.array(np.append(0, np.cumsum(lengths)))
            return pa.LargeListArray.from_arrays(offsets, _plain(array.flatten()), mask=_missing(array))
        return _with_items(array.take(pa.array(np.arange(len(array)))), _plain)
    return array


def widened(values: Any) -> Any:
    """Return 16-bit floats as 32-bit ones, which Arrow can compute with, encode and sort."""
    return values.cast(pa.float32()) if pa.types.is_float16(values.type) else values


def _numbers(array: pa.Array) -> pa.Array:
    kind, wide = array.type, widened(array)
    wide = pc.add(wide, pa.scalar(0.0, wide.type))  # -0.0 becomes 0.0
    if pc.any(pc.is_nan(wide)).as_py():
        wide = pc.if_else(pc.is_nan(wide), pa.scalar(None, wide.type), wide)
    return wide.cast(kind)


def _categories(array: pa.DictionaryArray) -> pa.Array:
    """Return the same cells with each category once and no missing one; nested categories are decoded."""
    kind, dictionary = array.type, _plain(array.dictionary)
    if pa.types.is_nested(dictionary.type):
        return dictionary.take(array.indices)
    encoded = dictionary.dictionary_encode()
    if len(encoded.dictionary) == len(dictionary):
        return pa.DictionaryArray.from_arrays(array.indices, dictionary, ordered=kind.ordered)
    places = encoded.indices.take(array.indices).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(places, encoded.dictionary, ordered=kind.ordered)


def _storage(array: pa.ExtensionArray) -> pa.Array:
    """Return the plain form of an extension type, in the type itself where possible."""
    kind = array.type
    if kind == pa.uuid():
        return pa.array([None if each is None else str(each) for each in array.to_pylist()], pa.string())
    if kind == pa.bool8():
        return array.cast(pa.bool_())
    plain = _plain(array.storage)
    if isinstance(kind, pa.JsonType) or plain.type != array.storage.type:
        return plain
    return pa.ExtensionArray.from_storage(kind, plain)


def _with_items(array: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return lists or maps, whose memory has no offset, with changed items."""
    kind, missing = array.type, _missing(array)
    if pa.types.is_map(kind):
        return pa.MapArray.from_arrays(array.offsets, change(array.keys), change(array.items), mask=missing)
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(change(array.values), kind.list_size, mask=missing)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return type(array).from_arrays(array.offsets, change(array.values), mask=missing)
    raise pa.ArrowNotImplementedError("only lists, maps and structures can be taken apart")


def _missing(array: pa.Array) -> pa.Array | None:
    return pc.is_null(array) if array.null_count else None
