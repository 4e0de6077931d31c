"""The flag column, which marks the suppressed rows of a release, under a name that no other column has."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow as pa

FLAG = "suppressed"
"""Column that marks suppressed rows, where their cells alone are ambiguous."""

_FLAG = re.compile(f"(veil_)*{FLAG}")


def free_flag(columns: Iterable[str]) -> str:
    """Return a name for the flag of a table with the given columns; databases ignore case.

    >>> free_flag(["age", "sex"]), free_flag(["age", "Suppressed"])
    ('suppressed', 'veil_suppressed')
    """
    alike = [name for name in map(str.lower, columns) if _FLAG.fullmatch(name)]
    return f"veil_{max(alike, key=len)}" if alike else FLAG


def find_flag(table: pa.Table, other_columns: Iterable[str] = ()) -> str | None:
    """Return the flag column of a release, if it has one: Boolean, without missing values.

    >>> find_flag(pa.table({"suppressed": [False, True], "veil_suppressed": [None, True]}))
    'suppressed'
    """
    for name in flags_among(table.column_names, other_columns):
        column = table[name]
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_boolean(kind) and not column.null_count:
            return name
    return None


def flags_among(columns: Iterable[str], other_columns: Iterable[str] = ()) -> list[str]:
    """Return columns that may be the flag of a release, the likeliest first: the longest name.

    >>> flags_among(["suppressed", "age", "veil_suppressed"])
    ['veil_suppressed', 'suppressed']
    """
    names = {name for name in columns if _FLAG.fullmatch(name)}.difference(other_columns)
    return sorted(names, key=len, reverse=True)
