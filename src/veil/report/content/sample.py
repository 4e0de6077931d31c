"""A few rows of the release, as they are delivered.

They are chosen by their place in what is delivered and by nothing else: the first that are not suppressed. Whoever has the
release knows as much; of a random order, no place tells anything. What an engine holds is not looked at: it has no order
until it is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from veil.outcome.outcome import Outcome
from veil.tables import Csv, Format
from veil.tables.csv.text import spell

MOST_COLUMNS = 10
"""Columns that fit beside each other."""

MOST_LETTERS = 24
"""Letters of a cell that are shown."""

_ROWS_OF_EACH = 3
"""Rows that are shown of each of several tables."""


def sample_of(outcome: Outcome, rows: int) -> list[dict[str, Any]]:
    """Return rows of each released table as texts."""
    if not rows or outcome.is_condensed:
        return []
    if outcome.tables:
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
    """Spell cells as a file has them that is written as the input was: with decimal commas, if it had such."""
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
