"""Columns of small tables, as private tables are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from veil.dp.declared import Declared
from veil.dp.source import MemorySource
from veil.dp.unit import Unit
from veil.hierarchies import Hierarchy
from veil.private_table.mechanisms import columns
from veil.private_table.mechanisms.columns import Column


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
