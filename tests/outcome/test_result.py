"""Origins of rows: the null object says what row numbers say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.outcome.result import Origins


@given(st.integers(0, 6))
def test_all_rows_in_their_order_are_what_their_numbers_are(rows: int) -> None:
    everything, numbers = Origins(rows), Origins.of(np.arange(rows), rows)
    cells, mask = pa.chunked_array([pa.array(range(rows))]), np.arange(rows) % 2 == 0
    assert everything.array.tolist() == numbers.array.tolist()
    assert everything.among(rows).tolist() == numbers.among(rows).tolist()
    assert everything.take(cells).to_pylist() == numbers.take(cells).to_pylist()
    assert everything.pick(mask).tolist() == numbers.pick(mask).tolist()


@given(st.permutations(range(5)), st.lists(st.integers(0, 4), max_size=4, unique=True))
def test_two_steps_are_one_after_the_other(first: list[int], second: list[int]) -> None:
    one, other = Origins.of(np.array(first), 5), Origins.of(np.array(second, np.int64), len(second))
    cells = pa.array(list("abcde"))
    assert other.after(one).take(cells).to_pylist() == other.take(one.take(cells)).to_pylist()
    assert Origins(5).after(one).array.tolist() == first
    assert other.after(Origins(5)).array.tolist() == second


@pytest.mark.parametrize(("rows", "count"), [(None, 3), (np.array([2, 0]), 2)])
def test_the_count_is_that_of_the_output(rows: np.ndarray | None, count: int) -> None:
    assert Origins.of(rows, count).count == count
