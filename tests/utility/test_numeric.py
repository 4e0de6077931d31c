"""Preservation of numbers: definitions written out, and the measures of masking."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.realdata import SHARED
from support.refusals import refused
from support.utility.example import e1
from veil.errors import InputError
from veil.tables.rows import Rows
from veil.utility import Comparison, preservation
from veil.utility.step import summarize

values = st.integers(-20, 20) | st.none()


def slow_column(before: list[float | None], after: list[float | None]) -> dict[str, object]:
    known = [x for x in before if x is not None]
    both = [(x, y) for x, y in zip(before, after, strict=True) if x is not None and y is not None]
    sse = sum((x - y) ** 2 for x, y in both)
    mean = sum(x for x, _ in both) / len(both) if both else 0
    sst = sum((x - mean) ** 2 for x, _ in both)
    width = max(known) - min(known) if known else 0
    distances = sum(((x - y) / width) ** 2 if width else x != y for x, y in both) + len(known) - len(both)
    return {
        "compared": len(both) / len(known) if known else 0.0,
        "sse": sse,
        "sse_sst": sse / sst if sst else None,
        "ned": distances / len(known) if known else 0.0,
    }


def slow_correlation(rows: list[tuple[float, float]]) -> float | None:
    if len(rows) < 2 or any(len(set(column)) == 1 for column in zip(*rows, strict=True)):
        return None
    return statistics.correlation(*zip(*rows, strict=True))


@given(st.lists(st.tuples(*[values] * 8), min_size=1, max_size=15))
@settings(max_examples=60)
def test_correlations_of_each_pair_are_those_of_the_records_that_have_both(rows):
    lists = [list(column) for column in zip(*rows, strict=True)]
    tables = [
        pa.table({name: pa.array(each, pa.int64()) for name, each in zip("wxyz", half, strict=True)})
        for half in (lists[:4], lists[4:])
    ]
    found = preservation(_compared(*tables))
    changes = []
    for i in range(4):
        for j in range(4):
            told = []
            for matrix, half in zip(found.correlations, (lists[:4], lists[4:]), strict=True):
                both = [pair for pair in zip(half[i], half[j], strict=True) if None not in pair]
                told.append(slow_correlation(both))
                assert matrix[i][j] == (None if told[-1] is None else pytest.approx(told[-1], abs=1e-9))
            if i < j and None not in told:
                changes.append(abs(told[0] - told[1]))
    if changes:
        assert found.correlation_change == pytest.approx(statistics.fmean(changes), abs=1e-9)
        assert found.largest_correlation_change == pytest.approx(max(changes), abs=1e-9)
    else:
        assert found.correlation_change is None


def test_a_column_that_is_not_released_leaves_the_correlations_of_others_alone():
    before = pa.table({"x": [1.0, 2.0, 4.0], "y": [3.0, 1.0, 2.0], "z": [1.0, 5.0, 7.0]})
    after = before.set_column(2, "z", pa.array([None] * 3, pa.float64()))
    found = preservation(_compared(before, after))
    assert found.correlations[1][0][1] == found.correlations[0][0][1] is not None
    assert found.correlations[1][0][2] is None
    assert found.correlation_change == found.largest_correlation_change == 0
    # The variances and the covariance of x and y, which did not change; those with z are not known.
    assert found.covariance_change == 0


@given(st.lists(st.tuples(values, values, values, values), min_size=1, max_size=15))
@settings(max_examples=80)
def test_figures_agree_with_the_slow_twin(rows):
    x, y, x2, y2 = (list(column) for column in zip(*rows, strict=True))
    before = pa.table({"x": pa.array(x, pa.int64()), "y": pa.array(y, pa.int64())})
    after = pa.table({"x": pa.array(x2, pa.float64()), "y": pa.array(y2, pa.int64())})
    found = preservation(_compared(before, after))
    assert found is not None
    for each, old, new in zip(found.columns, (x, y), (x2, y2), strict=True):
        for name, expected in slow_column(old, new).items():
            assert getattr(each, name) == (None if expected is None else pytest.approx(expected)), name
        for which, numbers in enumerate((old, new)):
            there = [number for number in numbers if number is not None]
            assert each.means[which] == (pytest.approx(statistics.fmean(there)) if there else None)
            variance = pytest.approx(statistics.variance(there)) if len(there) > 1 else None
            assert each.variances[which] == variance
    correlations = []
    for matrix, (a, b) in zip(found.correlations, ((x, y), (x2, y2)), strict=True):
        complete = [(p, q) for p, q in zip(a, b, strict=True) if p is not None and q is not None]
        correlations.append(slow_correlation(complete))
        expected = None if correlations[-1] is None else pytest.approx(correlations[-1], abs=1e-9)
        assert matrix[0][1] == expected
        assert matrix[1][0] == expected
    if None in correlations:
        assert found.correlation_change is None
    else:
        assert found.correlation_change == pytest.approx(abs(correlations[1] - correlations[0]), abs=1e-9)
        assert found.largest_correlation_change == found.correlation_change


def _compared(before: pa.Table, after: pa.Table) -> Comparison:
    """With a quasi-identifier that stays, so that no record is suppressed."""
    label = pa.array(["a"] * before.num_rows)
    return Comparison(before.append_column("q", label), after.append_column("q", label), "q")


def test_covariances_by_hand():
    before = pa.table({"x": [0.0, 2.0], "y": [0.0, 4.0]})
    after = pa.table({"x": [0.0, 4.0], "y": [0.0, 4.0]})
    found = preservation(_compared(before, after))
    # Variances 2 and 8 with covariance 4 become 8 and 8 with covariance 8.
    assert found.covariance_change == pytest.approx((6 / 2 + 4 / 4 + 4 / 4 + 0) / 4)
    assert found.correlation_change == pytest.approx(0)
    assert found.columns[0].variance_change == pytest.approx(3.0)
    assert found.columns[0].il1s == pytest.approx(1 / 2)
    assert found.sse == 4.0


def test_labels_stand_for_their_middle_and_suppressed_numbers_for_none():
    found = preservation(e1((1, 0, 1)))
    assert [each.column for each in found.columns] == ["A"]
    ages = found.columns[0]
    assert ages.compared == 0.9
    assert ages.sse == pytest.approx(5 * 1 + 4 * 1.5**2)
    assert ages.means == (29.0, pytest.approx((5 * 22 + 4 * 36.5) / 9))
    assert ages.ned == pytest.approx((5 * (1 / 17) ** 2 + 4 * (1.5 / 17) ** 2 + 1) / 10)


def test_there_may_be_no_numbers_at_all():
    table = pa.table({"x": ["a"]})
    assert preservation(Comparison(table, table, "x")) is None
    with refused(InputError, "'x'", "no numbers"):
        preservation(Comparison(table, table, "x"), ["x"])


def test_figures_agree_with_those_of_masking():
    draws = np.random.default_rng(5)
    x = draws.normal(size=200)
    before = pa.table({"x": x, "y": x + draws.normal(size=200)})
    after = pa.table({"x": x + draws.normal(0, 0.3, 200), "y": before["y"]})
    found = preservation(_compared(before, after))
    summary = summarize(before, after, ["x"])
    assert found.columns[0].sse_sst == pytest.approx(summary.columns[0].error)
    assert found.columns[0].means == pytest.approx(summary.columns[0].means)
    assert found.columns[0].variances == pytest.approx(summary.columns[0].variances)
    assert found.largest_correlation_change == pytest.approx(summary.correlation)


@pytest.mark.realdata
@pytest.mark.skipif(
    not Path(SHARED / "data" / "census" / "census.csv").exists(), reason="needs the table census"
)
@pytest.mark.parametrize(
    ("k", "sse", "variances"),
    [(5, 1.20e10, (0.0156, 0.0991, 0.1327, 0.0224)), (30, 4.00e10, (0.0639, 0.3214, 0.4729, 0.1060))],
)
def test_soria_comas_2013_section_6_5_sse_and_variances_of_census(k, sse, variances):
    """MDAV keeps means; its sum of squared errors and changes of variance are printed in Tables 6.1 and 6.5."""
    from veil.base.randomness import Randomness
    from veil.masking.microaggregation.methods import MDAV
    from veil.tables import read

    names = ["FEDTAX", "POTHVAL", "INTVAL", "FICA"]
    table = read(SHARED / "data" / "census" / "census.csv").table.select(names)
    bounds = {name: (0, 1.5 * max(table[name].to_pylist())) for name in names}
    masked = MDAV(names, k, bounds=bounds).mask(Rows.of(table), Randomness()).table
    found = preservation(Comparison(table, masked, names))
    assert found.sse == pytest.approx(sse, rel=0.005)
    for each, change in zip(found.columns, variances, strict=True):
        assert each.mean_change == pytest.approx(0, abs=1e-9)
        assert each.variance_change == pytest.approx(change, abs=6e-5)
