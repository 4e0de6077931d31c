"""Cells that keep a column from being numbers or dates: typing errors and codes for missing values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from veil.tables.columns import count_codes, encode_values, is_text
from veil.tables.source import read

MOST = 0.2
"""Largest share of cells that count as mistakes in a column of numbers or dates; with more, it is text."""

NAMED = 50
"""Different texts that are listed at most."""

_FORMS: dict[str, re.Pattern[str]] = {
    "integer": re.compile(r"\s*[+-]?\d{1,15}\s*"),
    "decimal": re.compile(r"\s*[+-]?\d{1,15}(\.\d{1,10})?\s*"),
    "date": re.compile(r"\s*\d{4}-\d\d-\d\d\s*"),
}


@dataclass(frozen=True)
class Mistakes:
    """Cells of a text column in which almost all others are numbers or dates.

    Attributes
    ----------
    column, type
        The column, and the type that it would have without them.
    cells
        Their number.
    rows
        The first three rows with one, from 1.
    texts
        Their texts, the most frequent first; at most fifty.
    """

    column: str
    type: Literal["integer", "decimal", "date"]
    cells: int
    rows: tuple[int, ...]
    texts: tuple[str, ...]


def find_mistakes(source: Any) -> tuple[Mistakes, ...]:
    """Find columns that would be numbers or dates but for a few cells.

    >>> for each in find_mistakes(pa.table({"age": ["30", "41", "n/a", "52", "33", "60"]})):
    ...     print(each.column, each.type, each.cells, each.rows, each.texts)
    age integer 1 (3,) ('n/a',)
    """
    table = source if isinstance(source, pa.Table) else read(source).table
    bad_cells = (_bad_cells_of(name, table[name]) for name in table.column_names if is_text(table[name].type))
    return tuple(each for each in bad_cells if each is not None)


def _bad_cells_of(name: str, column: pa.ChunkedArray) -> Mistakes | None:
    values, codes = encode_values(column)
    counts = count_codes(codes, len(values), None)
    texts = values.to_pylist()
    filled = np.array([text is not None and text.strip() != "" for text in texts], np.bool_)
    for kind in ("integer", "decimal", "date"):
        form = _FORMS[kind]
        fits = np.array([text is not None and form.fullmatch(text) is not None for text in texts], np.bool_)
        odd = filled & ~fits
        cells, all_cells = int(counts[odd].sum()), int(counts[filled].sum())
        if fits.any() and 0 < cells <= MOST * all_cells:
            rows = np.flatnonzero(odd[codes])[:3] + 1
            order = np.flatnonzero(odd)[np.argsort(-counts[odd], kind="stable")][:NAMED]
            return Mistakes(
                name, kind, cells, tuple(rows.tolist()), tuple(str(texts[each]) for each in order)
            )
    return None
