"""Several tables as one: their rows stacked, with the name of its table as part of what is known of a row.

All that a person has in all tables is then the set of their rows in one: the joined view of a person, without the product of
rows that a join would make.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.published.blank import is_blank, shows_nothing
from veil.published.finding import Finding
from veil.published.table import Published
from veil.tables.columns import encode_values
from veil.tables.rows import Owners, Rows
from veil.tables.spelling import Person
from veil.tables.text import canonical_text


def free_label(columns: Collection[str]) -> str:
    """Return a name for the column that says from which table a row is.

    >>> free_label(["age", "table"])
    'table_'
    """
    label = "table"
    while label in columns:
        label += "_"
    return label


def stack_texts(
    tables: Mapping[str, pa.Table],
    label: str,
    *,
    known: Collection[str],
    judged: Collection[str],
    kept: Collection[str] = (),
) -> pa.Table:
    """Stack the columns that models look at, as text: those that are `known`, those that are `judged`, and what is `kept`."""
    sizes = [table.num_rows for table in tables.values()]
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        label: pa.array(np.repeat(np.array(list(tables), object), sizes), pa.string())
    }
    columns |= {name: known_texts(tables, name) for name in (*known, *kept)}
    columns |= {name: judged_texts(tables, name) for name in judged}
    return pa.table(columns)


def known_texts(tables: Mapping[str, pa.Table], name: str) -> pa.ChunkedArray:
    """Return a column of all tables as text, alike however a number is stored; missing where a table does not have it."""
    chunks: list[pa.Array] = []
    for table in tables.values():
        if name in table.column_names:
            chunks += _texts(table[name], name).chunks
        else:
            chunks.append(pa.nulls(table.num_rows, pa.string()))
    return pa.chunked_array(chunks, pa.string())


def judged_texts(tables: Mapping[str, pa.Table], name: str) -> pa.ChunkedArray:
    """Return a sensitive column of all tables as text. Where a table does not have it, every row has a value of its own.

    Rows that say nothing of it cannot be alike in it: models of concentration then judge the rows that have the column,
    and of others ask for no more than a number of people.
    """
    chunks: list[pa.Array] = []
    for number, table in enumerate(tables.values()):
        if name in table.column_names:
            chunks += _texts(table[name], name).chunks
        else:
            rows = pc.cast(pa.array(np.arange(table.num_rows)), pa.string())
            chunks.append(pc.binary_join_element_wise(f"\0no such column {number}", rows, " "))
    return pa.chunked_array(chunks, pa.string())


def joined_view(
    tables: Mapping[str, pa.Table],
    label: str,
    *,
    known: Collection[str],
    judged: Collection[str],
    person: str,
    treatment: str,
    marker: str | None,
) -> tuple[Published, Finding]:
    """See released tables as rows of people, by the pseudonyms that they show, if they do.

    Also tell whether rows that are of nobody show nothing, as those of suppressed people should.
    """
    shown, lost = {}, []
    for name, table in tables.items():
        blank = blank_rows(table, marker)
        shown[name] = table.filter(pa.array(~blank))
        if treatment == "pseudonym" and person in table.column_names:
            nobody = shows_nothing(shown[name][person], marker)
            if nobody.any():
                lost.append(f"{int(nobody.sum())} of {name!r} do")
    told = "; ".join(lost)
    finding = Finding("rows without a pseudonym show nothing", not told, told or "none does")
    by_pseudonym = treatment == "pseudonym" and all(person in each.column_names for each in shown.values())
    together = stack_texts(shown, label, known=known, judged=judged, kept=[person] if by_pseudonym else [])
    owners = Owners.of(together, Person(person, "as written") if by_pseudonym else None, "all rows")
    seen = Published(
        Rows.of(together, owners=owners),
        [label, *known],
        marker=marker,
        suppressed="none",
    )
    return seen, finding


def blank_rows(table: pa.Table, marker: str | None) -> NDArray[np.bool_]:
    """Tell which rows show nothing in any column, as those of suppressed people do.

    A column of nothing but missing values may have become one of text in a file.

    >>> blank_rows(pa.table({"age": [None, 7], "sex": ["*", "*"]}), "*").tolist()
    [True, False]
    """
    blank = np.ones(table.num_rows, np.bool_)
    for name in table.column_names:
        blank &= is_blank(table[name], marker)
    return blank


def _texts(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    values, codes = encode_values(column)
    spelled = pa.array(canonical_text(values, column=name), pa.string())
    return pa.chunked_array([spelled.take(pa.array(codes))])
