"""Quoted empty fields of CSV files: a missing value in a column of numbers or days, a text in one of texts.

In memory that is decided when all cells of a column are there. DuckDB reads texts, so it is asked which columns have empty
fields and nothing else that is no number, day or truth value; only of these the different values are looked at.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from veil.engines.dialects import collect
from veil.tables.csv.types import infer
from veil.tables.formats import Csv, is_gzip

if TYPE_CHECKING:
    from ibis.expr.types import Table

_TYPED = r"^([-+0-9.,:eE' TZ/]*|[Tt]rue|TRUE|[Ff]alse|FALSE)$"
"""What every number, day and truth value matches; words that do not are texts for certain."""


def emptied_columns(table: Table, files: Sequence[str], format: Csv) -> tuple[str, ...]:
    """Return the columns in which a quoted empty field is a missing value, as it is in memory."""
    told = [name for name, kind in format.types.items() if kind != "string" and name in table.columns]
    open_ = [name for name in table.columns if name not in format.types]
    if not open_ or "" not in format.missing or not any(_may_hold_empty(each, format) for each in files):
        return tuple(told)
    backend = table._find_backend(use_default=True)
    asked = {}
    for at, name in enumerate(open_):
        column = table[name]
        asked[f"e{at}"] = (column == "").any()
        asked[f"m{at}"] = column.isnull().any()
        asked[f"t{at}"] = (~column.re_search(_TYPED)).any()
    (found,) = collect(backend, table.aggregate(**asked)).to_pylist()
    for at, name in enumerate(open_):
        if found[f"e{at}"] and not found[f"m{at}"] and not found[f"t{at}"]:
            values = collect(backend, table.select(name).distinct())[name].cast(pa.string())
            if not pa.types.is_string(infer(values, format).type):
                told.append(name)
    return tuple(told)


def _may_hold_empty(file: str, format: Csv) -> bool:
    """Whether two quotes stand next to each other; where that is not seen at once, it is asked."""
    if format.quote is None:
        return False
    if is_gzip(Path(file)) or (format.encoding or "utf-8").lower().startswith("utf-16"):
        return True
    with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(format.quote.encode() * 2) >= 0
