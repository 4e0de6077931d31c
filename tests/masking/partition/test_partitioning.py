"""What methods of partitioning share: the values of items, and the criterion of parts."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.classes.table import Histogram
from veil.masking.partition.partitioning import by_item


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 6), st.integers(1, 5), st.data())
def test_value_by_value_becomes_item_by_item(items: int, domain: int, data: st.DataObject) -> None:
    held = [sorted(data.draw(st.sets(st.integers(0, items - 1)))) for _ in range(domain)]
    expected = {
        (item, value): data.draw(st.integers(1, 5)) for value, each in enumerate(held) for item in each
    }
    classes = np.array([item for item, _ in expected], np.int32)
    starts = np.cumsum([0, *map(len, held)])
    entries = by_item(Histogram(starts, classes, np.array(list(expected.values()), np.int64)), items)
    assert entries.domain == domain
    found = [
        (item, int(entries.values[e]), int(entries.counts[e]))
        for item in range(items)
        for e in range(entries.starts[item], entries.starts[item + 1])
    ]
    assert found == sorted((*key, count) for key, count in expected.items())
    assert len(found) == entries.values.size == entries.counts.size
