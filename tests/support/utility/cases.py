"""Random tables with random releases: labels of any level, foreign ones, unknown ones, blanks and missing cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from support import strategies
from support.utility import twins
from veil import hierarchies as h
from veil.utility import Comparison


@dataclass
class Case:
    """The same comparison for the library and for the twins."""

    comparison: Comparison
    attributes: list[twins.Attribute]


@st.composite
def text_columns(draw: st.DrawFn, records: int) -> tuple[list[list[Any]], list[Any], list[Any], bool]:
    table = draw(strategies.hierarchies(max_height=3))
    values = draw(st.lists(st.sampled_from([row[0] for row in table]), min_size=records, max_size=records))
    paths = {row[0]: row for row in table}
    labels = [label for row in table for label in row]
    whole = draw(st.integers(-1, len(table[0]) - 1))  # one level for all, or any
    shown = []
    for value in values:
        kind = (
            draw(st.sampled_from(["own"] * 8 + ["foreign", "unknown", "blank", "missing"]))
            if whole < 0
            else "own"
        )
        own = paths[value]
        shown.append(
            {
                "own": lambda own=own: own[whole] if whole >= 0 else draw(st.sampled_from(own)),
                "foreign": lambda: draw(st.sampled_from(labels)),
                "unknown": lambda: draw(st.sampled_from(["zz", "7.5"])),
                "blank": lambda: "*",
                "missing": lambda: None,
            }[kind]()
        )
    return table, values, shown, False


@st.composite
def number_columns(draw: st.DrawFn, records: int) -> tuple[list[list[Any]], list[Any], list[Any], bool]:
    domain = draw(st.lists(st.integers(-20, 40), min_size=1, max_size=6, unique=True))
    table = [[str(x), f"[{x // 10 * 10}, {x // 10 * 10 + 10}[", "*"] for x in domain]
    values = draw(st.lists(st.sampled_from(domain) | st.none(), min_size=records, max_size=records))
    rows = {int(row[0]): row for row in table} | {None: [None, None, "*"]}
    shown = []
    for value in values:
        kind = draw(st.sampled_from(["own"] * 8 + ["number", "unknown", "blank", "missing"]))
        own = rows[value]
        shown.append(
            {
                "own": lambda own=own: draw(st.sampled_from(own)),
                "number": lambda: str(draw(st.integers(-60, 60))),
                "unknown": lambda: "young",
                "blank": lambda: "*",
                "missing": lambda: None,
            }[kind]()
        )
    return table, values, shown, True


@st.composite
def cases(draw: st.DrawFn, max_records: int = 12, max_columns: int = 3) -> Case:
    """Draw a comparison; some records are suppressed, and some of those may be left out of the release."""
    records = draw(st.integers(1, max_records))
    columns = draw(
        st.lists(text_columns(records) | number_columns(records), min_size=1, max_size=max_columns)
    )
    hidden = (
        draw(st.lists(st.booleans(), min_size=records, max_size=records))
        if draw(st.booleans())
        else [False] * records
    )
    absent = hidden if draw(st.booleans()) else [False] * records
    for _, _, shown, _ in columns:
        for i, gone in enumerate(hidden):
            shown[i] = "*" if gone else shown[i]
    gone = [a or b for a, b in zip(twins.gone([(v, s) for _, v, s, _ in columns]), absent, strict=True)]
    rows = [i for i in range(records) if not absent[i]]
    before = pa.table(
        {
            f"q{j}": pa.array(values, pa.int64() if numeric else pa.string())
            for j, (_, values, _, numeric) in enumerate(columns)
        }
    )
    after = pa.table(
        {
            f"q{j}": pa.array([shown[i] for i in rows], pa.string())
            for j, (_, _, shown, _) in enumerate(columns)
        }
    )
    hierarchies = {f"q{j}": h.Hierarchy.from_rows(table) for j, (table, _, _, _) in enumerate(columns)}
    return Case(
        Comparison(before, after, hierarchies, rows=rows),
        [twins.Attribute(table, values, shown, gone, numeric) for table, values, shown, numeric in columns],
    )
