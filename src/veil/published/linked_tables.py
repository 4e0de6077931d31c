"""Several tables as one: their rows stacked, with the name of the table as a quasi-identifier.

All rows of a person in all tables are then a set of rows in one table: the joined view of a person, without
the product of rows that a join would make.
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
    """Return a name for the column with the table of each row.

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
    quasi_identifiers: Collection[str],
    sensitive: Collection[str],
    further: Collection[str] = (),
) -> pa.Table:
    """Stack the quasi-identifiers, the sensitive columns that models read, and further columns, as text."""
    sizes = [table.num_rows for table in tables.values()]
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        label: pa.array(np.repeat(np.array(list(tables), object), sizes), pa.string())
    }
    columns |= {name: column_texts(tables, name) for name in (*quasi_identifiers, *further)}
    columns |= {name: sensitive_texts(tables, name) for name in sensitive}
    return pa.table(columns)


def column_texts(tables: Mapping[str, pa.Table], name: str) -> pa.ChunkedArray:
    """Return a column of all tables as text, numbers alike in all types; missing where a table lacks it."""
    chunks: list[pa.Array] = []
    for table in tables.values():
        if name in table.column_names:
            chunks += _texts(table[name], name).chunks
        else:
            chunks.append(pa.nulls(table.num_rows, pa.string()))
    return pa.chunked_array(chunks, pa.string())


def sensitive_texts(tables: Mapping[str, pa.Table], name: str) -> pa.ChunkedArray:
    """Return a sensitive column of all tables as text. Where a table lacks it, every row has its own value.

    Rows without the column cannot agree in it: models of concentration then judge the rows that have it, and
    require of the others no more than a number of people.
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
    quasi_identifiers: Collection[str],
    sensitive: Collection[str],
    person: str,
    treatment: str,
    marker: str | None,
) -> tuple[Published, Finding]:
    """Return released tables as rows of people, by their pseudonyms if they show them.

    Also return whether rows without a pseudonym show nothing, as those of suppressed people should.
    """
    visible, problems = {}, []
    for name, table in tables.items():
        visible[name] = table.filter(pa.array(~blank_rows(table, marker)))
        if treatment == "pseudonym" and person in table.column_names:
            ownerless_mask = shows_nothing(visible[name][person], marker)
            if ownerless_mask.any():
                problems.append(f"{int(ownerless_mask.sum())} of {name!r} do")
    finding = Finding(
        "rows without a pseudonym show nothing", not problems, "; ".join(problems) or "none does"
    )
    by_pseudonym = treatment == "pseudonym" and all(person in each.column_names for each in visible.values())
    together = stack_texts(
        visible,
        label,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        further=[person] if by_pseudonym else [],
    )
    owners = Owners.of(together, Person(person, "as written") if by_pseudonym else None, "all rows")
    rows = Rows.of(together, owners=owners)
    return Published(rows, [label, *quasi_identifiers], marker=marker, suppressed="none"), finding


def blank_rows(table: pa.Table, marker: str | None) -> NDArray[np.bool_]:
    """Return a mask of the rows that show nothing in any column, as those of suppressed people do.

    In a file, a column of missing values only may have become one of text.

    >>> blank_rows(pa.table({"age": [None, 7], "sex": ["*", "*"]}), "*").tolist()
    [True, False]
    """
    blank = np.ones(table.num_rows, np.bool_)
    for name in table.column_names:
        blank &= is_blank(table[name], marker)
    return blank


def _texts(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    values, codes = encode_values(column)
    texts = pa.array(canonical_text(values, column=name), pa.string())
    return pa.chunked_array([texts.take(pa.array(codes))])
