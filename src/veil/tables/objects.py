"""Columns of Python objects: one type for all their values, or a refusal that names both types.

In pandas, 1, 1.0 and True are equal, and so are a day and its midnight; Arrow takes the type of the first
value, and cuts off the hours or the time zone of the others. So mixed values are converted to a common type
here if there is one, and refused otherwise.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from veil.errors import InputError

_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("true or false", (bool, np.bool_)),
    ("whole number", (int, np.integer)),
    ("number", (float, np.floating)),
    ("decimal", (Decimal,)),
    ("text", (str,)),
    ("bytes", (bytes, bytearray, memoryview)),
    ("time", (dt.datetime, np.datetime64)),
    ("date", (dt.date,)),
    ("time of day", (dt.time,)),
    ("duration", (dt.timedelta, np.timedelta64)),
    ("list", (list, tuple, np.ndarray)),
    ("set", (set, frozenset)),
    ("record", (dict,)),
)
"""Kinds of values, with their types in Python and numpy."""

_TOGETHER = ({"whole number", "number"}, {"whole number", "decimal"}, {"date", "time"})
_WAYS_OUT = {
    "set": "sets, whose items have no order of their own. Make sorted lists or text of them",
    "record": "dictionaries, whose keys would be published whoever has them. Make a column of each key",
}


def from_objects(column: Any, name: str) -> pa.Array:
    """Return an Arrow array of a column or an index of pandas that holds Python objects, all of one kind.

    >>> import pandas as pd
    >>> visit = pd.Series([dt.date(2020, 1, 31), None, dt.datetime(2020, 1, 31, 5)], dtype=object)
    >>> from_objects(visit, "visit").to_pylist()
    [datetime.datetime(2020, 1, 31, 0, 0), None, datetime.datetime(2020, 1, 31, 5, 0)]
    >>> from_objects(pd.Series([1, True], dtype=object), "x")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: column 'x' mixes values of type int (first in row 1), bool (first in row 2). Turn ...
    """
    cells: Sequence[Any] = column.to_numpy()
    kinds = _kinds(cells)
    if len(kinds) > 1:  # some may be forms of a missing value
        cells = [None if gone else each for each, gone in zip(cells, column.isna().tolist(), strict=True)]
        kinds = _kinds(cells)
    for kind, way in _WAYS_OUT.items():
        if kind in kinds:
            raise InputError(f"column {name!r} holds {way}, or drop the column")
    if len(kinds) > 1 and not any(kinds <= each for each in _TOGETHER):
        raise _mixed(cells, name)
    if "time" in kinds:
        cells = _times(cells, name)
    array = pa.array(cells, from_pandas=True)
    # The widest decimal type, as a narrower one would disclose the length of the longest number.
    return array.cast(pa.decimal128(38, array.type.scale)) if pa.types.is_decimal128(array.type) else array


def _kinds(cells: Sequence[Any]) -> set[str]:
    """Return the kinds of values, including those of missing values other than None."""
    return {_kind(each) for each in set(map(type, cells)) - {type(None)}}


def _kind(cls: type) -> str:
    return next((kind for kind, types in _KINDS if issubclass(cls, types)), cls.__name__)


def _times(cells: Sequence[Any], name: str) -> list[Any]:
    """Return times in one zone, UTC if they have several, and dates as midnight."""
    dates = [each for each in cells if isinstance(each, dt.date)]
    zones = {each.tzinfo if isinstance(each, dt.datetime) else None for each in dates}
    if None in zones and len(zones) > 1:
        raise InputError(
            f"column {name!r} mixes times that have a time zone with dates or times that have none. Give "
            "all of them a time zone, or none of them"
        )
    if len(zones) > 1:
        return [each.astimezone(dt.UTC) if isinstance(each, dt.datetime) else each for each in cells]
    return [dt.datetime(each.year, each.month, each.day) if type(each) is dt.date else each for each in cells]


def _mixed(cells: Sequence[Any], name: str) -> InputError:
    first: dict[str, int] = {}
    for row, value in enumerate(cells, start=1):
        if value is not None:
            first.setdefault(type(value).__name__, row)
    mix = ", ".join(f"{kind} (first in row {row})" for kind, row in first.items())
    return InputError(f"column {name!r} mixes values of type {mix}. Turn them into one type, or drop it")
