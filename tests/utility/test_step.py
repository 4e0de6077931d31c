"""The summary of a step: every figure by its definition."""

from __future__ import annotations

import json
import math
import statistics
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.risk.nearest import record_linkage
from veil.utility.step import summarize


def slow_linkage(before, after, origins, columns):
    """Both directions of record linkage over lists of rows, by the definition."""

    def width(name):
        values = [value for value in before[name] if value is not None]
        return max(values) - min(values) if values else 0

    def distance(i, j):
        total = 0.0
        for name, is_number in columns.items():
            a, b = before[name][i], after[name][j]
            if a is None and b is None:
                continue
            if a is None or b is None:
                total += 1
            elif not is_number:
                total += a != b
            elif width(name):
                total += (a - b) ** 2 / width(name) ** 2
        return total

    records = range(len(next(iter(before.values()))))
    forward = backward = 0.0
    for i in records:
        found = [distance(i, j) for j in range(len(origins))]
        ties = [j for j, each in enumerate(found) if each <= min(found) * (1 + 1e-12)]
        forward += sum(origins[j] == i for j in ties) / len(ties)
    for j, origin in enumerate(origins):
        found = [distance(i, j) for i in records]
        ties = [i for i, each in enumerate(found) if each <= min(found) * (1 + 1e-12)]
        backward += (origin in ties) / len(ties)
    return forward / len(records), backward / len(origins)


rows = st.tuples(st.integers(0, 6) | st.none(), st.integers(-3, 3), st.sampled_from("abc") | st.none())


@given(st.lists(st.tuples(rows, rows), min_size=1, max_size=12), st.data())
def test_linkage_agrees_with_the_slow_twin(pairs, data):
    schema = pa.schema([("x", pa.int64()), ("y", pa.float64()), ("z", pa.string())])

    def table(of):
        return pa.table(
            [
                pa.array(column, kind)
                for column, kind in zip(zip(*of, strict=True), schema.types, strict=True)
            ],
            schema=schema,
        )

    before = table([old for old, _ in pairs])
    origins = data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=12))
    after = table([pairs[origin][1] for origin in origins])
    found = record_linkage(before, after, ["x", "y", "z"], np.array(origins))
    expected = slow_linkage(
        before.to_pydict(), after.to_pydict(), origins, {"x": True, "y": True, "z": False}
    )
    assert (found.forward, found.backward) == pytest.approx(expected)
    assert found.basis == f"all {max(len(pairs), len(origins)):,} records"


def test_an_unchanged_table_is_linked_as_far_as_its_records_differ():
    table = pa.table({"x": [1, 1, 2, 3], "y": ["a", "a", "a", "b"]})
    found = record_linkage(table, table, ["x", "y"])
    assert (found.forward, found.backward) == (0.75, 0.75)


def test_ties_do_not_hang_on_rounding():
    """1 + 4 + 9 sevenths squared are 9 + 4 + 1, in whatever order they are added."""
    before = pa.table({"x": [0, 7], "y": [0, 7], "z": [0, 7]})
    after = pa.table({"x": [1, 3], "y": [2, 2], "z": [3, 1]})
    assert record_linkage(before, after, ["x", "y", "z"]).forward == 0.5


def test_long_tables_are_sampled_and_say_so():
    draws = np.random.default_rng(21)
    values = draws.normal(size=3000)
    before, after = pa.table({"x": values}), pa.table({"x": values + draws.normal(0, 1e-4, 3000)})
    whole = record_linkage(before, after, ["x"])
    part = record_linkage(before, after, ["x"], pairs=3_000_000)
    assert "1,000 of 3,000" in part.basis
    assert "random" in part.basis
    assert part.forward == pytest.approx(whole.forward, abs=0.05)
    assert 0.2 < whole.forward < 0.95
    assert record_linkage(before, after, ["x"], pairs=1).looked_up == 250


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=20))
def test_losses_of_numbers_by_their_definition(pairs):
    x, y = map(list, zip(*pairs, strict=True))
    loss = summarize(pa.table({"x": x}), pa.table({"x": y}), ["x"]).columns[0]
    assert loss.changed == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))
    spread = sum((a - statistics.fmean(x)) ** 2 for a in x)
    if len(set(x)) == 1:
        assert loss.error is None
    else:
        assert loss.error == pytest.approx(sum((a - b) ** 2 for a, b in pairs) / spread)
    assert loss.means == pytest.approx((statistics.fmean(x), statistics.fmean(y)))
    assert loss.variances == pytest.approx((statistics.variance(x), statistics.variance(y)))
    assert loss.total_variation is None


@given(
    st.lists(st.tuples(st.sampled_from("abc") | st.none(), st.sampled_from("abcd")), min_size=1, max_size=20)
)
def test_losses_of_categories_by_their_definition(pairs):
    x, y = map(list, zip(*pairs, strict=True))
    table = pa.table({"x": pa.array(x, pa.string())})
    loss = summarize(table, pa.table({"x": y}), ["x"]).columns[0]
    assert loss.changed == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))
    distance = sum(abs(x.count(each) - y.count(each)) for each in {*x, *y}) / (2 * len(pairs))
    assert loss.total_variation == pytest.approx(distance)
    assert loss.error is loss.means is loss.variances is None


def test_huge_numbers_have_infinite_errors_and_no_warning():
    before = pa.table({"pay": [0.0, 1e300, -1e300, 2.0], "age": [1.0, 2.0, 3.0, 1e300]})
    found = summarize(before, pa.table({"pay": [5.0] * 4, "age": [1e300] * 4}), ["pay", "age"])
    assert found.columns[0].variances == (math.inf, 0.0)


def test_numbers_that_became_text_are_categories():
    found = summarize(pa.table({"x": [1, 2, 3]}), pa.table({"x": ["1", "2+", "2+"]}), ["x"])
    assert found.columns[0].changed == pytest.approx(2 / 3)
    assert found.columns[0].total_variation == pytest.approx(2 / 3)
    assert found.error is None


def test_dates_have_errors_but_no_means():
    days = [date(2000, 1, 1), date(2000, 1, 3)]
    loss = summarize(pa.table({"x": days}), pa.table({"x": days[::-1]}), ["x"]).columns[0]
    assert (loss.error, loss.means, loss.total_variation) == (4.0, None, None)


def test_correlations_classes_and_uniques():
    before = pa.table({"x": [1, 2, 3, 4], "y": [1, 2, 3, 4], "z": ["a", "a", "b", "b"]})
    after = before.set_column(0, "x", pa.array([4, 3, 2, 1]))
    found = summarize(before, after, ["x"])
    assert found.correlation == pytest.approx(2)
    assert (found.smallest_class, found.uniques) == ((1, 1), (1.0, 1.0))
    grouped = summarize(before, before.set_column(0, "x", pa.array([1, 1, 1, 2])), ["x", "z"])
    assert (grouped.smallest_class, grouped.uniques) == ((1, 1), (1.0, 0.5))
    assert summarize(before.select(["z"]), before.select(["z"]), ["z"]).correlation is None
    constant = summarize(pa.table({"x": [1, 1], "y": [1, 2]}), pa.table({"x": [1, 2], "y": [1, 2]}), ["x"])
    assert constant.correlation is None


def test_a_sample_is_compared_with_the_rows_it_comes_from():
    before = pa.table({"x": [10, 20, 30, 40]})
    found = summarize(before, before.take([1, 3]), [], np.array([1, 3]))
    assert found.records == (4, 2)
    assert found.columns[0].changed == 0
    assert found.columns[0].means == (25.0, 30.0)
    assert found.linkage.forward == 0.5
    assert found.linkage.backward == 1.0


def test_missing_numbers_are_left_out_of_errors():
    before = pa.table({"x": pa.array([1, 3, None], pa.int64())})
    after = pa.table({"x": pa.array([1, None, None], pa.int64())})
    loss = summarize(before, after, ["x"]).columns[0]
    assert loss.changed == pytest.approx(1 / 3)
    assert loss.means == (2.0, 1.0)
    gone = summarize(before, pa.table({"x": pa.array([None] * 3, pa.int64())}), ["x"]).columns[0]
    assert gone.error is None
    assert gone.means is not None
    assert math.isnan(gone.means[1])


def test_figures_can_be_read_and_written():
    found = summarize(
        pa.table({"x": [1, 2], "z": ["a", "b"]}), pa.table({"x": [2, 1], "z": ["a", "a"]}), ["x", "z"]
    )
    text = str(found)
    for told in (
        "x: 100.0% of the cells changed",
        "SSE/SST 4",
        "total variation 0.5",
        "linked by distance",
        "smallest class 1 -> 1",
    ):
        assert told in text
    assert json.loads(json.dumps(found.as_dict()))["linkage"]["records"] == 2
