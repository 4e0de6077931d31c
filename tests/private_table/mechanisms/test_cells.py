"""Columns cut into cells, and the values drawn from cells."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.dp.tables import read_columns
from veil.base.randomness import Randomness
from veil.private_table.mechanisms.cells import cut


def test_numbers_without_breaks_are_cut_into_ten_parts_of_equal_width() -> None:
    columns = read_columns(pa.table({"age": [18, 30]}), {"age": (0, 120)}, {}, {}, "one changed")
    (cells,) = cut(columns, {})
    assert cells.edges == tuple(range(0, 121, 12))
    assert cells.codes.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("bounds", "breaks", "cells"),
    [
        ((18.0, 90.0), [65], [(18, 65), (65, 90)]),
        ((18, 90), [65], [(18, 64), (65, 90)]),
        ((18, 90), [20.5, 65.5], [(18, 20), (21, 65), (66, 90)]),
    ],
)
def test_numbers_are_drawn_evenly_from_their_cells(bounds: Any, breaks: Any, cells: Any) -> None:
    """The bounds are within, and a break belongs to the cell above it. Whether numbers are whole is what bounds say."""
    (column,) = cut(
        read_columns(pa.table({"age": [40.5]}), {"age": bounds}, {}, {}, "one changed"), {"age": breaks}
    )
    assert column.size == len(cells)
    for code, (low, high) in enumerate(cells):
        drawn = column.values(np.full(4000, code), Randomness.for_testing(code)).to_numpy()
        assert low <= drawn.min() < low + 1
        assert high - 1 < drawn.max() <= high
        # Five standard deviations of the mean of 4,000 numbers that are spread evenly.
        assert abs(drawn.mean() - (low + high) / 2) < 5 * (high - low + 1) / math.sqrt(12 * 4000)
        if isinstance(bounds[0], int):
            assert set(drawn.tolist()) == set(range(low, high + 1))
