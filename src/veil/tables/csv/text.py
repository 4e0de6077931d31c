"""The spelling of typed columns in a CSV file.

Reading and writing share it: a column gets a type only if its typed values are spelled as they were in the
file.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import OutputError


def spell(
    column: pa.ChunkedArray, name: str, *, decimal: str = ".", time_separator: str = "T"
) -> pa.ChunkedArray:
    """Return the column as text; a missing value stays null.

    >>> import pyarrow as pa
    >>> spell(pa.chunked_array([[True, None]]), "smoker").to_pylist()
    ['true', None]
    """
    kind: Any = column.type
    if pa.types.is_dictionary(kind):
        return spell(column.cast(kind.value_type), name, decimal=decimal, time_separator=time_separator)
    if pa.types.is_string(kind):
        return column
    if pa.types.is_decimal(kind):
        return _with_mark(_plain(column), decimal)
    if pa.types.is_floating(kind):
        return _with_mark(column.cast(pa.string()), decimal)
    if pa.types.is_timestamp(kind):
        text = pc.replace_substring(column.cast(pa.string()), " ", time_separator, max_replacements=1)
        return pc.replace_substring_regex(text, r"([+-]\d\d)(\d\d)$", r"\1:\2") if kind.tz else text
    try:
        return column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise OutputError(
            f"column {name!r} has type {kind}, which a CSV file cannot hold. Write Parquet or Feather, "
            "turn the column into text, or drop it"
        ) from None


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Spell decimals with digits only, where Arrow writes tiny ones like ``1E-8``."""
    text = column.cast(pa.string())
    if column.type.scale <= 6 or not pc.any(pc.match_substring(text, "E")).as_py():
        return text
    digits = [None if value is None else format(value, "f") for value in column.to_pylist()]
    return pa.chunked_array([pa.array(digits, pa.string())])


def _with_mark(text: pa.ChunkedArray, mark: str) -> pa.ChunkedArray:
    return text if mark == "." else pc.replace_substring(text, ".", mark)
