"""The check of a frame as delivered: the verified cells, and nothing else.

A frame is more than its cells: index, attributes, categories, Python objects with attributes of their own,
and memory that goes into files and pickles with all its content. Each is a channel by which something can
leave that no promise covers. An error names the channel, never its content.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import VerificationError
from veil.tables.canonical import widened
from veil.tables.columns import is_text
from veil.verification.memory import hidden_in

_PLAIN = (str, int, float, bool, bytes, Decimal, dt.date, dt.datetime, dt.time, dt.timedelta, list, dict)
"""Types of Python objects that carry nothing but their value."""

MISSING_TWICE = "missing values of two kinds"
ZERO_TWICE = "zeros of two kinds"
SPELLED_TWICE = "one value in several spellings"
SEVERAL_TYPES = "values of several types"
FORMS = (MISSING_TWICE, ZERO_TWICE, SPELLED_TWICE, SEVERAL_TYPES)
"""Descriptions of values that are counted as one, and can be distinguished."""

COMPARED = ("other cells", "values of another type", "other columns", "another number of rows")
"""Beginnings of the messages that cells differ from the verified table."""

_LARGEST = 1 << 31
"""Bytes of text that an Arrow array can hold."""

_WORTH_THREADS = 1 << 17
"""Rows from which on columns are checked by several threads."""


def check_frame(frame: Any, verified: pa.Table) -> None:
    """Refuse a pandas, polars or pyarrow frame that holds anything but the cells of a verified table.

    >>> table = pa.table({"age": ["20-29", "*"]})
    >>> check_frame(table, table)
    >>> check_frame(table.replace_schema_metadata({"from": "Ann"}), table)
    Traceback (most recent call last):
    ...
    veil.errors.VerificationError: the frame is withheld: it holds metadata
    """
    if complaints := in_frame(frame, verified):
        raise VerificationError(f"the frame is withheld: it holds {'; '.join(complaints)}")


def in_frame(frame: Any, verified: pa.Table) -> list[str]:
    """Describe what a frame holds besides the cells of a table, and forms of cells that differ."""
    match type(frame).__module__.partition(".")[0]:
        case "pandas":
            return list(_in_pandas(frame, verified))
        case "polars":
            return list(_in_polars(frame, verified))
        case "pyarrow":
            return list(_in_arrow(frame, verified))
    return [f"a {type(frame).__name__}"]


def different_cells(delivered: pa.ChunkedArray | pa.Array, verified: pa.ChunkedArray) -> str | None:
    """Describe how a delivered column differs from the verified one; None if it shows the same cells."""
    if _have_same_categories(delivered, verified):
        return None
    delivered, verified = _plain(delivered), _plain(verified)
    if not pa.types.is_null(delivered.type) and is_text(delivered.type) != is_text(verified.type):
        return "values of another type than was verified"
    if _have_same_bits(delivered, verified):
        return None
    if pa.types.is_floating(delivered.type):
        numbers = np.array(delivered.drop_null())
        if np.isnan(numbers).any() and delivered.null_count:
            return MISSING_TWICE
        zeros = np.signbit(numbers[numbers == 0])
        if zeros.any() and not zeros.all():
            return ZERO_TWICE
    try:
        same = delivered.cast(verified.type)
    except pa.ArrowException:
        return "values of another type than was verified"
    if same.equals(verified) or (pa.types.is_floating(same.type) and _nan_is_null(same, verified)):
        return None
    return "other cells than were verified"


def _have_same_categories(delivered: pa.ChunkedArray | pa.Array, verified: pa.ChunkedArray) -> bool:
    """Whether dictionary-encoded texts are the same, without decoding them; most columns are of this kind."""
    chunks = delivered.chunks if isinstance(delivered, pa.ChunkedArray) else [delivered]
    pieces = [*chunks, *verified.chunks]
    if len(pieces) != 2 or not all(pa.types.is_dictionary(each.type) for each in pieces):
        return False
    one, other = pieces
    if one.type.value_type != other.type.value_type or not is_text(one.type.value_type):
        return False
    places = pc.index_in(one.dictionary, other.dictionary)
    return not places.null_count and bool(places.take(one.indices).equals(other.indices.cast(places.type)))


def _have_same_bits(delivered: pa.ChunkedArray, verified: pa.ChunkedArray) -> bool:
    """Whether cells equal those of the verified table to the last bit, which distinguishes the two zeros."""
    if delivered.type != verified.type or len(delivered) != len(verified):
        return False
    if pa.types.is_float64(delivered.type):
        kind = pa.int64()
        delivered, verified = (
            pa.chunked_array([each.view(kind) for each in column.chunks], kind)
            for column in (delivered, verified)
        )
    return not pa.types.is_floating(delivered.type) and bool(delivered.equals(verified))


def _nan_is_null(delivered: pa.ChunkedArray, verified: pa.ChunkedArray) -> bool:
    """Whether two columns are equal if not-a-number counts as missing, as in pandas."""
    delivered, verified = widened(delivered), widened(verified)
    blank = pa.scalar(None, delivered.type)
    one, other = (pc.if_else(pc.is_nan(each), blank, each) for each in (delivered, verified))
    return bool(one.equals(other))


def _plain(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(pa.chunked_array([each.storage for each in column.chunks], kind.storage_type))
    if pa.types.is_dictionary(kind):
        return pa.chunked_array([_decoded(each) for each in column.chunks], _plain_type(kind.value_type))
    return column.cast(_plain_type(kind))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_string_view(kind) else kind


def _decoded(chunk: pa.DictionaryArray) -> pa.Array:
    return chunk.dictionary.cast(_plain_type(chunk.type.value_type)).take(chunk.indices)


# --- pyarrow --------------------------------------------------------------------------------------


def _in_arrow(frame: Any, verified: pa.Table) -> Iterator[str]:
    if type(frame) is not pa.Table:
        yield f"a {type(frame).__name__}"
        return
    if frame.schema.metadata or any(map(has_metadata, frame.schema)):
        yield "metadata"
    yield from _names(frame.column_names, verified)
    if frame.column_names == verified.column_names:
        yield from _columns(verified, lambda number: _in_arrow_column(frame.column(number), None))


def _in_arrow_column(
    column: pa.ChunkedArray, cells: pa.ChunkedArray | None
) -> Iterator[str | pa.ChunkedArray]:
    # `nbytes` fails for views before pyarrow 25, and ends the process in 24.
    if column.num_chunks > 1 and column.get_total_buffer_size() < _LARGEST:
        yield "pieces, as the input may have had them"
    if (hidden := hidden_in(column, cells)) is not None:
        yield hidden
    yield column


def has_metadata(field: pa.Field) -> bool:
    """Whether a field, or one inside it, has metadata."""
    kind = field.type
    inner = [kind.field(number) for number in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    return bool(field.metadata) or any(map(has_metadata, inner))


# --- polars ---------------------------------------------------------------------------------------


def _in_polars(frame: Any, verified: pa.Table) -> Iterator[str]:
    import polars as pl

    if type(frame) is pl.LazyFrame:
        frame = frame.collect()
    if type(frame) is not pl.DataFrame:
        yield f"a {type(frame).__name__}"
        return
    yield from _names(frame.columns, verified)
    if frame.columns != verified.column_names:
        return
    as_it_is = frame.to_arrow(compat_level=pl.CompatLevel.newest())

    def describe_column(number: int) -> Iterator[str | pa.ChunkedArray]:
        kind = frame.dtypes[number]
        if isinstance(kind, pl.Enum) and set(kind.categories) - set(frame.to_series(number).unique()):
            yield "categories that no cell has"
        yield from _in_arrow_column(as_it_is.column(number), verified.column(number))

    yield from _columns(verified, describe_column)


# --- pandas ---------------------------------------------------------------------------------------


def _in_pandas(frame: Any, verified: pa.Table) -> Iterator[str]:
    import pandas as pd

    if type(frame) is not pd.DataFrame:
        yield f"a {type(frame).__name__}"
        return
    index = frame.index
    plain = type(index) is pd.RangeIndex and (index.start, index.step, index.name) == (0, 1, None)
    if not plain:
        yield "an index"
    if frame.attrs or not frame.flags.allows_duplicate_labels:
        yield "attributes"
    if set(vars(frame)) - set(vars(pd.DataFrame())):
        yield "attributes of its own"
    labels = frame.columns
    if labels.nlevels > 1 or labels.name is not None or not _are_plain(labels):
        yield "column labels that are more than names"
        return
    yield from _names([str(label) for label in labels], verified)
    if len(labels) == verified.num_columns:
        columns = [column for _, column in frame.items()]  # by place, because names may be duplicates
        if _are_parts([part for column in columns for part in _numpy_of(column.array)]):
            yield "the memory of other rows"
        yield from _columns(verified, lambda number: _in_pandas_column(columns[number]))


def _in_pandas_column(column: Any) -> Iterator[str | pa.ChunkedArray]:
    import pandas as pd

    array = column.array
    if isinstance(array, pd.Categorical):
        categories = array.categories
        if len(np.unique(array.codes[array.codes >= 0])) != len(categories):
            yield "categories that no cell has"
        if categories.name is not None or not _are_plain(categories):
            yield "categories that are more than values"
    elif hasattr(array, "__arrow_array__") and not _numpy_of(array):
        part = array.__arrow_array__()
        arrow_column = part if isinstance(part, pa.ChunkedArray) else pa.chunked_array([part])
        yield from (each for each in _in_arrow_column(arrow_column, None) if isinstance(each, str))
    elif hasattr(array, "_mask") and cast("Any", array)._data[array._mask].any():
        yield "values below blank cells"
    for part in _numpy_of(array):
        if part.dtype == object:
            yield from _in_objects(part)
        elif part.dtype.kind == "f":
            bits = f"u{part.dtype.itemsize}"
            if (part[np.isnan(part)].view(bits) != np.full(1, np.nan, part.dtype).view(bits)).any():
                yield MISSING_TWICE
    yield pa.Array.from_pandas(column)


def _in_objects(objects: Any) -> Iterator[str]:
    import pandas as pd

    cells = objects.ravel().tolist()
    kinds = set(map(type, cells))
    missing: set[type] = {type(None), type(pd.NA), type(pd.NaT)} & kinds
    if float in kinds and any(cell != cell for cell in cells if type(cell) is float):
        missing.add(float)
        kinds -= {float} if all(cell != cell for cell in cells if type(cell) is float) else set()
    kinds -= {type(None), type(pd.NA), type(pd.NaT)}
    if len(missing) > 1:
        yield MISSING_TWICE
    if not kinds <= {*_PLAIN, np.ndarray}:
        yield "Python objects that are more than their value"
    if len(kinds) > 1:
        yield SEVERAL_TYPES
    elif kinds & {Decimal, dt.datetime, dt.time, float}:
        present = [cell for cell in cells if type(cell) in kinds and cell == cell]
        if len(set(map(in_utc, present))) != len(set(map(str, present))):
            yield SPELLED_TWICE


def in_utc(value: Any) -> Any:
    """Return a time in UTC: Python equates two times of a zone in the hour when clocks go back."""
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) and value.tzinfo is not None else value


def _are_plain(labels: Any) -> bool:
    """Whether an index of pandas holds plain values."""
    return labels.dtype != object or {type(each) for each in labels} <= {*_PLAIN, np.int64, np.float64}


def _numpy_of(array: Any) -> list[Any]:
    """Return the numpy arrays in an array of pandas."""
    parts = (getattr(array, name, None) for name in ("_ndarray", "_data", "_mask"))
    return [part for part in parts if isinstance(part, np.ndarray)]


def _are_parts(arrays: list[Any]) -> bool:
    """Whether the memory of arrays holds more than they show; memory shown by two of them counts once."""
    bases = {id(base): base for base in map(_base, arrays)}
    visible_bytes: dict[int, dict[int, int]] = {each: {} for each in bases}
    for part in arrays:
        visible_bytes[id(_base(part))][part.__array_interface__["data"][0]] = part.nbytes
    return any(base.nbytes > sum(visible_bytes[each].values()) for each, base in bases.items())


def _base(part: Any) -> Any:
    """Return the array that owns the memory of an array."""
    while isinstance(part.base, np.ndarray):
        part = part.base
    return part


# --- all of them ----------------------------------------------------------------------------------


def _names(names: list[str], verified: pa.Table) -> Iterator[str]:
    if names != verified.column_names:
        yield "other columns than were verified"


def _columns(verified: pa.Table, describe: Callable[[int], Iterable[str | pa.ChunkedArray]]) -> Iterator[str]:
    """Check each column: what it holds, and finally its cells, which are compared."""

    def complaints_about(number: int) -> list[str]:
        name, complaints = verified.column_names[number], []
        for part in describe(number):
            complaint = part if isinstance(part, str) else different_cells(part, verified.column(number))
            if complaint is not None:
                complaints.append(f"{complaint} (column {name!r})")
        return complaints

    numbers = range(verified.num_columns)
    if verified.num_rows < _WORTH_THREADS:
        by_column = list(map(complaints_about, numbers))
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            by_column = list(pool.map(complaints_about, numbers))
    yield from (complaint for complaints in by_column for complaint in complaints)
