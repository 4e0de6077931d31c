"""The tables of an outcome: the only one, or the stacked rows of several, separated again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.outcome.apply import Mask, blank_cells
from veil.outcome.masked import Masked
from veil.outcome.result import Origins
from veil.plan.linked_tables import Stacked
from veil.tables.arrow import in_new_memory
from veil.tables.source import Source

if TYPE_CHECKING:
    from veil.outcome.outcome import Outcome


ONLY = "table"
"""Name of the table of an outcome that has one."""


class TableOut(NamedTuple):
    """A table: its input, its output, and the input row of each output row."""

    source: Source
    table: pa.Table
    origins: Origins

    @property
    def rows(self) -> NDArray[np.int64]:
        """The input row of each output row, as numbers."""
        return self.origins.array


def tables_of(outcome: Outcome) -> dict[str, TableOut]:
    """Return the tables of an outcome by name, several of them in the order of the stacked rows."""
    stacked = outcome.source
    if isinstance(stacked, Masked):
        return {ONLY: TableOut(stacked.masks.source, outcome.table, outcome.link.after(stacked.masks.link))}
    if not isinstance(stacked, Stacked):
        return {ONLY: TableOut(stacked, outcome.table, outcome.link)}
    tables = {}
    for name, span in stacked.spans.items():
        here = np.flatnonzero((outcome.origins >= span.start) & (outcome.origins < span.stop))
        rows = outcome.origins[here] - span.start
        table = outcome.table.take(pa.array(here))
        tables[name] = _table_out(stacked, stacked.sources[name], table, rows, outcome.suppressed_mask[span])
    return tables


def _table_out(
    stacked: Stacked, source: Source, table: pa.Table, rows: NDArray[np.int64], suppressed_mask: Mask
) -> TableOut:
    """Take quasi-identifiers and pseudonyms from the stacked rows, other cells from the input or blank."""
    plan, columns, here = stacked.asked, {}, pa.array(rows)
    for name in source.table.column_names:
        treatment = plan.identifying.get(name)
        if plan.role_of(name) == "dropped" or treatment == "remove":
            continue
        if name == stacked.person or name in plan.quasi_identifiers:
            columns[name] = table[name]
        elif treatment == "mask":
            columns[name] = pa.array([plan.marker] * rows.size, pa.string())
        elif suppressed_mask.any():
            columns[name] = blank_cells(source.table[name], suppressed_mask, plan.marker).take(here)
        else:
            columns[name] = source.table[name].take(here)
    return TableOut(source, in_new_memory(pa.table(columns)), Origins(rows.size, rows))
