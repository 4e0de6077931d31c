"""Public grids: places on an axis at which intervals may begin and end, whatever values there are.

An interval from the least to the greatest value of some records shows two exact values of somebody. If all
intervals begin and end at lines of a grid that was declared, or that follows from no more than the rough range
of the column, an end tells only which cell of the grid is occupied.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, date
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field, model_validator

from veil.base.declare import declared
from veil.errors import HierarchyError
from veil.hierarchies._axis import Axis, Point, Step, length, nice_width, place, positions
from veil.hierarchies._places import places
from veil.hierarchies.hierarchy import ROOT

Unit = Literal["second", "minute", "hour", "day", "month", "quarter", "year", "decade", "century"]
_STEPS: dict[Any, Fraction] = {
    "second": Fraction(1, 86_400),
    "minute": Fraction(1, 1_440),
    "hour": Fraction(1, 24),
    "day": Fraction(1),
}
_MONTHS: dict[Any, int] = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_LENGTHS = {**_STEPS, **{unit: months * Fraction(365, 12) for unit, months in _MONTHS.items()}}
"""Days of each unit, about."""

_YEAR_ONE = np.datetime64("0001-01-01", "D")
_MONTH_ZERO = 1970 * 12
"""Months from the year 0 to 1970."""

CELLS = 50
"""Cells of a proposed grid, about at most."""

_MOST = 12
"""Lines that are listed in words; of more, the first and last."""

SKEWED = 20
"""How many times its median the largest number is in columns whose proposed lines become sparser with their size."""


@declared
class LabelGrid:
    """Lines at which intervals may begin and end: multiples of a width from an origin on, or listed ones.

    Intervals contain their lower end and not their upper one. With listed `edges`, values beyond them are in
    open intervals, such as `<18` and `>=90`. A number as the width of dates counts days, from a Monday on.

    >>> import pyarrow as pa
    >>> cells = LabelGrid(5, origin=1).cells(pa.array([3, 7, 12]), "age")
    >>> cells.of_value.tolist(), cells.label(0, 1)
    ([0, 1, 2], '[1, 11[')
    >>> LabelGrid(edges=(18, 65)).cells(pa.array([70, 3]), "age").label(0, 0)
    '<18'
    """

    width: Annotated[
        Unit | Step | None,
        Field(description="distance of lines; for dates and times also a unit, from second to century"),
    ] = None
    origin: Annotated[Point | None, Field(description="one of the lines; by default 0")] = None
    edges: Annotated[tuple[Point, ...], Field(description="the lines one by one, in place of a width")] = ()

    @model_validator(mode="after")
    def _consistent(self) -> LabelGrid:
        if (self.width is None) == (not self.edges):
            raise ValueError("LabelGrid needs either a `width` or `edges`")
        if self.origin is not None and (self.edges or isinstance(self.width, str)):
            raise ValueError("`origin` of LabelGrid goes with a `width` that is a number or a duration")
        if not isinstance(self.width, str | None) and length(self.width) <= 0:
            raise ValueError(f"`width` of LabelGrid should be greater than 0, not {self.width}")
        for before, after in zip(self.edges, self.edges[1:], strict=False):
            if isinstance(before, date) != isinstance(after, date) or place(before) >= place(after):
                raise ValueError(f"`edges` of LabelGrid should ascend, but {after} follows {before}")
        return self

    def __str__(self) -> str:
        if self.edges:
            lines = list(map(str, self.edges))
            return ", ".join(lines if len(lines) <= _MOST else [*lines[:3], "…", *lines[-3:]])
        if isinstance(self.width, str):
            return f"every {self.width}"
        return f"every {self.width} from {0 if self.origin is None else self.origin}"

    def cells(self, values: pa.Array, column: str) -> GridCells:
        """Return the cell of each of the values, none of which is missing."""
        placed = places(values, column)
        axis = placed.axis
        if self.edges:
            lines = [axis.point(edge, column) for edge in self.edges]
            scale = math.lcm(*(line.denominator for line in lines))
            scaled = [int(line * scale) for line in lines]
            kind: Any = np.int64 if all(abs(each) < 2**62 for each in scaled) else object
            index = np.searchsorted(np.array(scaled, kind), placed.cells(scale), side="right") - 1
            return GridCells.of(index, axis, lines=lines)
        if isinstance(self.width, str) and axis.kind == "number":
            raise HierarchyError(
                f"the grid of column {column!r} is {self}, but the column holds numbers: say a number"
            )
        if self.width in _MONTHS:
            months = (_YEAR_ONE + placed.cells(1).astype(np.int64)).astype("datetime64[M]").astype(np.int64)
            return GridCells.of(
                (months + _MONTH_ZERO) // _MONTHS[self.width], axis, months=_MONTHS[self.width]
            )
        assert self.width is not None
        step = _STEPS[self.width] if isinstance(self.width, str) else axis.step(self.width, column)
        origin = Fraction(0) if self.origin is None else axis.point(self.origin, column)
        scale = math.lcm(step.denominator, origin.denominator)
        index = (placed.cells(scale) - int(origin * scale)) // int(step * scale)
        return GridCells.of(index, axis, origin=origin, step=step)


def _grid(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return {"edges": value}
    return value if isinstance(value, LabelGrid | Mapping) else {"width": value}


GridInput = Annotated[
    LabelGrid, BeforeValidator(_grid, json_schema_input_type=LabelGrid | list[Point] | Unit | Step)
]
"""A grid; a width alone or a list of edges will do."""


@dataclass(frozen=True)
class GridCells:
    """The cells of a grid in which there are values, in order, each with its number on the grid."""

    of_value: npt.NDArray[np.int64]
    numbers: list[int]
    axis: Axis
    lines: list[Fraction] | None = None
    months: int = 0
    origin: Fraction = Fraction(0)
    step: Fraction = Fraction(1)

    @staticmethod
    def of(index: npt.NDArray[Any], axis: Axis, **grid: Any) -> GridCells:
        """Number the cells that occur."""
        numbers, of_value = np.unique(index, return_inverse=True)
        return GridCells(of_value.astype(np.int64), numbers.tolist(), axis, **grid)

    def label(self, low: int, high: int) -> str:
        """Return the interval from one cell to another."""
        lower, upper = self.line(self.numbers[low]), self.line(self.numbers[high] + 1)
        if lower is None:
            return ROOT if upper is None else f"<{self.axis.show(upper)}"
        return (
            f">={self.axis.show(lower)}"
            if upper is None
            else f"[{self.axis.show(lower)}, {self.axis.show(upper)}["
        )

    def line(self, number: int) -> Fraction | None:
        """Return the position of the lower line of a cell, given its number on the grid; None if it has none."""
        if self.lines is not None:
            return self.lines[number] if 0 <= number < len(self.lines) else None
        if not self.months:
            return self.origin + number * self.step
        year, month = divmod(number * self.months, 12)
        return place(date(max(1, year), month + 1, 1)) if year <= MAXYEAR else None


def propose_grid(values: pa.Array, column: str) -> LabelGrid:
    """Return a grid with round lines for the distinct values of a column; it follows from their magnitude alone.

    For numbers, the width is 1, 2 or 5 times a power of ten, for at most about 50 cells. If most values are below
    a twentieth of the largest, as with incomes, lines are numbers with one digit that is not zero, such as 90, 100,
    200. For whole numbers, lines are at least 2 apart: with a width of 1, ends would be values. For dates and times,
    the width is the shortest unit of which there are at most about 50.

    >>> str(propose_grid(pa.array([17, 25, 40, 90]), "age"))
    'every 2 from 0'
    >>> str(propose_grid(pa.array([0, 2, 30, 60, 2500]), "income"))
    '0, 10, 20, …, 8000, 9000, 10000'
    >>> str(propose_grid(pa.array([date(2019, 2, 1), date(2020, 5, 7)]), "seen"))
    'every month'
    """
    ends = pc.min_max(values)
    axis, (least, most), denominator = positions(
        pa.array([ends["min"].as_py(), ends["max"].as_py()], values.type), column
    )
    span = Fraction(most - least, denominator) or Fraction(1)
    if axis.kind != "number":
        units = list(_LENGTHS)[3 if axis.kind == "date" else 0 :]
        return LabelGrid(next((unit for unit in units if span <= CELLS * _LENGTHS[unit]), units[-1]))
    sizes = np.sort(np.abs(np.asarray(pc.cast(values, pa.float64(), safe=False))))
    if sizes[sizes.size // 2] * SKEWED < sizes[-1]:
        return LabelGrid(
            edges=_one_digit_lines(Fraction(max(most, -least), denominator), least < 0, axis.whole)
        )
    return LabelGrid(max(_round_up(span / CELLS), 2) if axis.whole else _round_up(span / CELLS))


def _one_digit_lines(largest: Fraction, with_negative: bool, whole: bool) -> tuple[int | Decimal, ...]:
    """Return zero and the numbers with one other digit up to the first above the largest, over five powers of ten."""
    top = 0
    while Fraction(10) ** top <= largest:
        top += 1
    while Fraction(10) ** (top - 1) > largest:
        top -= 1
    powers = range(max(top - 5, 1) if whole else top - 5, top)
    lines = [Decimal(digit).scaleb(power) for power in powers for digit in range(1, 10)] + [
        Decimal(1).scaleb(top)
    ]
    exact = [int(line) if line == line.to_integral_value() else line for line in lines]
    return (*(-line for line in reversed(exact) if with_negative), 0, *exact)


def _round_up(least: Fraction) -> int | Decimal:
    """Return the smallest of 1, 2 and 5 times a power of ten that is at least `least`."""
    width = nice_width(least)
    return int(width) if width.denominator == 1 else Decimal(width.numerator) / width.denominator
