"""Counts that fit together, and the records drawn from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.base.randomness import Randomness
from veil.private_table.mechanisms.consistent import draw_child, fit, nearest_counts, whole_counts


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=8), st.floats(1, 100))
def test_nearest_counts_against_bisection(noisy: list[float], total: float) -> None:
    low, high = min(noisy) - total, max(noisy)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(np.array(noisy) - middle, 0).sum() > total else (low, middle)
    assert nearest_counts(np.array(noisy), total) == pytest.approx(
        np.maximum(np.array(noisy) - low, 0), abs=1e-6
    )


@given(st.lists(st.floats(0, 9), min_size=1, max_size=8), st.integers(0, 50), st.integers(0, 99))
def test_whole_counts_are_the_expected_ones_rounded(chances: list[float], records: int, seed: int) -> None:
    weights = np.array(chances) if sum(chances) > 1e-6 else np.ones(len(chances))
    found = whole_counts(weights, records, Randomness.for_testing(seed))
    assert found.sum() == records
    assert np.abs(found - weights / weights.sum() * records).max() < 1 + 1e-9


def test_where_nothing_is_likely_all_cells_are_alike() -> None:
    """Noise may leave no count above 0."""
    assert whole_counts(np.zeros(4), 8, Randomness.for_testing(1)).tolist() == [2, 2, 2, 2]


def test_fitted_tables_have_the_margins() -> None:
    rng = np.random.default_rng(1)
    rows, columns = np.array([50.0, 30, 20]), np.array([60.0, 40])
    table = fit(nearest_counts(rng.normal(16, 10, (3, 2)), 100), rows, columns)
    assert table.sum(axis=1) == pytest.approx(rows, rel=1e-3)
    assert table.sum(axis=0) == pytest.approx(columns, rel=1e-3)
    parent = np.repeat(np.arange(3), [500, 300, 200])
    child = draw_child(parent, table, Randomness.for_testing(1))
    found = np.bincount(parent * 2 + child, minlength=6).reshape(3, 2)
    assert found == pytest.approx(10 * table, abs=5)
