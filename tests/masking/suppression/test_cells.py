"""The choice of cells to suppress: sound, and close to the least that is possible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.masking.suppression import (
    codes_of,
    fulfils,
    least_weight,
    random_tables,
)
from veil.masking.suppression.cells import alike_cells, few_cells, sets_of_columns
from veil.published.matching import matches
from veil.tables.rows import Owners


@given(random_tables(3, (3, 12)), st.integers(2, 3))
def test_no_cell_could_be_shown_again(rows, k):
    after = np.where(few_cells(codes_of(rows), k, np.array([1.0, 2.0, 1.0])), -1, codes_of(rows))
    made = [tuple(None if cell < 0 else int(cell) for cell in row) for row in after]
    assert fulfils(made, k, "matches_everything")
    for i, (before, now) in enumerate(zip(rows, made, strict=True)):
        for j in range(3):
            if before[j] is not None and now[j] is None:
                shown = [*made[:i], (*now[:j], before[j], *now[j + 1 :]), *made[i + 1 :]]
                assert not fulfils(shown, k, "matches_everything")


@pytest.mark.parametrize(("missing", "bound"), [("matches_everything", 1.12), ("own_value", 1.06)])
def test_close_to_the_least_weight_of_cells(missing, bound):
    """Over many small tables, with and without weights: never below the least, and little above it."""
    draws = np.random.default_rng(18)

    def search(codes, k, weights):
        if missing == "matches_everything":
            return few_cells(codes, k, weights)
        return alike_cells(codes, k, weights, Owners(len(codes)))

    made = least = exact = 0.0
    for _ in range(120):
        rows = [tuple(row) for row in draws.integers(0, 3, (int(draws.integers(4, 6)), 2)).tolist()]
        k = int(draws.integers(2, 4))
        weights = np.array([1.0, float(draws.choice([1.0, 1.5, 3.0]))])
        found = float((search(codes_of(rows), k, weights) @ weights).sum())
        possible = least_weight(rows, k, missing, weights.tolist())
        assert found >= possible
        made, least, exact = made + found, least + possible, exact + (found == possible)
    assert made <= bound * least
    assert exact >= 90


def test_fewer_cells_than_records_at_risk():
    """Where every such record loses a cell of its own, as in a simple loop over them, there are more."""
    draws = np.random.default_rng(19)
    codes = draws.integers(0, 4, (400, 5)).astype(np.int32)
    crowd, whole, _ = matches(codes)
    risky = int((whole[crowd.of_row] < 3).sum())
    assert few_cells(codes, 3, np.ones(5)).sum() < 0.7 * risky


def test_sets_of_columns_come_by_weight_then_by_values_then_from_behind():
    codes = np.array([[0, 0, 0], [1, 1, 1], [0, 2, 0]], np.int32)
    order = [tuple(np.flatnonzero(mask).tolist()) for mask in sets_of_columns(codes, np.ones(3))]
    assert order[:7] == [(1,), (2,), (0,), (1, 2), (0, 1), (0, 2), (0, 1, 2)]
    weighted = [
        tuple(np.flatnonzero(mask).tolist()) for mask in sets_of_columns(codes, np.array([1.0, 5.0, 2.0]))
    ]
    assert weighted[:7] == [(0,), (2,), (0, 2), (1,), (0, 1), (1, 2), (0, 1, 2)]
