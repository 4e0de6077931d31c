"""Kinds of cells: a value, missing, or withheld.

In quasi-identifiers, a suppressed cell shows the marker in text columns and is missing in others. In
sensitive attributes, missing and withheld cells are blank, however they are written.

Only this module compares texts with the marker: models, verifier, policies and certificates call its
functions, and engines call `veil.engines.blank`, its translation to SQL.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.tables.canonical import widened
from veil.tables.columns import encode_values, is_list, is_text

MARKER = "*"
"""Default text of a suppressed cell."""


def shows_nothing(column: pa.Array | pa.ChunkedArray, marker: str | None) -> NDArray[np.bool_]:
    """Return a mask of the cells that show what suppressed cells show.

    >>> shows_nothing(pa.array(["*", None, "a"]), "*").tolist(), shows_nothing(pa.array([1, None]), "*").tolist()
    ([True, False, False], [False, True])
    """
    if pa.types.is_dictionary(column.type):
        values, codes = encode_values(
            column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
        )
        return shows_nothing(values, marker)[codes]
    if marker is None or not is_text(column.type):
        blank = pc.is_null(column)
    else:
        text = column.cast(pa.string()) if pa.types.is_string_view(column.type) else column
        blank = pc.fill_null(pc.equal(text, marker), False)
    return np.array(blank, dtype=np.bool_)


def never_blank(column: pa.ChunkedArray) -> bool:
    """Whether every cell shows a value, judged by the type alone; False where cells would have to be read.

    >>> never_blank(pa.chunked_array([[1, 2]])), never_blank(pa.chunked_array([["flu"]]))
    (True, False)
    """
    return column.null_count == 0 and bool(
        pa.types.is_integer(column.type)
        or pa.types.is_boolean(column.type)
        or pa.types.is_temporal(column.type)
    )


def is_blank(column: pa.Array | pa.ChunkedArray, marker: str | None) -> NDArray[np.bool_]:
    """Return a mask of the cells that are missing or show the marker.

    >>> is_blank(pa.array(["*", None, "a"]), "*").tolist(), is_blank(pa.array([1, None]), "*").tolist()
    ([True, True, False], [False, True])
    """
    return shows_nothing(column, marker) | shows_nothing(column, None)


def is_masked(values: pa.Array, marker: str | None) -> bool:
    """Whether the only value of a column is the marker: another would reveal which cells were missing.

    >>> is_masked(pa.array(["*"]), "*"), is_masked(pa.array(["*", None]), "*"), is_masked(pa.array([None]), None)
    (True, False, True)
    """
    return set(values.to_pylist()) <= {marker}


_BLANK = r"\A[\s\pZ\pC]*\z"
"""Nothing but blanks and invisible characters."""


def shows_no_value(values: pa.Array, marker: str | None) -> NDArray[np.bool_]:
    """Return a mask of the sensitive values that are none: missing, not a number, empty, or the marker.

    Words for a missing value, such as "unknown", are values: "none" may be what a healthy person has.

    >>> shows_no_value(pa.array(["flu", None, "", " ", "*", "none"]), "*").tolist()
    [False, True, True, True, True, False]
    """
    if is_list(values.type):
        return np.array(values.is_null(), dtype=np.bool_)
    missing = np.array(widened(values).is_null(nan_is_null=True), dtype=np.bool_)
    if not is_text(values.type):
        return missing
    text = values.cast(pa.string())
    empty = pc.or_(pc.match_substring_regex(text, _BLANK), pc.equal(text, "" if marker is None else marker))
    return missing | np.array(pc.fill_null(empty, False), dtype=np.bool_)
