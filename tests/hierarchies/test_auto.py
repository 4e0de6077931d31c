from __future__ import annotations

from datetime import date, datetime
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil import hierarchies as h


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, False], h.suppression()),
        (["f", "m", None], h.suppression()),
        ([1, 2, 3], h.suppression()),
        (list(range(17, 91)), h.intervals(5, 10, 20, 40)),
        ([0, 1, 2, 3, 4, 5], h.intervals(2, 4)),
        ([x / 8 for x in range(9)], h.intervals(0.05, 0.1, 0.2, 0.4, 0.8)),
        ([1.5, 30000.0, 100.0, 777.0, 5.0, 6.0], h.intervals(2000, 4000, 8000, 16000)),
        ([date(2020, 1, day) for day in range(1, 9)], h.dates("month", "year", "decade", root=True)),
        ([datetime(2020, 1, 1)], h.dates("day", "month", "year", "decade", root=True)),
        ([f"2020-01-0{day}" for day in range(1, 9)], h.dates("month", "year", "decade", root=True)),
        (["8010", "8020", "8045", "1010", "1020", "6020"], h.redaction()),
        (["01067", "10115", "20095", "50667", "60311", "80331"], h.redaction()),
        (["7", "42", "3", "105", "88", "16"], h.intervals(10, 20, 40, 80)),
        (["A10", "B20.1", "C34", "E11.9", "I10", "J45"], h.redaction()),
        (["red", "green", "blue", "pink", "grey", "teal"], h.priority()),
        (["St. Pölten 1", "Graz", "Linz", "Wien", "Wels", "Enns"], h.priority()),
        ([float("inf"), 1.0, 2.0, 3.0, 4.0, 5.0], h.priority()),
    ],
)
def test_proposals(values, expected):
    assert h.propose(pa.array(values)) == expected
    assert h.auto().propose(pa.array(values)) == expected


def test_few_is_a_choice():
    colours = pa.array(["red", "green", "blue"])
    assert h.propose(colours) == h.suppression()
    assert h.propose(colours, few=2) == h.priority()


@given(st.sets(st.integers(-(10**12), 10**12), min_size=6, max_size=60))
def test_numbers_get_few_intervals_and_a_last_level_that_still_divides(build, values):
    widths = h.propose(pa.array(list(values))).widths
    span = max(values) - min(values)
    assert span / widths[0] <= 20 or widths[0] == 2
    assert len(widths) == 1 or widths[-1] < span <= 2 * widths[-1]
    assert all(after == 2 * before for before, after in pairwise(widths))
