"""Comparisons: bad input is refused, and rows may come in any order."""

from __future__ import annotations

import pyarrow as pa
import pytest

from support.refusals import refused
from veil.errors import InputError, PlanError
from veil.utility import Comparison, quality_measures


def test_bad_input_is_refused_with_the_way_out():
    two = pa.table({"x": [1, 2]})
    with refused(InputError, "1 rows", "original 2", "`rows`"):
        Comparison(two, two.slice(0, 1), "x")
    with refused(InputError, "0 to 1", "not 2"):
        Comparison(two, two.slice(0, 1), "x", rows=[2])
    with refused(InputError, "at most once", "1 twice"):
        Comparison(two, two, "x", rows=[1, 1])
    with refused(InputError, "the 2", "not 1"):
        Comparison(two, two, "x", rows=[1])
    with refused(PlanError, "the original", "no column 'y'", "from: 'x'"):
        Comparison(two, two, "y")
    with refused(PlanError, "the released", "no column 'x'"):
        Comparison(two, pa.table({"z": [1, 2]}), "x")
    with refused(PlanError, "least one quasi-identifier"):
        Comparison(two, two, [])
    with pytest.raises(InputError, match="no rows"):
        Comparison(two.slice(0, 0), two, "x")


def test_rows_may_come_in_any_order_and_as_a_mask():
    before = pa.table({"x": ["a", "b", "c"]})
    turned = Comparison(before, pa.table({"x": ["c", "a"]}), "x", rows=[2, 0])
    assert turned.place.tolist() == [1, -1, 0]
    assert turned.suppressed.tolist() == [False, True, False]
    mask = Comparison(before, pa.table({"x": ["a", "c"]}), "x", rows=[True, False, True])
    assert mask.place.tolist() == [0, -1, 1]
    assert quality_measures(turned).overall == pytest.approx(quality_measures(mask).overall)
