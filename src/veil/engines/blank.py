"""Rows that show nothing, for counting only some of the columns.

A row is suppressed if it is blank in all columns. An engine counts the combinations of the relevant columns;
in the others it only checks whether a row that is blank in the first shows something there.
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


def blanked(value: Any, suppressed: Any, marker: str | None) -> Any:
    """Return a column with suppressed rows blank: the marker in text, and a missing value in other types."""
    import ibis

    if marker is None or not value.type().is_string():
        return ibis.cases((~suppressed, value))
    return ibis.ifelse(suppressed, ibis.literal(marker, type=value.type()), value)


def with_rest(
    relation: Relation, columns: Collection[str], others: Collection[str], marker: str | None
) -> tuple[Relation, list[str]]:
    """Add a column that is true where the given columns are blank and others are not, and missing elsewhere.

    Also return its name; there is none if there are no others.

    >>> import ibis
    >>> from veil.engines import relation_of
    >>> rows = ibis.memtable({"age": ["*", "*", "30"], "ill": ["flu", "*", "flu"], "pay": [None, None, 7]})
    >>> relation, (name,) = with_rest(relation_of(rows), ["age"], ["ill", "pay"], "*")
    >>> relation.table.to_pyarrow()[name].to_pylist()
    [True, None, None]
    """
    import ibis

    if not others or not columns:
        return relation, []
    name = f"{free_prefix(relation.table.columns)}_rest"
    blank = ~any_shows(relation, columns, marker)
    rest = ibis.cases((blank & any_shows(relation, others, marker), ibis.literal(True)))
    return dataclasses.replace(relation, table=relation.table.mutate(**{name: rest})), [name]


def any_shows(relation: Relation, names: Collection[str], marker: str | None) -> Any:
    """Return an expression that is true where any of some columns shows something."""
    return functools.reduce(operator.or_, [_shows(relation, name, marker) for name in names])


def _shows(relation: Relation, name: str, marker: str | None) -> Any:
    """Return an expression that is true where a column shows anything but the marker or a missing value."""
    column = relation.table[name]
    there = ~is_missing(column)
    return there if marker is None or not column.type().is_string() else is_not(column, marker)
