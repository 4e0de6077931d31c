"""What a column holds at a glance, compared with counting cell by cell."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.amount import tables
from veil.synthetic import patients
from veil.tables.profile import BARS, profile_column

NUMBERS = st.lists(st.none() | st.integers(-1000, 1000), min_size=1, max_size=60)
TEXTS = st.lists(st.none() | st.sampled_from(["", "a", "b", "<b>", "ä"]), min_size=1, max_size=60)


@settings(max_examples=tables(100))
@given(NUMBERS | TEXTS)
def test_every_record_is_counted_once(cells):
    kind = pa.int64() if any(isinstance(each, int) for each in cells) else pa.string()
    found = profile_column("x", pa.chunked_array([pa.array(cells, kind)]))
    there = [each for each in cells if each is not None]
    assert found.missing == cells.count(None)
    assert found.distinct == len(set(there))
    counted = sum(bar.records for bar in found.bars)
    if found.order == "ranges":
        assert counted == len(there)
        for bar in found.bars:
            assert bar.records == sum(int(bar.first) <= each <= int(bar.last) for each in there)
    else:
        most = sorted(Counter(there).values(), reverse=True)[:BARS]
        assert sorted((bar.records for bar in found.bars), reverse=True) == most
        for bar in found.bars:
            assert bar.records == sum(str(each) == bar.first == bar.last for each in there)


@pytest.mark.parametrize(
    ("column", "kind"),
    [("age", "integer"), ("zip", "string"), ("admission", "date"), ("cost", "decimal"), ("sex", "string")],
)
def test_types_are_called_as_formats_call_them(column, kind):
    found = {each.name: each for each in veil.profile(patients(50))}
    assert found[column].type == kind


@pytest.mark.parametrize(
    "cells", [[None, None], [float("nan"), float("inf"), *range(20)], [["a"], ["a", "b"], None]]
)
def test_odd_columns_are_told_as_well(cells):
    found = profile_column("x", pa.chunked_array([pa.array(cells)]))
    assert found.missing <= len(cells)
    assert len(found.bars) <= BARS
