"""Grids: every value is in the cell that its label says, all lines are those of the grid, bad grids are refused."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from veil.errors import HierarchyError, ParameterError
from veil.hierarchies.grid import CELLS, SKEWED, LabelGrid, propose_grid

WIDTHS = st.sampled_from([1, 2, 5, Decimal("0.1"), Decimal("0.25"), 7])
NUMBERS = st.lists(
    st.integers(-50, 50) | st.sampled_from([0.1, 0.2, 0.3, -0.7, 2.5]), min_size=1, max_size=12, unique=True
)
DAYS = st.lists(st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)), min_size=1, max_size=8, unique=True)


def labels(grid: LabelGrid, values: pa.Array) -> list[str]:
    """The label of the cell of each value."""
    cells = grid.cells(values, "x")
    return [cells.label(cell, cell) for cell in cells.of_value.tolist()]


@given(NUMBERS, WIDTHS, st.none() | st.integers(-3, 3))
def test_cells_of_numbers_are_those_of_fractions(numbers: list[Any], width: Any, origin: int | None) -> None:
    found = labels(LabelGrid(width, origin), pa.array([float(each) for each in numbers]))
    step, start = Fraction(width), Fraction(origin or 0)
    for number, label in zip(numbers, found, strict=True):
        low = start + math.floor((Fraction(str(number)) - start) / step) * step
        assert [Fraction(end) for end in label.strip("[").split(", ")] == [low, low + step]


@given(NUMBERS, st.lists(st.integers(-20, 20), min_size=1, max_size=5, unique=True))
def test_edges_leave_open_cells_at_both_ends(numbers: list[Any], edges: list[int]) -> None:
    edges.sort()
    for number, label in zip(
        numbers, labels(LabelGrid(edges=tuple(edges)), pa.array(map(float, numbers))), strict=True
    ):
        below = [edge for edge in edges if edge <= number]
        above = [edge for edge in edges if edge > number]
        expected = (
            f"[{below[-1]}, {above[0]}[" if below and above else f">={below[-1]}" if below else f"<{above[0]}"
        )
        assert label == expected


@given(DAYS, st.sampled_from(["month", "quarter", "year", "decade", "century"]))
def test_cells_of_the_calendar_hold_their_days(days: list[dt.date], unit: Any) -> None:
    for day, label in zip(days, labels(LabelGrid(unit), pa.array(days)), strict=True):
        low, _, high = label.strip("[>=").partition(", ")
        assert dt.date.fromisoformat(low) <= day
        assert not high or day < dt.date.fromisoformat(high)
        assert low.endswith({"month": "-01", "quarter": "-01"}.get(unit, "-01-01"))


@given(st.lists(st.integers(-(10**6), 10**6) | st.integers(0, 30), min_size=1, unique=True))
def test_a_proposed_grid_is_round_and_covers_the_values(numbers: list[int]) -> None:
    grid = propose_grid(pa.array(numbers), "x")
    assert all("<" not in label and ">" not in label for label in labels(grid, pa.array(numbers)))
    sizes = sorted(map(abs, numbers))
    if grid.edges:
        assert sizes[len(sizes) // 2] * SKEWED < sizes[-1]
        assert all(str(abs(edge)).rstrip("0") in "123456789" for edge in grid.edges)
        assert all(after - before >= 10 for before, after in pairwise(grid.edges))  # type: ignore[operator]
    else:
        assert isinstance(grid.width, int)
        assert str(grid.width).rstrip("0") in ("1", "2", "5")
        assert grid.width >= 2
        assert len(grid.cells(pa.array(numbers), "x").numbers) <= CELLS + 1
        assert grid == propose_grid(pa.array(sorted({min(numbers), max(numbers)})), "x")


def test_units_of_time_by_the_range() -> None:
    start = dt.datetime(2020, 1, 1, 8)
    for span, unit in {
        dt.timedelta(seconds=49): "second", dt.timedelta(hours=49): "hour", dt.timedelta(days=49): "day",
        dt.timedelta(days=1500): "month", dt.timedelta(days=15_000): "year", dt.timedelta(days=900_000): "century",
    }.items():  # fmt: skip
        assert propose_grid(pa.array([start, start + span]), "x") == LabelGrid(unit)  # type: ignore[arg-type]
    assert propose_grid(pa.array([start.date(), start.date() + dt.timedelta(days=3)]), "x") == LabelGrid(
        "day"
    )


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, ["either a `width` or `edges`"]),
        ({"width": 0}, ["greater than 0", "not 0"]),
        ({"edges": (3, 1)}, ["ascend", "1 follows 3"]),
        ({"width": "day", "origin": 3}, ["`origin`"]),
    ],
)
def test_bad_grids_are_refused(parameters: dict[str, Any], words: list[str]) -> None:
    with refused(ParameterError, *words):
        LabelGrid(**parameters)


def test_a_unit_of_the_calendar_does_not_fit_numbers() -> None:
    with refused(HierarchyError, "'x'", "every year", "numbers"):
        LabelGrid("year").cells(pa.array([1, 2]), "x")
