"""Profiles of the columns of a table: type, number of different and missing values, distribution."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.base.keywords import own_keywords
from veil.tables.columns import as_numbers, count_codes, encode_values, is_list, is_measured
from veil.tables.source import read
from veil.tables.text import canonical_text

BARS = 12
"""Bars of a histogram in the head of a column, at most."""


@dataclass(frozen=True)
class ProfileBar:
    """The number of records with a value, or with values from `first` to `last`."""

    first: str
    last: str
    records: int


@dataclass(frozen=True)
class ColumnProfile:
    """The profile of a column. Its bars name original values: it is for the data holder.

    Attributes
    ----------
    name, type : str
        The column, and its type as `veil.tables.Csv(types=…)` calls it; "list" or Arrow's name if it has none.
    distinct, missing : int
        Different values, without the missing one, and records that have none.
    order : str
        Whether the bars are "ranges" of numbers or dates, or the most "frequent" values.
    bars : tuple
        At most twelve.
    """

    name: str
    type: str
    distinct: int
    missing: int
    order: Literal["ranges", "frequent"]
    bars: tuple[ProfileBar, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as JSON-compatible values."""
        return asdict(self)


@own_keywords
def profile(source: Any) -> tuple[ColumnProfile, ...]:
    """Look at each column of a table, as for `veil.anonymize`.

    >>> table = pa.table({"age": [20, 30, 30, None], "sex": ["f", "m", "f", "f"]})
    >>> for each in profile(table):
    ...     print(each.name, each.type, each.distinct, each.missing, [bar.records for bar in each.bars])
    age integer 2 1 [1, 2]
    sex string 2 0 [3, 1]
    """
    table = source if isinstance(source, pa.Table) else read(source).table
    return tuple(profile_column(name, table[name]) for name in table.column_names)


def profile_column(name: str, column: pa.ChunkedArray) -> ColumnProfile:
    """Return the profile of one column."""
    values, codes = encode_values(column)
    counts = count_codes(codes, len(values), None)
    there = np.array(pc.is_valid(values), dtype=np.bool_) if len(values) else np.empty(0, np.bool_)
    missing = int(counts[~there].sum())
    values, counts = values.filter(pa.array(there)), counts[there]
    kind = _type_name(column.type)
    measured = is_measured(column.type) and len(values) > BARS
    bars = _ranges(values, counts) if measured else _frequent(values, counts, name)
    order: Literal["ranges", "frequent"] = "ranges" if measured else "frequent"
    return ColumnProfile(name, kind, len(values), missing, order, bars)


def _ranges(values: pa.Array, counts: NDArray[np.int64]) -> tuple[ProfileBar, ...]:
    """Count the records in ranges of equal width, each labelled by its smallest and largest value."""
    numbers = as_numbers(pa.chunked_array([values]))
    finite = np.isfinite(numbers)
    values, counts, numbers = values.filter(pa.array(finite)), counts[finite], numbers[finite]
    if not numbers.size:
        return ()
    low, high = numbers.min(), numbers.max()
    width = (high - low) / BARS or 1.0
    place = np.clip(((numbers - low) / width).astype(np.int64), 0, BARS - 1)
    order = np.argsort(numbers, kind="stable")
    texts = canonical_text(values)
    bars = []
    for bar in range(BARS):
        inside = order[place[order] == bar]
        if inside.size:
            first, last = texts[inside[0]], texts[inside[-1]]
            bars.append(ProfileBar(first or "", last or "", int(counts[inside].sum())))
    return tuple(bars)


def _frequent(values: pa.Array, counts: NDArray[np.int64], name: str) -> tuple[ProfileBar, ...]:
    """Return the most frequent values; numbers, dates and times are sorted."""
    picked = np.argsort(-counts, kind="stable")[:BARS]
    if is_measured(values.type):
        picked = picked[
            np.argsort(as_numbers(pa.chunked_array([values.take(pa.array(picked))])), kind="stable")
        ]
    labels = values.take(pa.array(picked))
    texts = (
        [str(each) for each in labels.to_pylist()]
        if is_list(values.type)
        else canonical_text(labels, column=name)
    )
    return tuple(
        ProfileBar(text or "", text or "", int(counts[i])) for text, i in zip(texts, picked, strict=True)
    )


def _type_name(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _type_name(kind.value_type)
    for name, fits in _NAMES.items():
        if fits(kind):
            return name
    return "list" if is_list(kind) else str(kind)


_NAMES = {
    "string": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    "integer": pa.types.is_integer,
    "decimal": pa.types.is_decimal,
    "float": pa.types.is_floating,
    "date": pa.types.is_date,
    "timestamp": pa.types.is_timestamp,
    "boolean": pa.types.is_boolean,
}
