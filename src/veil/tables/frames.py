"""Dataframes to Arrow and back, one library a class.

No dataframe library is imported here: whoever hands over a frame has imported its library already.
A column that was not changed comes back as the very column of the frame that came in, so that it keeps
what Arrow has no word for (the dtype, the Python objects in an object column, an enumeration).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.errors import InputError
from veil.tables.arrow import only_used_categories

Rows = npt.NDArray[np.int64]


class Frame(Protocol):
    """A dataframe that came in: it becomes an Arrow table, and Arrow tables become frames of its kind."""

    def to_arrow(self) -> pa.Table:
        """Return the frame as a table, with text as column names."""

    def from_arrow(self, table: pa.Table, unchanged: Set[str], rows: Rows | None) -> Any:
        """Return `table` as a frame of this kind.

        `unchanged` names the columns to take from this frame, `rows` the rows that are left of it.
        """


def frame_of(source: Any) -> tuple[str, Frame] | None:
    """Return the kind of a dataframe and its adapter; ``None`` if it is not one that we know."""
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
class ArrowFrame:
    """A pyarrow table, or anything that hands itself over through Arrow's stream interface."""

    frame: pa.Table

    def to_arrow(self) -> pa.Table:
        return self.frame

    def from_arrow(self, table: pa.Table, unchanged: Set[str], rows: Rows | None) -> pa.Table:
        columns = []
        for name in table.column_names:
            column = table.column(name)
            if name in unchanged and rows is None:
                column = self.frame.column(name)
            elif name in unchanged:
                column = _take(self.frame.column(name), rows)
            columns.append(column)
        return only_used_categories(pa.table(columns, names=table.column_names))


@dataclass(frozen=True)
class PolarsFrame:
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
        return self.frame.to_arrow()

    def from_arrow(self, table: pa.Table, unchanged: Set[str], rows: Rows | None) -> Any:
        import polars as pl

        changed = [name for name in table.column_names if name not in unchanged]
        made: Any = pl.from_arrow(only_used_categories(table.select(changed))) if changed else {}
        columns = []
        for name in table.column_names:
            if name not in unchanged:
                columns.append(made[name])
            else:
                columns.append(self.frame[name] if rows is None else self.frame[name].gather(rows))
        out = pl.DataFrame(columns)
        return out.lazy() if self.lazy else out


@dataclass(frozen=True)
class PandasFrame:
    """A pandas frame. Its index is not a column; rows that are kept keep their labels."""

    frame: Any

    def to_arrow(self) -> pa.Table:
        names = self._names()
        check_names(names)
        columns = []
        for number, name in enumerate(names):
            try:
                columns.append(pa.Array.from_pandas(self.frame.iloc[:, number]))
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise self._unusable(number, name, error) from None
        return pa.table(columns, names=names)

    def from_arrow(self, table: pa.Table, unchanged: Set[str], rows: Rows | None) -> Any:
        import pandas as pd

        place = {name: number for number, name in enumerate(self._names())}
        table = only_used_categories(table)
        index = self.frame.index if rows is None else self.frame.index.take(rows)
        columns: dict[int, Any] = {}
        for number, name in enumerate(table.column_names):
            old = self.frame.iloc[:, place[name]] if name in place else None
            if old is None or name not in unchanged:
                array = _pandas_array(table.column(name), None if old is None else old.dtype)
            else:
                array = old.array if rows is None else old.array.take(rows)
                if rows is not None and isinstance(array, pd.Categorical):
                    array = array.remove_unused_categories()
            # The dtype is said, or pandas looks at the objects and may choose another.
            columns[number] = pd.Series(array, index=index, dtype=array.dtype)
        out = pd.DataFrame(columns, index=index)
        labels = [self.frame.columns[place[name]] if name in place else name for name in table.column_names]
        out.columns = pd.Index(labels, name=self.frame.columns.name)
        return out

    def _names(self) -> list[str]:
        """Column labels that are not text (numbers, dates) go by their text; the release has them again."""
        if self.frame.columns.nlevels > 1:
            raise InputError(
                "the pandas frame has column names of several levels. Give it plain ones, for example "
                'df.columns = ["_".join(map(str, name)) for name in df.columns]'
            )
        return [str(label) for label in self.frame.columns]

    def _unusable(self, number: int, name: str, error: Exception) -> InputError:
        column = self.frame.iloc[:, number]
        kinds: dict[str, int] = {}
        for row, (value, missing) in enumerate(zip(column, column.isna(), strict=True)):
            if not missing:
                kinds.setdefault(type(value).__name__, row)
        if len(kinds) > 1:
            mix = ", ".join(f"{kind} (first in row {row + 1})" for kind, row in kinds.items())
            return InputError(
                f"column {name!r} mixes values of type {mix}. Turn them into one type, or drop it"
            )
        return InputError(
            f"column {name!r} cannot be used: {error}. Turn it into text or numbers, or drop it"
        )


def _pandas_array(column: pa.ChunkedArray, dtype: Any) -> Any:
    """Return a changed column as close to the dtype it had as its new values allow."""
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
    return column.to_pandas().array


def _take(column: pa.ChunkedArray, rows: Rows | None) -> pa.ChunkedArray:
    if pa.types.is_string_view(column.type):  # Arrow cannot pick from these
        return column.cast(pa.large_string()).take(pa.array(rows)).cast(column.type)
    return column.take(pa.array(rows))


def _is_series(source: Any) -> bool:
    return type(source).__name__ == "Series"
