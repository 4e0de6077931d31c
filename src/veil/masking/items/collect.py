"""Conversion of a table with one row for each item of a person to one row for each person."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.base.arrays import Integers
from veil.errors import PlanError, Say
from veil.masking.items.baskets import Baskets
from veil.masking.items.problem import rows_of
from veil.models.item_sets import KMAnonymity
from veil.plan.owners import number_people
from veil.plan.plan import Plan
from veil.tables.columns import groups, is_list, is_text
from veil.tables.source import Source


def gathered(source: Source, plan: Plan) -> Source:
    """Return a source with one row for each person, for a plan that generalizes items of people.

    A set holds the items of all rows of its person, as text with a separator if the items are text, else as a
    list. All other columns that are released have to be the same in all rows of a person.
    """
    table, person = source.table, plan.person_column
    if not plan.items or person is None:
        return source
    plan.check_columns(table.column_names)
    owners = number_people(table[person], person).astype(np.int64)
    rows = np.unique(owners, return_index=True)[1]
    if rows.size == table.num_rows:
        return source
    for name in table.column_names:
        leaves = plan.role_of(name) != "dropped" and plan.identifying.get(name) != "remove"
        if leaves and name not in (person, *plan.items):
            _check_constant(table, owners, name, plan)
    collected = table.take(pa.array(rows))
    for name in plan.items:
        sets = _sets(table[name], _separator(plan, name), owners, rows.size)
        collected = collected.set_column(collected.column_names.index(name), name, sets)
    return dataclasses.replace(source, table=collected)


def _check_constant(table: pa.Table, owners: Integers, name: str, plan: Plan) -> None:
    person = plan.person_column
    if np.unique([owners, groups(table, (name,), plan)], axis=1).shape[1] > int(owners.max()) + 1:
        raise PlanError(
            f"column {name!r} differs between rows of the same {person!r}, and for ",
            Say("items"),
            f" all rows of a person are merged: leave the column out, or make it the same for each {person!r}",
        )


def _separator(plan: Plan, name: str) -> str:
    return next(
        (each.separator for each in plan.models if isinstance(each, KMAnonymity) and each.attribute == name),
        ",",
    )


def _sets(column: pa.ChunkedArray, separator: str, owners: Integers, people: int) -> pa.ChunkedArray:
    """Return the set of each person.

    >>> _sets(pa.chunked_array([["b", "a", "b,c"]]), ",", np.array([0, 1, 0]), 2).to_pylist()
    ['b,c', 'a']
    """
    text = is_text(column.type)
    if text:
        column = pc.split_pattern(column.cast(pa.large_string()), separator)
    if is_list(column.type):
        lists = pa.concat_arrays(column.cast(pa.large_list(column.type.value_type)).chunks)
        owners = owners[np.array(pc.list_parent_indices(lists), dtype=np.int64)]
        column = pa.chunked_array([lists.flatten()])
    baskets = Baskets.of_rows(owners, column, people)
    places, starts = rows_of(baskets.starts, baskets.set_of)
    sets = pa.LargeListArray.from_arrays(
        pa.array(starts), baskets.items.take(pa.array(baskets.codes[places]))
    )
    if not text:
        return pa.chunked_array([sets.cast(pa.list_(baskets.items.type))])
    return pa.chunked_array(
        [pc.binary_join(sets, pa.scalar(separator, baskets.items.type)).cast(pa.string())]
    )
