"""Dates and times that are easily misread: with a zone, at changes of clocks, in 1582, on leap days, far away.

Tests that draw dates of any kind draw from here, so that all of them meet these.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

TYPES = [
    pa.date32(),
    pa.date64(),
    pa.timestamp("s"),
    pa.timestamp("us"),
    pa.timestamp("s", "UTC"),
    pa.timestamp("us", "Europe/Berlin"),
    pa.timestamp("ms", "America/New_York"),
    pa.timestamp("s", "Asia/Kathmandu"),
    pa.timestamp("us", "Australia/Lord_Howe"),  # half an hour at a change of clocks
    pa.timestamp("s", "+05:30"),
]
"""Types of dates and times, with and without a zone."""

MOMENTS = [
    datetime(1, 1, 2, tzinfo=UTC),
    datetime(1582, 10, 4, 12, tzinfo=UTC),
    datetime(1582, 10, 15, tzinfo=UTC),
    datetime(1900, 2, 28, 23, 30, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
    datetime(2000, 2, 29, tzinfo=UTC),
    datetime(2024, 2, 29, 22, 30, tzinfo=UTC),
    datetime(2024, 3, 30, 23, tzinfo=UTC),  # midnight in Berlin, on the day on which clocks go forward
    datetime(2024, 3, 31, 0, 30, tzinfo=UTC),
    datetime(2024, 3, 31, 1, 30, tzinfo=UTC),
    datetime(2024, 10, 27, 0, 30, tzinfo=UTC),  # 2:30 in Berlin, for the first time
    datetime(2024, 10, 27, 1, 30, tzinfo=UTC),  # and for the second
    datetime(2024, 11, 3, 5, 30, tzinfo=UTC),  # as in New York
    datetime(2024, 11, 3, 6, 30, tzinfo=UTC),
    datetime(9999, 12, 30, tzinfo=UTC),
]


def instants() -> st.SearchStrategy[datetime]:
    """Draw a moment, most often an awkward one or one near it."""
    near = st.builds(
        lambda moment, days, hours: moment + timedelta(days, hours=hours),
        st.sampled_from(MOMENTS[1:-1]),
        st.integers(-200, 200),
        st.integers(-3, 3),
    )
    return st.one_of(st.sampled_from(MOMENTS), near)


def column(moments: list[datetime], kind: pa.DataType) -> pa.Array:
    """Return moments in a type, rounded down to what it holds."""
    counts = [(each - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) for each in moments]
    if pa.types.is_date(kind):
        days = pa.array([each // 86_400_000_000 for each in counts], pa.int32()).cast(pa.date32())
        return days.cast(kind)
    per_unit = {"s": 10**6, "ms": 10**3, "us": 1}[kind.unit]
    return pa.array([each // per_unit for each in counts], pa.int64()).cast(kind)


def clocks(cells: Any) -> list[datetime]:
    """Return what clocks showed, as times without a zone, by Arrow alone."""
    kind = cells.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        cells = pc.local_timestamp(cells)
    counts = cells.cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    return [datetime(1970, 1, 1) + timedelta(microseconds=each) for each in counts]
