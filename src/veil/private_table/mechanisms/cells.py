"""Columns cut into cells that can be counted, and cells turned into values again."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.dp.grid import exact_value
from veil.errors import InputError, ParameterError, did_you_mean
from veil.private_table.mechanisms.columns import CategoricalColumn, Column, Numbers

_PARTS = 10
"""Default number of parts of equal width that numbers are cut into."""


@dataclass(frozen=True)
class CellColumn:
    """A column whose records are each in one of `size` cells."""

    column: Column
    codes: NDArray[np.int64]
    size: int
    edges: tuple[Fraction, ...] = ()
    """The bounds of numbers, and the breaks between them."""

    def values(self, codes: NDArray[np.int64], randomness: Randomness) -> pa.Array:
        """Return a value of each cell; for numbers, a uniform draw from it."""
        if isinstance(self.column, CategoricalColumn):
            return pa.array(self.column.values).take(pa.array(codes))
        edges = np.array([float(edge) for edge in self.edges])
        low, high = edges[codes], edges[codes + 1]
        if not self.column.is_whole:
            return pa.array(low + (high - low) * randomness.uniform(len(codes)))
        # A break belongs to the cell above it, the upper bound to the last one.
        last = np.where(codes == self.size - 1, np.floor(high), np.ceil(high) - 1)
        first = np.minimum(np.ceil(low), last)
        numbers = first + np.floor((last - first + 1) * randomness.uniform(len(codes)))
        return pa.array(numbers.astype(np.int64))


def cut(columns: Sequence[Column], breaks: Mapping[str, Sequence[Any]]) -> list[CellColumn]:
    """Cut columns into cells: their values, or the numbers between public breaks."""
    names = [column.name for column in columns if isinstance(column, Numbers)]
    for name in breaks:
        if name not in names:
            raise InputError(f"there is no numeric column {name!r} to cut.{did_you_mean(name, names)}")
    return [_cut(column, breaks.get(column.name)) for column in columns]


def _cut(column: Column, breaks: Sequence[Any] | None) -> CellColumn:
    if isinstance(column, CategoricalColumn):
        return CellColumn(column, column.codes, len(column.values))
    low, high = column.bounds.low, column.bounds.high
    if breaks is None:
        inner = [low + (high - low) * part / _PARTS for part in range(1, _PARTS)]
    else:
        inner = [exact_value(each, "breaks") for each in breaks]
    edges = [low, *inner, high]
    if any(one >= other for one, other in itertools.pairwise(edges)):
        raise ParameterError(
            f"the breaks of {column.name!r} should be ascending and between its bounds {float(low):g} and "
            f"{float(high):g}"
        )
    steps = np.array([round(edge / column.bounds.step) for edge in inner], np.int64)
    return CellColumn(
        column, np.searchsorted(steps, column.steps, side="right"), len(edges) - 1, tuple(edges)
    )
