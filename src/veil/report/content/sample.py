"""The first rows of the release that are not suppressed, as they are delivered.

They are chosen by their position only, which recipients know as well and which is random. Tables of an engine
have no order until they are written, so no rows of them are shown.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from veil.outcome.outcome import Outcome
from veil.plan.linked_tables import Stacked
from veil.tables import Csv, Format
from veil.tables.csv.text import spell

MOST_COLUMNS = 10
"""Columns that fit on a page."""

MOST_LETTERS = 24
"""Characters of a cell that are shown."""

_ROWS_OF_EACH = 3
"""Rows shown of each of several tables."""


def sample_of(outcome: Outcome, rows: int) -> list[dict[str, Any]]:
    """Return the first rows of each released table as texts."""
    if not rows or outcome.is_condensed:
        return []
    if isinstance(outcome.source, Stacked):
        return [
            _rows(each.table, np.arange(min(rows, _ROWS_OF_EACH, each.table.num_rows)), name, None)
            for name, each in outcome.tables.items()
            if each.table.num_rows
        ]
    places = np.flatnonzero(~outcome.by_records.suppressed)[:rows]
    return [_rows(outcome.table, places, None, outcome.source.format)] if places.size else []


def _rows(table: pa.Table, places: Any, name: str | None, format: Format | None) -> dict[str, Any]:
    names = table.column_names[:MOST_COLUMNS]
    picked = table.select(names).take(pa.array(places))
    texts = [[_short(text) for text in _texts(picked[column], column, format)] for column in names]
    return {
        "table": name,
        "columns": names,
        "rows": [list(row) for row in zip(*texts, strict=True)],
        "of": table.num_rows,
        "further": table.num_columns - len(names),
    }


def _texts(column: pa.ChunkedArray, name: str, format: Format | None) -> list[str | None]:
    """Spell cells as in a file in the format of the input: with decimal commas, if it has such."""
    if pa.types.is_nested(column.type):
        return [None if each is None else ", ".join(map(str, each)) for each in column.to_pylist()]
    like = format if isinstance(format, Csv) else Csv()
    texts: list[str | None] = spell(
        column, name, decimal=like.decimal, time_separator=like.time_separator or "T"
    ).to_pylist()
    return texts


def _short(text: str | None) -> str:
    if text is None:
        return "·"
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"
