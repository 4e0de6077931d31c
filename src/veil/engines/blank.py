"""Rows that show nothing, seen by whoever counts only some of the columns.

A row is suppressed if it shows nothing in any column. An engine counts the combinations of the columns that matter, and
of all others it tells one thing: whether a row that is blank in the first shows something there.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from veil.engines.lookups import free_prefix, is_missing, is_not

if TYPE_CHECKING:
    from veil.engines.relation import Relation


def blanked(value: Any, hidden: Any, marker: str | None) -> Any:
    """What a column shows where some rows are hidden: the marker if it is text, and a missing value of its type if not."""
    import ibis

    if marker is None or not value.type().is_string():
        return ibis.cases((~hidden, value))
    return ibis.ifelse(hidden, ibis.literal(marker, type=value.type()), value)


def with_rest(
    relation: Relation, seen: Collection[str], others: Collection[str], marker: str | None
) -> tuple[Relation, list[str]]:
    """Add a column that is true where all columns seen are blank and another shows something, and missing elsewhere.

    Also return its name; there is none if there are no others.

    >>> import ibis
    >>> from veil.engines import relation_of
    >>> rows = ibis.memtable({"age": ["*", "*", "30"], "ill": ["flu", "*", "flu"], "pay": [None, None, 7]})
    >>> relation, (name,) = with_rest(relation_of(rows), ["age"], ["ill", "pay"], "*")
    >>> relation.table.to_pyarrow()[name].to_pylist()
    [True, None, None]
    """
    import ibis

    if not others or not seen:
        return relation, []
    name = f"{free_prefix(relation.table.columns)}_rest"
    blank = ~any_shows(relation, seen, marker)
    rest = ibis.cases((blank & any_shows(relation, others, marker), ibis.literal(True)))
    return dataclasses.replace(relation, table=relation.table.mutate(**{name: rest})), [name]


def any_shows(relation: Relation, names: Collection[str], marker: str | None) -> Any:
    """Tell of each row whether some columns show anything."""
    return functools.reduce(operator.or_, [_shows(relation, name, marker) for name in names])


def _shows(relation: Relation, name: str, marker: str | None) -> Any:
    """Tell of each row whether a column shows anything but what suppressed cells show."""
    column = relation.table[name]
    there = ~is_missing(column)
    return there if marker is None or not column.type().is_string() else is_not(column, marker)
