"""The nearest record of a masked table."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.risk.tables import sometimes
from veil.risk import linkage_experiment
from veil.risk.nearest import record_linkage


@sometimes
@given(st.integers(1, 40), st.integers(0, 10**6))
def test_where_nothing_is_generalized_it_is_the_measure_for_masked_tables(rows, seed):
    rng = np.random.default_rng(seed)
    before = pa.table(
        {
            "number": pa.array(rng.integers(0, 9, rows).astype(float), mask=rng.random(rows) < 0.1),
            "day": pa.array([datetime.date(2020, 1, 1 + int(d)) for d in rng.integers(0, 20, rows)]),
            "kind": rng.choice(["x", "y", "z"], rows),
        }
    )
    order = rng.permutation(rows)
    after = before.set_column(2, "kind", before["kind"].take(pa.array(order)))
    after = after.set_column(0, "number", pa.array(rng.integers(0, 9, rows).astype(float)))
    expected = record_linkage(before, after, before.column_names)
    found = linkage_experiment(before, after, before.column_names)
    assert found.forward == pytest.approx(expected.forward)
    assert found.backward == pytest.approx(expected.backward)
