"""Summary statistics: the reference's worked values, Python's own statistics, and scales of measure."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from support.utility.example import E1, TABLES, e1
from veil import hierarchies as h
from veil.errors import PlanError
from veil.utility import Comparison, summary_statistics
from veil.utility.statistics import Statistics


def before(column: pa.Array, **options: object) -> Statistics:
    table = pa.table({"x": column})
    return summary_statistics(Comparison(table, table, "x"), **options)[0].before


def test_reference_section_7_item_6_summary_of_the_ages_of_e1():
    found = before(E1["A"])
    assert found.scale == "ratio"
    assert (found.mean, found.median, found.mode) == (29.0, 29.0, 21)
    assert found.sample_variance == pytest.approx(59.333333, abs=1e-6)
    assert found.population_variance == pytest.approx(53.4)
    assert found.geometric_mean == pytest.approx(28.066514891, abs=1e-9)
    assert (found.minimum, found.maximum, found.range, found.count) == (21, 38, 17.0, 10)


def kurtosis(values: list[float]) -> float | None:
    """Excess kurtosis G2, the unbiased estimate for normal populations (Joanes and Gill 1998)."""
    n = len(values)
    mean = math.fsum(values) / n
    m2, m4 = (math.fsum((x - mean) ** power for x in values) / n for power in (2, 4))
    if n < 4 or m2 == 0:
        return None
    return (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (m4 / m2**2 - 3) + 6)


numbers = st.lists(st.integers(-50, 50) | st.none(), min_size=1, max_size=30)


@given(numbers)
@settings(max_examples=60)
def test_numbers_agree_with_the_slow_twin(values):
    found = before(pa.array(values, pa.int64()))
    present = sorted(value for value in values if value is not None)
    assert found.count == len(present)
    if not present:
        assert found == Statistics("ratio", 0)
        return
    assert found.mode == min(statistics.multimode(present))
    assert found.median == statistics.median(present)
    assert (found.minimum, found.maximum, found.range) == (present[0], present[-1], present[-1] - present[0])
    assert found.mean == pytest.approx(statistics.fmean(present))
    assert found.population_variance == pytest.approx(statistics.pvariance(present))
    several = len(present) > 1
    assert found.sample_variance == (pytest.approx(statistics.variance(present)) if several else None)
    assert found.standard_deviation == (pytest.approx(statistics.stdev(present)) if several else None)
    constant = present[0] == present[-1]
    assert found.kurtosis == (None if constant else pytest.approx(kurtosis(present), abs=1e-9))
    if present[0] < 0:
        assert found.geometric_mean is None
    elif present[0] == 0:
        assert found.geometric_mean == 0.0
    else:
        assert found.geometric_mean == pytest.approx(statistics.geometric_mean(present))


def test_large_numbers_close_together_keep_their_variance():
    found = before(pa.array([1e15 + 1, 1e15 + 2, 1e15 + 3]))
    assert (found.mean, found.sample_variance) == (1e15 + 2, 1.0)


def test_scales_of_measure():
    nominal = before(pa.array(["b", "a", "b", None]))
    assert nominal == Statistics("nominal", 3, mode="b")
    assert before(pa.array([True, True, False])).mode == "true"
    ordered = pa.DictionaryArray.from_arrays(
        pa.array([2, 0, 1, 2]), pa.array(["low", "mid", "high"]), ordered=True
    )
    assert before(ordered) == Statistics(
        "ordinal", 4, mode="high", median=None, minimum="low", maximum="high"
    )
    assert before(ordered.slice(1)).median == "mid"
    assert before(pa.array([Decimal("1.50"), Decimal("2.50")])).mean == 2.0
    assert before(pa.array([1.0, float("inf"), 3.0])).mean == 2.0


def test_dates_are_of_interval_scale_and_measured_in_days():
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 5), dt.date(2020, 1, 2)]
    found = before(pa.array(days))
    assert found.scale == "interval"
    assert (found.minimum, found.maximum, found.mode, found.median) == (
        "2020-01-01", "2020-01-05", "2020-01-02", "2020-01-02",
    )  # fmt: skip
    assert found.mean == "2020-01-03"  # half past, rounded up
    assert found.range == 4.0
    assert found.population_variance == pytest.approx(2.25)
    assert found.geometric_mean is None
    times = before(pa.array([dt.datetime(2020, 1, 1, 0), dt.datetime(2020, 1, 1, 12)]))
    assert (times.mean, times.range) == ("2020-01-01T06:00:00", 0.5)


def test_labels_of_numbers_are_ordinal_in_the_order_of_the_numbers():
    values = [5, 15, 15, 105]
    table = [["5", "up to 10", "*"], ["15", "above 10", "*"], ["105", "above 100", "*"]]
    labels = ["up to 10", "above 10", "above 10", "above 100"]
    comparison = Comparison(pa.table({"x": values}), pa.table({"x": labels}), {"x": h.table(table)})
    found = summary_statistics(comparison)[0].after
    assert found == Statistics(
        "ordinal", 4, mode="above 10", median="above 10", minimum="up to 10", maximum="above 100"
    )


def test_labels_of_texts_are_nominal_and_blanks_do_not_count():
    found = {each.column: each.after for each in summary_statistics(e1((1, 0, 1)))}
    assert found["A"] == Statistics(
        "ordinal", 9, mode="20-29", median="20-29", minimum="20-29", maximum="30-39"
    )
    assert found["G"] == Statistics("nominal", 9, mode="f")
    assert found["Z"] == Statistics("nominal", 9, mode="11*")


def test_list_wise_deletion_leaves_out_suppressed_and_incomplete_records():
    table = pa.table({"x": [1, 2, None, 4], "y": ["a", None, "b", "c"]})
    blank = pa.table({"x": pa.array([1, 2, None, None], pa.int64()), "y": ["a", None, "b", "*"]})
    comparison = Comparison(table, blank, ["x", "y"])
    assert comparison.suppressed.tolist() == [False, False, False, True]
    x, y = summary_statistics(comparison, listwise=True)
    assert (x.before.count, y.before.count, x.after.count, y.after.count) == (2, 2, 1, 1)
    x, y = summary_statistics(comparison)
    assert (x.before.count, y.before.count, x.after.count, y.after.count) == (3, 3, 2, 2)


def test_columns_are_chosen_and_those_without_text_form_left_out():
    table = pa.table({"x": [1], "tags": [["a"]]})
    comparison = Comparison(table, table, "x")
    assert [each.column for each in summary_statistics(comparison)] == ["x"]
    with refused(PlanError, "no column 'y'"):
        summary_statistics(comparison, ["y"])


def test_the_table_that_came_in_is_read_from_any_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [1.0, np.nan, 3.0]})
    assert summary_statistics(Comparison(frame, frame, "x"))[0].after.mean == 2.0


def test_hierarchies_of_e1_are_what_the_other_tests_think():
    assert list(TABLES) == E1.column_names
