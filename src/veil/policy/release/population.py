"""The population of a table, for models that compare the two: k-map, δ-presence, inclusion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from veil.errors import InputError, PlanError, did_you_mean
from veil.models.subset import row_numbers


def others_of(table: pa.Table, population: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the people of a population who are not in the table, as far as quasi-identifiers differ.

    Each row of the table is matched with a person of the population who has the same values.

    >>> population = pa.table({"age": [1, 1, 1, 2]})
    >>> others_of(pa.table({"age": [1, 2]}), population, ["age"])["age"].to_pylist()
    [1, 1]
    """
    for name in columns:
        if name not in population.column_names:
            raise PlanError(
                f"the population has no column {name!r}, which is needed to find people in it."
                f"{did_you_mean(name, population.column_names)}"
            )
    here, there = row_numbers([table, population], columns)
    kinds = int(max(here.max(initial=-1), there.max(initial=-1))) + 1
    table_counts = np.bincount(here, minlength=kinds)
    if (table_counts > np.bincount(there, minlength=kinds)).any():
        missing = int(np.argmax(table_counts > np.bincount(there, minlength=kinds)))
        row = int(np.argmax(here == missing)) + 1
        raise InputError(
            f"row {row} of those to release: the population has no one else with the same values in "
            f"{', '.join(map(repr, columns))}. It must contain everybody, including those to release"
        )
    order = np.argsort(there, kind="stable")
    ranked = there[order]
    starts = np.flatnonzero(np.diff(ranked, prepend=-1))
    place = np.arange(ranked.size) - np.repeat(starts, np.diff(starts, append=ranked.size))
    left = np.sort(order[place >= table_counts[ranked]])
    return population.select(list(columns)).take(pa.array(left))


def below(table: pa.Table, others: pa.Table) -> pa.Table:
    """Append other people to a table; columns that they lack are missing."""
    columns = {
        name: others[name].cast(table.schema.field(name).type)
        if name in others.column_names
        else pa.nulls(others.num_rows, table.schema.field(name).type)
        for name in table.column_names
    }
    return pa.concat_tables([table, pa.table(columns)])
