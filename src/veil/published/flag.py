"""The column that says which rows of a release are suppressed: under a name that no other column has."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow as pa

FLAG = "suppressed"
"""Column that says which rows are suppressed, where their cells alone would not tell."""

_FLAG = re.compile(f"(veil_)*{FLAG}")


def free_flag(columns: Iterable[str]) -> str:
    """Return a name for the flag of a table with the given columns; databases do not tell case apart.

    >>> free_flag(["age", "sex"]), free_flag(["age", "Suppressed"])
    ('suppressed', 'veil_suppressed')
    """
    alike = [name for name in map(str.lower, columns) if _FLAG.fullmatch(name)]
    return f"veil_{max(alike, key=len)}" if alike else FLAG


def find_flag(table: pa.Table, taken: Iterable[str] = ()) -> str | None:
    """Return the column that tells which rows of a release are suppressed, if it has one: it says so of every row.

    >>> find_flag(pa.table({"suppressed": [False, True], "veil_suppressed": [None, True]}))
    'suppressed'
    """
    for name in flags_among(table.column_names, taken):
        column = table[name]
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_boolean(kind) and not column.null_count:
            return name
    return None


def flags_among(columns: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return columns that may be the flag of a release, the likeliest first: that of a release is the longest.

    >>> flags_among(["suppressed", "age", "veil_suppressed"])
    ['veil_suppressed', 'suppressed']
    """
    found = {name for name in columns if _FLAG.fullmatch(name)}.difference(taken)
    return sorted(found, key=len, reverse=True)
