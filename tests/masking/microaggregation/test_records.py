"""Records as points: distances of numbers, categories and hierarchies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from support.masking import microaggregation as twins
from support.masking.microaggregation import some_records
from veil.masking.microaggregation.records import records_of

sometimes = settings(max_examples=60, deadline=None)


@sometimes
@given(some_records(most=12))
def test_coordinates_are_as_far_apart_as_records(drawn):
    records, twin, weights = drawn
    points = records.coordinates()
    for one in range(records.rows):
        for other in range(records.rows):
            expected = twins.square(twin[one], twin[other], weights)
            assert np.square(points[one] - points[other]).sum() == pytest.approx(
                expected, rel=1e-9, abs=1e-12
            )


def test_distances_by_hierarchy():
    """Level of the first common label over the height, squared: 1/2 for flu and cold, 1 for flu and gout."""
    from veil import hierarchies as h

    ills = h.table([["flu", "virus", "*"], ["cold", "virus", "*"], ["gout", "joint", "*"]])
    table = pa.table({"ill": ["flu", "cold", "gout", "flu"]})
    points = records_of(table, ["ill"], "", hierarchies={"ill": ills}).coordinates()
    squares = np.square(points[0] - points).sum(axis=1)
    assert squares == pytest.approx([0, 0.25, 1, 0])
