"""Subsets of columns, compared with grouping anew."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.risk import twins
from support.risk.tables import often, published, seeded, tables
from veil.risk import attribute_risks
from veil.risk.grouping import group_records
from veil.risk.projections import projections, subset_count


@often
@given(tables(max_width=5), st.integers(1, 6))
def test_projections_are_groupings_of_their_columns(table, largest):
    rows, width = table
    made = group_records(published(rows, width))
    seen = []
    for each in projections(made, largest):
        seen.append(each.columns)
        parts = made.codes[:, each.columns]
        _, first, where = np.unique(parts, axis=0, return_index=True, return_inverse=True)
        sums = np.bincount(where.ravel(), made.sizes, first.size).astype(np.int64)
        assert sorted(each.sizes.tolist()) == sorted(sums.tolist())
        assert sums[where.ravel()[each.members]].tolist() == each.sizes.tolist()
        blank = made.blank[:, each.columns].all(axis=1)
        assert (each.blank >= 0) == blank.any()
        if each.blank >= 0:
            assert each.sizes[each.blank] == made.sizes[blank].sum()
    assert sorted(seen) == sorted(twins.subsets(width, largest))


def test_many_columns_in_several_machine_words():
    """Forty columns of a thousand values take 400 bits."""
    table = seeded(500, 40, 1000, 3)
    found = attribute_risks(table, table.column_names, largest=2)
    assert len(found) == subset_count(40, 2) == 820
    for each in found[::97]:
        rows = list(zip(*(table[name].to_pylist() for name in each.columns), strict=True))
        same = sum(math.comb(rows.count(row), 2) for row in set(rows))
        assert each.distinction == len(set(rows)) / 500
        assert each.separation == pytest.approx(1 - same / math.comb(500, 2), rel=1e-12)
