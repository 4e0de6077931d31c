"""Cells as values of a public domain: the value of a cell depends on that cell and the hierarchy alone.

Types inferred from all records of a table (CSV and Excel files, Python objects in a pandas frame) would let
one record change the form of all others: with `n/a` among them, 1.50 is a text and no number. So each cell is
spelled by itself, looked up in the hierarchy, and replaced by the hierarchy's text for it. That is a total
function of one cell: one that the hierarchy does not list is a missing value, which every hierarchy lists
here. An error would be an answer without a privacy loss.
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
    """Return a table with each column that has a hierarchy as text, independent of types inferred from rows.

    Every cell becomes a value of the domain: one that the hierarchy does not list is missing.

    >>> from veil.tables import read
    >>> age = Hierarchy.from_rows([["7", "*"], ["8", "*"]])
    >>> in_domain(read(pa.table({"age": [7.0, 8.0, 900.0]})), {"age": age}).table["age"].to_pylist()
    ['7', '8', None]
    """
    columns = {name: each for name, each in hierarchies.items() if name in source.table.column_names}
    for name in columns:  # refuses types that have no text form
        canonical_text(pa.nulls(0, source.table[name].type), column=name)
    return source.respelled(
        {name: functools.partial(_labels, each, source.cells().marks) for name, each in columns.items()}
    )


def _labels(hierarchy: Hierarchy, marks: Marks, values: pa.Array) -> pa.Array:
    """Return the value of the domain for each cell."""
    labels = [label for label in hierarchy.labels[0] if label is not None]
    # If the hierarchy spells a value in several ways, numbers and dates get the first one.
    by_form = {plain_form(label): label for label in reversed(labels)}
    # Texts are compared exactly. Types may depend on other records: 1.5 and 1.50 are one decimal.
    exact = set(labels) if is_text(values.type) else set()
    cells = [
        text if text is None or text in exact else by_form.get(plain_form(text, marks))
        for text in spell_cells(values)
    ]
    return pa.array(cells, pa.string())
