"""Cells as values of a public domain: what a record shows follows from that record and the hierarchy alone.

Types that are found from all records of a table (those of CSV and Excel files, of Python objects in a pandas frame)
would let one record change the form of all others: with `n/a` among them, 1.50 is a text and no number. So each cell is
spelled by itself, looked up in the hierarchy, and goes on as the text that the hierarchy has for it.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow as pa

from veil.hierarchies import Hierarchy
from veil.tables import Csv, Source
from veil.tables.arrow import dictionary_encoded
from veil.tables.columns import is_text
from veil.tables.text import canonical_text

_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))[.]([0-9]+)")
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.]0+)?(Z?)")


def in_domain(source: Source, hierarchies: dict[str, Hierarchy]) -> Source:
    """Return a table in memory with each column that has a hierarchy as text, and without what was found from its rows.

    A value that the hierarchy does not list stays as it is spelled, for whoever encodes it to complain about.

    >>> from veil.tables import read
    >>> age = Hierarchy.from_rows([["7", "*"], ["8", "*"]])
    >>> in_domain(read(pa.table({"age": [7.0, 8.0]})), {"age": age}).table["age"].to_pylist()
    ['7', '8']
    """
    there = {name: each for name, each in hierarchies.items() if name in source.table.column_names}
    point = source.format.decimal if isinstance(source.format, Csv) else "."
    table = source.cell_by_cell(there)
    for name, hierarchy in there.items():
        values, codes = dictionary_encoded(table[name])
        texts = canonical_text(values, column=name)
        listed = [label for label in hierarchy.labels[0] if label is not None]
        # Of values that the hierarchy spells in several ways, the first way is that of numbers and dates.
        known = {_form(label, "."): label for label in reversed(listed)}
        # A text is what it is. What has a type may owe it to others: 1.5 and 1.50 are one decimal.
        exact = set(listed) if is_text(values.type) else set()
        labels = [
            text if text is None or text in exact else known.get(_form(text, point), text) for text in texts
        ]
        column = pa.array(labels, pa.string()).take(pa.array(codes))
        table = table.set_column(table.column_names.index(name), name, column)
    return replace(source, table=table, format=source.declared)


def _form(text: str, point: str) -> str:
    """Return the one form of numbers and moments that can be spelled in several, by the text alone.

    >>> _form("1,50", ","), _form("7", "."), _form("2024-01-31 00:00:00", "."), _form("02139.0", ".")
    ('1.5', '7', '2024-01-31', '02139.0')
    """
    number = _NUMBER.fullmatch(text.replace(point, "."))
    if number is not None:
        return f"{number[1]}.{number[2]}".rstrip("0").rstrip(".")
    moment = _MOMENT.fullmatch(text)
    if moment is not None:
        day, time, zone = moment.groups()
        return day if time == "00:00:00" and not zone else f"{day}T{time}" + ("+00:00" if zone else "")
    return text
