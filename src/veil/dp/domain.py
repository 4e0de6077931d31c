"""Cells as values of a public domain: what a record shows follows from that record and the hierarchy alone.

Types that are found from all records of a table (those of CSV and Excel files, of Python objects in a pandas frame)
would let one record change the form of all others: with `n/a` among them, 1.50 is a text and no number. So each cell is
spelled by itself, looked up in the hierarchy, and goes on as the text that the hierarchy has for it. That is a total
function of one cell: one that the hierarchy does not list, whatever it holds, is a missing value, which every hierarchy
lists here. An error would be an answer that nobody has paid for.
"""

from __future__ import annotations

import functools

import pyarrow as pa

from veil.hierarchies import Hierarchy
from veil.tables import Source
from veil.tables.cells import Marks, plain_form, spell_cells
from veil.tables.columns import is_text
from veil.tables.text import canonical_text


def in_domain(source: Source, hierarchies: dict[str, Hierarchy]) -> Source:
    """Return a table with each column that has a hierarchy as text, and without what was found from its rows.

    Whatever stands in a cell, it becomes a value of the domain: one that the hierarchy does not list is missing.

    >>> from veil.tables import read
    >>> age = Hierarchy.from_rows([["7", "*"], ["8", "*"]])
    >>> in_domain(read(pa.table({"age": [7.0, 8.0, 900.0]})), {"age": age}).table["age"].to_pylist()
    ['7', '8', None]
    """
    there = {name: each for name, each in hierarchies.items() if name in source.table.column_names}
    for name in there:  # refuses types that have no text form
        canonical_text(pa.nulls(0, source.table[name].type), column=name)
    return source.respelled(
        {name: functools.partial(_labels, each, source.cells().marks) for name, each in there.items()}
    )


def _labels(hierarchy: Hierarchy, marks: Marks, values: pa.Array) -> pa.Array:
    """Return the value of the domain that each of some values is."""
    listed = [label for label in hierarchy.labels[0] if label is not None]
    # Of values that the hierarchy spells in several ways, the first way is that of numbers and dates.
    known = {plain_form(label): label for label in reversed(listed)}
    # A text is what it is. What has a type may owe it to others: 1.5 and 1.50 are one decimal.
    exact = set(listed) if is_text(values.type) else set()
    found = [
        text if text is None or text in exact else known.get(plain_form(text, marks))
        for text in spell_cells(values)
    ]
    return pa.array(found, pa.string())
