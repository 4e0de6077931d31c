"""Rows that match where a missing cell matches everything, compared with comparing all."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from veil.published.matching import fewest_matches, keys, matches
from veil.tables.rows import Owners


def match(a, b):
    return all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def counts(rows):
    return [sum(match(a, b) for b in rows) for a in rows]


def codes_of(rows):
    return np.array([[-1 if cell is None else cell for cell in row] for row in rows], np.int32)


def random_tables(columns, rows, values=3, gaps=True):
    cell = st.integers(0, values - 1)
    return st.lists(
        st.tuples(*[cell | st.none() if gaps else cell] * columns), min_size=rows[0], max_size=rows[1]
    )


@given(random_tables(3, (1, 20)))
def test_matches_agree_with_the_slow_twin(rows):
    codes = codes_of(rows)
    crowd, whole, partial = matches(codes)
    found = np.where(crowd.of_row >= 0, whole[np.maximum(crowd.of_row, 0)] if whole.size else 0, 0)
    found[crowd.partial] = partial
    assert found.tolist() == counts(rows)
    assert fewest_matches(codes, 1000, Owners(len(codes))) == min(counts(rows))
    assert fewest_matches(codes, 2, Owners(len(codes))) == min(2, *counts(rows))


def test_wide_rows_are_told_apart():
    """More values than a machine word can number, in more bits than a word has."""
    draws = np.random.default_rng(17)
    codes = draws.integers(0, 2**30, (50, 5)).astype(np.int32)
    codes[:, 0] = 2**30
    codes[25:] = codes[:25]
    codes[3, 2] = codes[4, 1] = -1
    rows = [tuple(None if cell < 0 else int(cell) for cell in row) for row in codes]
    crowd, whole, partial = matches(codes)
    found = np.where(crowd.of_row >= 0, whole[np.maximum(crowd.of_row, 0)], 0)
    found[crowd.partial] = partial
    assert found.tolist() == counts(rows)
    assert len(set(keys(codes, np.ones(5, np.bool_)).tolist())) == len(set(rows))
