"""Columns of small tables, as private tables are made of them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from veil.dp.declared import Declared
from veil.dp.source import MemorySource
from veil.dp.unit import Unit
from veil.hierarchies import Hierarchy
from veil.private_table.mechanisms import columns
from veil.private_table.mechanisms.columns import Column, Numbers

SPORTS = Hierarchy.from_rows(
    [
        ["sailing", "water", "sport"],
        ["skiing", "winter", "sport"],
        ["swimming", "water", "sport"],
        ["soccer", "field", "sport"],
    ]
)


def read_columns(
    table: pa.Table,
    bounds: Mapping[str, Any],
    domains: Mapping[str, Any],
    missing: Mapping[str, Any],
    neighbours: Any,
) -> list[Column]:
    """Read a table in which every row is a person; what is no value of a domain counts as its first one."""
    firsts = {
        name: (each.labels[0] if isinstance(each, Hierarchy) else each)[0] for name, each in domains.items()
    }
    declared = Declared(neighbours, Unit(None), bounds, {}, {**firsts, **missing})
    return columns.read_columns(MemorySource(table).select(table.column_names), declared, domains)


def numbers(records: Any, high: int) -> list[Numbers]:
    """Columns with whole numbers from 0 on, of a list of records."""
    by_name = {str(place): list(values) for place, values in enumerate(np.array(records).T)}
    found: Any = read_columns(pa.table(by_name), dict.fromkeys(by_name, (0, high)), {}, {}, "one changed")
    return list(found)


def neighbours_of_small_tables(values: int, records: int) -> list[tuple[np.ndarray, np.ndarray]]:
    tables = list(itertools.combinations_with_replacement(range(values), records))
    return [
        (np.array(table), np.array([*table[:place], value, *table[place + 1 :]]))
        for table in tables
        for place in range(records)
        for value in range(values)
    ]
