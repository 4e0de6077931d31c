"""Cells as values of a public domain: what a record shows follows from that record and the hierarchy alone.

Types that are found from all records of a table (those of CSV and Excel files, of Python objects in a pandas frame)
would let one record change the form of all others: with `n/a` among them, 1.50 is a text and no number. So each cell is
spelled by itself, looked up in the hierarchy, and goes on as the text that the hierarchy has for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from veil.hierarchies import Hierarchy
from veil.tables import Csv, Source
from veil.tables.arrow import dictionary_encoded
from veil.tables.text import canonical_text

_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))[.]([0-9]+)")
_TIMESTAMP = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.]0+)?(Z?)")


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
        listed = set(hierarchy.labels[0])
        values, codes = dictionary_encoded(table[name])
        texts = [
            text if text is None else next((each for each in _spellings(text, point) if each in listed), text)
            for text in canonical_text(values, column=name)
        ]
        column = pa.array(texts, pa.string()).take(pa.array(codes))
        table = table.set_column(table.column_names.index(name), name, column)
    return replace(source, table=table, format=source.declared)


def _spellings(text: str, point: str) -> Iterator[str]:
    """Yield the ways to spell a cell, the given one first: by the text alone, never by what other cells hold.

    >>> list(_spellings("1.50", ".")), list(_spellings("2024-01-31 00:00:00", "."))
    (['1.50', '1.50', '1.5'], ['2024-01-31 00:00:00', '2024-01-31T00:00:00', '2024-01-31'])
    """
    yield text
    number = _NUMBER.fullmatch(text.replace(point, "."))
    if number is not None:
        yield f"{number[1]}.{number[2]}"
        yield f"{number[1]}.{number[2]}".rstrip("0").rstrip(".")
    moment = _TIMESTAMP.fullmatch(text)
    if moment is not None:
        yield f"{moment[1]}T{moment[2]}" + ("+00:00" if moment[3] else "")
        if moment[2] == "00:00:00" and not moment[3]:
            yield moment[1]
