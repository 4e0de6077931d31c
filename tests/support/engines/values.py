"""Tables of every type with what engines stumble over, plans for them, and what is compared of a release."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from veil import hierarchies as h
from veil import models as m
from veil.masking import Mondrian

Instants = st.sampled_from(
    [
        dt.datetime(2024, 3, 30, 22, 30),
        dt.datetime(2024, 3, 30, 23, 30),
        dt.datetime(2024, 3, 31, 0, 59, 59, 999999),
        dt.datetime(2024, 3, 31, 1, 0),
        dt.datetime(2024, 10, 27, 0, 30),
        dt.datetime(2024, 10, 27, 1, 30),
        dt.datetime(2023, 12, 31, 23, 30),
        dt.datetime(1969, 12, 31, 23, 59, 59),
        dt.datetime(1900, 1, 1),
        dt.datetime(9999, 12, 31, 12),
    ]
)
_DAYS = [
    dt.date(1582, 10, 4),
    dt.date(1900, 2, 28),
    dt.date(1969, 12, 31),
    dt.date(2024, 2, 29),
    dt.date(9999, 12, 31),
]
_TEXTS = [
    "",
    " ",
    "a",
    "A",
    "a ",
    "ä",
    "a\u0308",
    "*",
    "02139",
    "2139",
    "1.50",
    "true",
    "NULL",
    "O'B\"x",
    "x,y;\\z",
    "[1, 2[",
]
_CLOCK = (h.dates("day", "year"), h.intervals(dt.timedelta(hours=6), 1, 7), h.dates("hour", "weekday"))
CELLS: dict[str, tuple[Any, ...]] = {
    "whole": (
        pa.int64(),
        st.sampled_from([-1, 0, 1, 9, 10, 19, 20, 2**53 + 1, 2**62]),
        h.intervals(10, 20),
        h.ordering(2),
    ),
    "short": (pa.int16(), st.integers(-3, 40), h.intervals(10, 20)),
    "huge": (pa.uint64(), st.sampled_from([0, 1, 2**63, 2**64 - 1]), h.suppression()),
    "real": (
        pa.float64(),
        st.sampled_from([0.0, -0.0, float("nan"), 0.1, 1.5, -2.5, 1e300, 5e-324, 123456789.125]),
        h.suppression(),
    ),
    "narrow": (
        pa.float32(),
        st.sampled_from([0.0, -0.0, float("nan"), 0.5, 1.25, float(np.float32(0.1))]),
        h.intervals(1, 2),
    ),
    "money": (
        pa.decimal128(12, 2),
        st.sampled_from([Decimal(x) for x in ("0.00", "0.10", "12.50", "-3.00")]),
        h.intervals(10, 50),
    ),
    "exact": (
        pa.decimal128(38, 10),
        st.sampled_from([Decimal("1.0000000001"), Decimal("-12345678901234567890.5000000000"), Decimal(0)]),
        h.suppression(),
    ),
    "flag": (pa.bool_(), st.booleans(), h.suppression()),
    "day": (pa.date32(), st.sampled_from(_DAYS), h.dates("month", "year")),
    "time": (pa.timestamp("us"), Instants, *_CLOCK),
    "vienna": (
        pa.timestamp("us", "Europe/Vienna"),
        Instants.map(lambda at: at.replace(tzinfo=dt.UTC)),
        *_CLOCK,
    ),
    "offset": (
        pa.timestamp("ms", "+05:30"),
        Instants.map(lambda at: at.replace(tzinfo=dt.UTC, microsecond=0)),
        *_CLOCK,
    ),
    "text": (pa.string(), st.sampled_from(_TEXTS), h.suppression(), h.priority()),
    "kind": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "A", "", "ä"]), h.suppression()),
    "code": (pa.string(), st.sampled_from(["02139", "02138", "1", "", "99", "AB"]), h.redaction()),
}
"""For each column its type, its values, and hierarchies for it; every column can have one that is proposed."""


@st.composite
def tables(draw: st.DrawFn, names: tuple[str, ...] = tuple(CELLS), rows: int = 24) -> pa.Table:
    """Draw a table of some of the columns: a few different rows, repeated; everybody has one of them, or two."""
    some = draw(st.lists(st.sampled_from(names), min_size=2, max_size=5, unique=True))
    pool = draw(st.integers(2, 6))
    which = draw(st.lists(st.integers(0, pool - 1), min_size=rows, max_size=rows))
    columns: dict[str, Any] = {}
    for name in some:
        kind, values, *_ = CELLS[name]
        cells = draw(st.lists(values | st.none(), min_size=pool, max_size=pool))
        columns[name] = pa.array([cells[each] for each in which], kind)
    each = draw(st.sampled_from([1, 1, 1, 2]))
    columns["who"] = pa.array([f"p{number // each}" for number in range(rows)])
    return pa.table(columns)


@st.composite
def plans(draw: st.DrawFn, table: pa.Table) -> dict[str, Any]:
    """Draw a plan: some columns are quasi-identifiers, on any level; others stay, go, or are sensitive."""
    names = [name for name in table.column_names if name != "who"]
    quasi = names[: draw(st.integers(1, len(names)))]
    rest = [name for name in names if name not in quasi]
    models: list[Any] = [m.KAnonymity(draw(st.sampled_from([2, 3, 5])))]
    sensitive = rest[: draw(st.integers(0, len(rest)))]
    if sensitive and draw(st.booleans()):
        models.append(m.DistinctLDiversity(sensitive[0], 2))
    options: dict[str, Any] = {
        "quasi_identifiers": {name: draw(_hierarchies(name)) for name in quasi},
        "sensitive": sensitive,
        "others": draw(st.sampled_from(["keep", "drop"])),
        "identifying": {"who": draw(st.sampled_from(["mask", "remove"]))},
        "models": models,
        "suppression_limit": draw(st.sampled_from([0.3, 1.0])),
        "suppressed_rows": draw(st.sampled_from(["blank", "drop", "keep cells"])),
        "marker": draw(st.sampled_from(["*", None])),
        "maximum_levels": {name: 0 for name in quasi if draw(st.booleans())},
        "progress": False,
    }
    if len(table["who"].unique()) < table.num_rows:
        options["person"] = "who"
    return options


@st.composite
def masks(draw: st.DrawFn, table: pa.Table) -> Mondrian:
    """Draw the one masking method that engines carry out: columns with a hierarchy, or cut at their medians."""
    names = [name for name in table.column_names if name != "who"]
    quasi = names[: draw(st.integers(1, len(names)))]
    return Mondrian(
        {name: draw(st.none() | _hierarchies(name)) for name in quasi},
        m.KAnonymity(draw(st.sampled_from([2, 5]))),
        labels=draw(st.sampled_from(["public", "intervals", "means"])),
    )


def _hierarchies(name: str) -> st.SearchStrategy[Any]:
    return st.sampled_from([*CELLS[name][2:], h.auto(few=2)])


def typed_rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """The rows of a table as a multiset: every cell with its type, instants in their zone, floats by their bits."""
    columns = []
    for name in sorted(table.column_names):
        column = table[name]
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        plain = column.cast(kind)
        shown = plain.cast(pa.string()) if pa.types.is_timestamp(kind) else plain
        columns.append([(name, str(kind), repr(cell)) for cell in shown.to_pylist()])
    return Counter(zip(*columns, strict=True))
