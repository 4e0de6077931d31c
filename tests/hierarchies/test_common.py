"""Sorting by keys, against pairs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from veil.hierarchies._common import by_key


@given(st.lists(st.tuples(st.integers(-(2**62), 2**62) | st.integers(0, 3), st.text(max_size=3))))
def test_values_are_sorted_as_pairs_are(pairs: list[tuple[int, str]]) -> None:
    texts = pa.array([text for _, text in pairs], pa.string())
    found = by_key(np.array([number for number, _ in pairs], np.int64), texts)
    assert [pairs[at] for at in found.order.tolist()] == sorted(pairs)
    assert found.texts.to_pylist() == [text for _, text in sorted(pairs)]
    assert not found.distinct or len(set(pairs)) == len(pairs)
