"""Conversion of dataframes to Arrow and back, with one class for each library.

No dataframe library is imported here: a caller with a frame has imported its library already. A release is
built anew from an Arrow table: only the kind of the input frame and the types of its columns are used. No
memory, index, object, attribute or category of it is passed on.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
import pyarrow as pa

from veil.errors import InputError
from veil.tables.arrow import only_used_categories
from veil.tables.canonical import as_type
from veil.tables.cells import spell_object
from veil.tables.objects import from_objects

_LABELS = (int, float, bool, np.int64, np.float64, dt.date, dt.datetime)
"""Types of column labels other than text that hold nothing but their value."""


class Frame(Protocol):
    """An input dataframe, which converts itself to an Arrow table, and Arrow tables to frames of its kind."""

    def to_arrow(self) -> pa.Table:
        """Return the frame as a table, with text as column names."""

    def from_arrow(self, table: pa.Table, unchanged: Set[str] | None) -> Any:
        """Return `table` as a new frame of this kind.

        `unchanged` names the columns with the values of this frame, which get its types. If None, all types
        follow from `table` alone.
        """

    def check_index(self) -> None:
        """Refuse a frame with an index, which would be lost or would disclose who is who."""
        return  # only pandas has any


def frame_of(source: Any) -> tuple[str, Frame] | None:
    """Return the kind of a dataframe and its adapter; ``None`` if it is not a supported one."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return "pandas", PandasFrame(source)
    if polars is not None and isinstance(source, polars.DataFrame):
        return "polars", PolarsFrame(source)
    if polars is not None and isinstance(source, polars.LazyFrame):
        return "polars", PolarsFrame(source.collect(), lazy=True)
    if isinstance(source, pa.Table | pa.RecordBatch):
        return "pyarrow", ArrowFrame(source if isinstance(source, pa.Table) else pa.table(source))
    if hasattr(source, "__arrow_c_stream__") and not _is_series(source):
        return "pyarrow", ArrowFrame(pa.table(source))
    return None


def check_names(names: list[str]) -> None:
    """Refuse duplicate column names, naming them."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise InputError(
            f"more than one column is named {', '.join(map(repr, twice))}. Rename them, so that they differ"
        )


@dataclass(frozen=True)
class ArrowFrame(Frame):
    """A pyarrow table, or any object with Arrow's stream interface."""

    frame: pa.Table

    def to_arrow(self) -> pa.Table:
        return self.frame

    def from_arrow(self, table: pa.Table, unchanged: Set[str] | None) -> pa.Table:
        kinds, same = self.frame.schema, unchanged or ()
        columns = [
            as_type(table.column(name), kinds.field(name).type) if name in same else table.column(name)
            for name in table.column_names
        ]
        return only_used_categories(pa.table(columns, names=table.column_names))


@dataclass(frozen=True)
class PolarsFrame(Frame):
    """A polars frame. A lazy one is collected once, and its release is lazy again."""

    frame: Any
    lazy: bool = False

    def to_arrow(self) -> pa.Table:
        import polars as pl

        for name, dtype in self.frame.schema.items():
            try:
                if dtype == pl.Object:
                    raise pa.ArrowInvalid("it holds Python objects")
                self.frame[name].head(1).to_arrow()
            except pa.ArrowException as error:
                raise InputError(
                    f"column {name!r} of type {dtype} cannot be used: {error}. Cast it to text or numbers, "
                    "or drop it"
                ) from None
        table = self.frame.to_arrow()
        for number, dtype in enumerate(self.frame.schema.values()):
            if isinstance(dtype, pl.Enum):
                table = table.set_column(number, table.column_names[number], _ordered(table.column(number)))
        return table

    def from_arrow(self, table: pa.Table, unchanged: Set[str] | None) -> Any:
        import polars as pl

        out: Any = pl.from_arrow(only_used_categories(table))
        for name in unchanged or ():
            kind: Any = self.frame.schema[name]
            if isinstance(kind, pl.Enum):
                used = set(out[name].unique().to_list())
                kind = pl.Enum([each for each in kind.categories if each in used])
            out = out.with_columns(out[name].cast(kind))
        return out.lazy() if self.lazy else out


def _ordered(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return categories as ordered, which polars 1 does not export."""
    kind = column.type
    return pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays(each.indices, each.dictionary, ordered=True)
            for each in column.chunks
        ],
        pa.dictionary(kind.index_type, kind.value_type, ordered=True),
    )


@dataclass(frozen=True)
class PandasFrame(Frame):
    """A pandas frame. Its index is not a column, and a release gets a new one."""

    frame: Any

    def to_arrow(self) -> pa.Table:
        return self._table(_arrow_array)

    def cells(self) -> pa.Table:
        """Return the frame as a table with Python objects as texts, spelled one by one; none is an error."""
        return self._table(
            lambda column, name: _spell_objects(column) if _is_object(column) else _arrow_array(column, name)
        )

    def _table(self, array_of: Callable[[Any, str], pa.Array]) -> pa.Table:
        names = self._names()
        check_names(names)
        columns = []
        for number, name in enumerate(names):
            try:
                columns.append(array_of(self.frame.iloc[:, number], name))
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise InputError(
                    f"column {name!r} cannot be used: {error}. Turn it into text or numbers, or drop it"
                ) from None
        return pa.table(columns, names=names)

    def from_arrow(self, table: pa.Table, unchanged: Set[str] | None) -> Any:
        import pandas as pd

        place = {name: number for number, name in enumerate(self._names())}
        table = only_used_categories(table)
        columns: dict[int, Any] = {}
        for number, name in enumerate(table.column_names):
            keeps_dtype = unchanged is not None and name in place
            dtype = self.frame.dtypes.iloc[place[name]] if keeps_dtype else None
            make = _same_array if unchanged and name in unchanged else _pandas_array
            array = make(table.column(name), dtype)
            # Without a dtype, pandas may choose another one by the objects.
            columns[number] = pd.Series(array, dtype=array.dtype)
        out = pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows))
        labels = [self.frame.columns[place[name]] if name in place else name for name in table.column_names]
        out.columns = pd.Index(labels)
        if out.columns.dtype == np.dtype(object):  # holds the label objects of the frame
            out.columns = pd.Index([each if type(each) in _LABELS else str(each) for each in labels])
        return out

    def check_index(self) -> None:
        import pandas as pd

        index = self.frame.index
        if isinstance(index, pd.RangeIndex) and (index.start, index.step) == (0, 1):
            return
        names = [str(each) for each in index.names if each is not None]
        about = f" ({', '.join(map(repr, names))})" if names else ""
        raise InputError(
            f"the pandas frame has an index{about}, which a release must not have: it would reveal who is "
            "who, or which rows are missing. Make it a column with df.reset_index(), or drop it with "
            "df.reset_index(drop=True)"
        )

    def _names(self) -> list[str]:
        """Return column labels as text; the release has the original ones (numbers, dates) again."""
        if self.frame.columns.nlevels > 1:
            raise InputError(
                "the pandas frame has column names of several levels. Give it plain ones, for example "
                'df.columns = ["_".join(map(str, name)) for name in df.columns]'
            )
        return [str(label) for label in self.frame.columns]


def _arrow_array(column: Any, name: str) -> pa.Array:
    """Return a column of pandas as an array; refuse Python objects (also categories) of mixed kinds."""
    import pandas as pd

    if column.dtype == np.dtype(object):
        return from_objects(column, name)
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, labels = column.cat.codes.to_numpy(), column.cat.categories
        if isinstance(labels.dtype, pd.IntervalDtype | pd.PeriodDtype):  # from `pd.cut`
            labels = labels.astype(str)
        if labels.dtype == np.dtype(object):
            categories = from_objects(labels, name)
        else:
            categories = pa.Array.from_pandas(labels)
        return pa.DictionaryArray.from_arrays(
            pa.array(codes.astype(np.int32), mask=codes < 0), categories, ordered=column.cat.ordered
        )
    return pa.Array.from_pandas(column)


def _is_object(column: Any) -> bool:
    """Whether a column of pandas holds Python objects, also as categories."""
    return bool(getattr(column.dtype, "categories", column).dtype == np.dtype(object))


def _spell_objects(cells: Iterable[Any]) -> pa.Array:
    """Spell each Python object by itself, as Arrow would if there were no others; null if it cannot."""
    text_of: dict[tuple[type, Any], str | None] = {}
    texts = []
    for cell in cells:
        try:
            text = text_of[type(cell), cell]
        except KeyError:
            text = text_of[type(cell), cell] = spell_object(cell)
        except TypeError:  # lists and the like, which have no hash
            text = None
        texts.append(text)
    return pa.array(texts, pa.string())


def _same_array(column: pa.ChunkedArray, dtype: Any) -> Any:
    """Return a column with unchanged values in its original dtype."""
    import pandas as pd

    if isinstance(dtype, pd.ArrowDtype):
        return pd.arrays.ArrowExtensionArray(as_type(column, dtype.pyarrow_dtype))
    if isinstance(dtype, pd.CategoricalDtype):
        # The categories of the Arrow column, as those of the frame are objects of the caller.
        values = column.to_pandas()
        return values.array if isinstance(values.dtype, pd.CategoricalDtype) else pd.Categorical(values)
    if hasattr(dtype, "__from_arrow__"):
        return dtype.__from_arrow__(column)
    if dtype == np.dtype(object):
        if pa.types.is_string(column.type):
            return pd.Series(column.to_numpy(), dtype=object).array
        objects = np.empty(len(column), object)
        for at, value in enumerate(column.to_pylist()):
            objects[at] = value
        return pd.Series(objects, dtype=object).array
    return _as_series(column).astype(dtype).array


def _as_series(column: pa.ChunkedArray) -> Any:
    """Return a column as pandas would; in short floats, NaN has other bits in Arrow than in numpy."""
    if pa.types.is_float16(column.type):
        return column.cast(pa.float32()).to_pandas().astype(np.float16)
    return column.to_pandas()


def _pandas_array(column: pa.ChunkedArray, dtype: Any) -> Any:
    """Return a changed column as close to its original dtype as its new values allow."""
    import pandas as pd

    kind = column.type
    if isinstance(dtype, pd.ArrowDtype):
        return pd.arrays.ArrowExtensionArray(column)
    text = pa.types.is_string(kind)
    if isinstance(dtype, pd.StringDtype) and text:
        return cast("Any", dtype).__from_arrow__(column)
    if dtype == np.dtype(object) and text:
        return pd.Series(column.to_numpy(), dtype=object).array
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        # numpy has no missing integers and booleans; as floats or objects they would lose their type.
        masked = pd.api.types.is_extension_array_dtype(dtype) and not isinstance(dtype, pd.CategoricalDtype)
        if column.null_count or masked:
            name = "boolean" if pa.types.is_boolean(kind) else str(kind).replace("i", "I").replace("u", "U")
            return cast("Any", pd.api.types.pandas_dtype(name)).__from_arrow__(column)
    return _as_series(column).array


def _is_series(source: Any) -> bool:
    return type(source).__name__ == "Series"
