"""From a node of the lattice to the cells of a table: generalizing, aggregating, blanking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.classes.encoding import Levels
from veil.preparation import Prepared
from veil.published import FLAG


def applied(
    prepared: Prepared, levels: Levels, groups: NDArray[np.int32], suppressed: NDArray[np.bool_]
) -> tuple[pa.Table, NDArray[np.int64] | None, str | None]:
    """Build the output table. Also return the rows that stay (None: all) and the name of the flag column."""
    plan, table = prepared.plan, prepared.table
    position = {name: j for j, name in enumerate(prepared.encoding.names)}
    hidden = pa.array(suppressed)
    columns: dict[str, Any] = {}
    ambiguous = False
    for name in table.column_names:
        role = plan.role_of(name)
        if role == "dropped" or plan.identifying.get(name) == "remove":
            continue
        if role == "identifying":
            columns[name] = pa.array([plan.marker] * table.num_rows, pa.string())
        elif name in plan.microaggregated:
            made = _aggregate(prepared, name, groups, suppressed)
            columns[name], clash = blanked(made, hidden, plan.marker)
            ambiguous |= clash
        elif name in position:
            j = position[name]
            made = _generalize(prepared, j, levels[j], table[name])
            columns[name], clash = blanked(made, hidden, plan.marker, fresh=levels[j] > 0)
            ambiguous |= clash
        else:
            columns[name] = table[name]
    flag = None
    if plan.suppressed_rows == "keep" and ambiguous and suppressed.any():
        flag = FLAG if FLAG not in table.column_names else f"veil_{FLAG}"
        columns[flag] = hidden
    result = pa.table(columns)
    stay = np.ones(table.num_rows, np.bool_) if prepared.subset is None else prepared.subset
    if plan.suppressed_rows == "drop":
        stay = stay & ~suppressed
    if stay.all():
        return result, None, flag
    rows = np.flatnonzero(stay)
    return result.take(pa.array(rows)), rows, flag


def _generalize(
    prepared: Prepared, j: int, level: int, column: pa.ChunkedArray
) -> pa.ChunkedArray | pa.Array:
    if level > 0:
        hierarchy = prepared.encoding.hierarchies[j]
        labels = pa.array(hierarchy.labels[level], pa.string())
        return labels.take(pa.array(hierarchy.label_map(level)[prepared.codes[j]]))
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _aggregate(
    prepared: Prepared, name: str, groups: NDArray[np.int32], suppressed: NDArray[np.bool_]
) -> pa.Array:
    """Return for each row the aggregate of the released values of its class."""
    from veil.masking.aggregates import aggregated

    column, how = prepared.table[name], prepared.plan.microaggregated[name]
    released = ~suppressed
    # Classes without a released record have no aggregate; their rows are not released either.
    numbers = np.full(int(groups.max()) + 1, -1, np.int64)
    present = np.unique(groups[released])
    numbers[present] = np.arange(present.size)
    found = aggregated(
        column.filter(pa.array(released)), numbers[groups[released]], how, name, keep_type=True
    )
    if pa.types.is_dictionary(found.type):
        found = found.cast(found.type.value_type)
    rows = numbers[groups]
    return found.take(pa.array(rows, mask=rows < 0))


def blanked(
    column: pa.ChunkedArray | pa.Array, hidden: pa.Array, marker: str | None, *, fresh: bool = False
) -> tuple[pa.ChunkedArray | pa.Array, bool]:
    """Blank the suppressed cells of a column.

    Also return whether a cell that is not suppressed looks like one that is; labels of a hierarchy (`fresh`)
    that look so are nothing new.
    """
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    blank = pa.scalar(marker if is_text else None, column.type)
    shown = pc.filter(column, pc.invert(hidden))
    if blank.is_valid:
        clash = not fresh and bool(pc.any(pc.equal(shown, blank)).as_py())
    else:
        clash = shown.null_count > 0
    return pc.if_else(hidden, blank, column), clash
