"""What becomes of several tables: the stacked rows, taken apart again."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.outcome.apply import blank_cells
from veil.plan.linked_tables import Stacked
from veil.tables.arrow import in_new_memory
from veil.tables.source import Source

if TYPE_CHECKING:
    from veil.outcome.outcome import Outcome


class TableOut(NamedTuple):
    """One of several tables: what came in, what goes out, and the input row of each row that goes out."""

    source: Source
    table: pa.Table
    rows: NDArray[np.int64]


def taken_apart(outcome: Outcome) -> Outcome:
    """Return an outcome with the tables that its rows are of, in the order in which all rows together leave.

    An outcome of one table is returned as it is.
    """
    stacked = outcome.source
    if not isinstance(stacked, Stacked):
        return outcome
    assert outcome.hidden is not None
    tables = {}
    for name, span in stacked.spans.items():
        here = np.flatnonzero((outcome.origins >= span.start) & (outcome.origins < span.stop))
        rows = outcome.origins[here] - span.start
        made = outcome.table.take(pa.array(here))
        tables[name] = _table_out(stacked, stacked.sources[name], made, rows, outcome.hidden[span])
    return dataclasses.replace(outcome, tables=tables)


def _table_out(
    stacked: Stacked, source: Source, made: pa.Table, rows: NDArray[np.int64], hidden: NDArray[np.bool_]
) -> TableOut:
    """Take what models judge from the stacked rows, and the rest from the input, blank for suppressed people."""
    plan, columns, here = stacked.asked, {}, pa.array(rows)
    for name in source.table.column_names:
        treatment = plan.identifying.get(name)
        if plan.role_of(name) == "dropped" or treatment == "remove":
            continue
        if name == stacked.person or name in plan.quasi_identifiers:
            columns[name] = made[name]
        elif treatment == "mask":
            columns[name] = pa.array([plan.marker] * rows.size, pa.string())
        elif hidden.any():
            columns[name] = blank_cells(source.table[name], hidden, plan.marker).take(here)
        else:
            columns[name] = source.table[name].take(here)
    return TableOut(source, in_new_memory(pa.table(columns)), rows)
