"""The memory of an Arrow array besides its cells.

In Arrow, a blank cell may hide a value, a slice is a window on memory that holds its neighbours, and a
dictionary may list values of no cell. Files and pickles are made of that memory, not of the cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_PADDING = 64
"""Bytes of padding that Arrow may add to a buffer for alignment; they are zero."""

Bytes = NDArray[np.uint8]


def hidden_in(column: pa.ChunkedArray | pa.Array, cells: pa.ChunkedArray | None = None) -> str | None:
    """Describe what a column holds besides its cells; None if nothing. `cells` are the same in another form.

    >>> hidden_in(pa.array([1, 2, None]))
    >>> hidden_in(pa.array([1, 2, None]).slice(1))
    'the memory of other rows'
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    plain = cells.chunk(0) if cells is not None and cells.num_chunks == len(chunks) == 1 else None
    for chunk in chunks:
        for description in _hidden(chunk, plain):
            return description
    return None


def unused_in(column: pa.ChunkedArray) -> str | None:
    """Describe whether dictionaries list values of no cell; None if not.

    >>> unused_in(pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0, None]), pa.array(["a", "b"]))]))
    'categories that no cell has'
    """
    return next((each for chunk in column.chunks for each in _hidden_in_dictionary(chunk)), None)


def _hidden(array: pa.Array, plain: pa.Array | None = None) -> Iterator[str]:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _hidden(array.storage)
    elif array.offset:
        yield _OTHERS
    elif pa.types.is_dictionary(kind):
        yield from _hidden(array.indices)
        yield from _hidden_in_dictionary(array)
    elif not pa.types.is_null(kind):
        validity, *buffers = (_bytes(each) for each in array.buffers())
        valid = None if array.null_count == 0 else np.array(array.is_valid())
        if _beyond(validity, len(array), bits=True):
            yield _OTHERS
        if pa.types.is_nested(kind):
            yield from _hidden_in_nested(array, valid)
        elif _is_view(kind):
            yield from _hidden_in_views(array.cast(pa.string()) if plain is None else plain, valid, buffers)
        elif _is_text_or_binary(kind):
            yield from _hidden_in_texts(array, valid, buffers)
        elif pa.types.is_boolean(kind):
            yield from _hidden_in_bits(len(array), valid, buffers[0])
        elif pa.types.is_run_end_encoded(kind):
            yield f"memory of type {kind}, which cannot be looked through"
        else:
            yield from _hidden_in_numbers(kind.bit_width // 8, len(array), valid, buffers[0])


_OTHERS = "the memory of other rows"
_BELOW = "values below blank cells"
_UNUSED = "categories that no cell has"


def _hidden_in_numbers(
    width: int, length: int, valid: NDArray[np.bool_] | None, data: Bytes
) -> Iterator[str]:
    if _beyond(data, length * width):
        yield _OTHERS
    if valid is not None:
        words = data[: length * width].view(f"u{width}" if width in (1, 2, 4, 8) else f"V{width}")
        below = words[~valid]
        if below.any() if width in (1, 2, 4, 8) else any(map(any, below.tolist())):
            yield _BELOW


def _hidden_in_bits(length: int, valid: NDArray[np.bool_] | None, data: Bytes) -> Iterator[str]:
    if _beyond(data, length, bits=True):
        yield _OTHERS
    if valid is not None and np.unpackbits(data, count=length, bitorder="little")[~valid].any():
        yield _BELOW


def _hidden_in_texts(array: pa.Array, valid: NDArray[np.bool_] | None, buffers: list[Bytes]) -> Iterator[str]:
    offsets, data = buffers
    wide = 8 if pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type) else 4
    bounds = offsets[: (len(array) + 1) * wide].view(f"i{wide}")
    first, last = (int(bounds[0]), int(bounds[-1])) if len(bounds) else (0, 0)
    if first or _beyond(data, last) or _beyond(offsets, (len(array) + 1) * wide):
        yield _OTHERS
    if valid is not None and np.diff(bounds)[~valid].any():
        yield _BELOW


def _hidden_in_views(plain: pa.Array, valid: NDArray[np.bool_] | None, buffers: list[Bytes]) -> Iterator[str]:
    """Look for bytes of no visible cell: short texts are in the views, long ones in the buffers."""
    views, *data = buffers
    if _beyond(views, 16 * len(plain)):
        yield _OTHERS
    fields = views[: 16 * len(plain)].view(np.int32).reshape(-1, 4)
    if valid is not None and fields[~valid].any():
        yield _BELOW
    long = np.flatnonzero(fields[:, 0] > 12) if data else np.empty(0, np.int64)
    for number, each in enumerate(data):
        own = long[fields[long, 2] == number]
        if not (_is_run_of_cells(plain, fields, own[:1], each) or _is_covered(fields[own], each)):
            yield _OTHERS


def _is_run_of_cells(
    plain: pa.Array, views: NDArray[np.int32], first: NDArray[np.int64], data: Bytes
) -> bool:
    """Whether a buffer holds consecutive cells, short ones included.

    `first` is the first cell that points into the buffer; short cells may precede it there, or not.
    """
    if not first.size or plain.type != pa.string():
        return False
    _, offsets, whole = (_bytes(each) for each in plain.buffers())
    bounds = offsets.view(np.int32)[plain.offset : plain.offset + len(plain) + 1]
    start = int(bounds[first[0]]) - int(views[first[0], 3])
    return (
        start >= bounds[0]
        and np.array_equal(whole[start : start + data.size], data)
        and not _beyond(data, int(bounds[-1]) - start)
    )


def _is_covered(views: NDArray[np.int32], data: Bytes) -> bool:
    """Whether each byte of a buffer belongs to a long text."""
    starts, lengths = views[:, 3].astype(np.int64), views[:, 0]
    change = np.bincount(starts, minlength=data.size + 1) - np.bincount(
        starts + lengths, minlength=data.size + 1
    )
    return bool((np.cumsum(change)[: data.size] > 0).all())


def _hidden_in_dictionary(array: pa.DictionaryArray) -> Iterator[str]:
    categories = array.dictionary
    used = pc.unique(array.indices.drop_null())
    if len(used) != len(categories) or categories.null_count or len(pc.unique(categories)) != len(categories):
        yield _UNUSED
    yield from _hidden(categories)


def _hidden_in_nested(array: Any, valid: NDArray[np.bool_] | None) -> Iterator[str]:
    kind = array.type
    if pa.types.is_struct(kind):
        children = [array.field(number) for number in range(kind.num_fields)]
        below = None if valid is None else ~valid
    elif pa.types.is_fixed_size_list(kind):
        children = [array.values]
        below = None if valid is None else np.repeat(~valid, kind.list_size)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        bounds = np.array(array.offsets)
        if len(bounds) and (bounds[0] or bounds[-1] != len(array.values)):
            yield _OTHERS
        if valid is not None and np.diff(bounds)[~valid].any():
            yield _BELOW
        children, below = [array.values], None
    else:
        yield f"memory of type {kind}, which cannot be looked through"
        return
    for child in children:
        if below is not None and not _is_empty(child, below):
            yield _BELOW
        yield from _hidden(child)


def _is_empty(array: Any, where: NDArray[np.bool_]) -> bool:
    """Whether an array holds only missing values, zeros and empty texts in some places."""
    kind = array.type
    if pa.types.is_struct(kind):
        return all(_is_empty(array.field(number), where) for number in range(kind.num_fields))
    if pa.types.is_nested(kind):
        return not len(array.filter(pa.array(where)).flatten())
    some = (array.cast(pa.string()) if _is_view(kind) else array).filter(pa.array(where))
    return some.null_count == len(some) or not any(_bytes(each).any() for each in some.buffers()[1:])


def _bytes(buffer: pa.Buffer | None) -> Bytes:
    return np.frombuffer(b"" if buffer is None else buffer, np.uint8)


def _beyond(data: Bytes, length: int, *, bits: bool = False) -> bool:
    """Whether a buffer continues after its cells with more than zeros."""
    if not data.size:
        return False
    whole, rest = divmod(length, 8) if bits else (length, 0)
    if rest and data[whole] >> rest:
        return True
    after = data[whole + bool(rest) :]
    return after.size >= _PADDING or bool(after.any())


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _is_text_or_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )
