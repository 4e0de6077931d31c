"""Which rows are alike: as a look at all their cells has it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from veil.base.distinct import distinct_rows, keys_of

CODES = st.sampled_from([0, 1, 2, 3, 2**20, 2**31 - 1, 2**40])


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[CODES] * width), max_size=12)))
def test_rows_are_alike_if_all_cells_are(rows: list[tuple[int, ...]]) -> None:
    columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
    keys = keys_of(columns, len(rows)).tolist()
    pairs = list(zip(keys, rows, strict=True))
    assert all((a < b) == (x < y) and (a == b) == (x == y) for a, x in pairs for b, y in pairs)
    one_of, number = distinct_rows(columns, len(rows))
    assert [rows[i] for i in one_of] == sorted(set(rows))
    assert [rows[one_of[n]] for n in number] == rows


def test_small_types_and_no_columns_do() -> None:
    rows = np.full(3, 200, np.uint8)
    assert keys_of([rows, rows, rows], 3).tolist() == [201 * 201 * 200 + 201 * 200 + 200] * 3
    assert distinct_rows([], 2)[1].tolist() == [0, 0]
