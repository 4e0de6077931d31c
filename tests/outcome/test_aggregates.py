"""Aggregates of groups: all of them against plain Python, by type, with and without missing values."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil.errors import InputError
from veil.outcome.aggregates import aggregate_groups

sometimes = settings(max_examples=80, deadline=None)


def column(values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


def aggregates(values, groups, how, kind=None, **options):
    return aggregate_groups(column(values, kind), np.array(groups), how, "x", **options).to_pylist()


def split(values, groups):
    """Known values of each group."""
    return [
        [value for value, g in zip(values, groups, strict=True) if g == group and value is not None]
        for group in range(max(groups) + 1)
    ]


@st.composite
def grouped(draw, values):
    rows = draw(st.lists(st.tuples(st.one_of(st.none(), values), st.integers(0, 4)), min_size=1, max_size=25))
    return [value for value, _ in rows], np.unique([g for _, g in rows], return_inverse=True)[1].tolist()


integers = st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1))
letters = st.sampled_from("abcd")


def half_up(number: Fraction) -> int:
    return math.floor(number + Fraction(1, 2))


@sometimes
@given(grouped(integers))
def test_whole_means_and_medians_are_exact(drawn):
    values, groups = drawn
    parts = split(values, groups)
    assert aggregates(values, groups, "mean", pa.int64(), keep_type=True) == [
        half_up(Fraction(sum(part), len(part))) if part else None for part in parts
    ]
    assert aggregates(values, groups, "median", pa.int64(), keep_type=True) == [
        half_up(statistics.median(map(Fraction, part))) if part else None for part in parts
    ]


@sometimes
@given(grouped(st.floats(-1e9, 1e9)))
def test_means_and_medians_of_floats(drawn):
    values, groups = drawn
    means = aggregates(values, groups, "mean", pa.float64())
    medians = aggregates(values, groups, "median", pa.float64())
    for part, mean, median in zip(split(values, groups), means, medians, strict=True):
        if not part:
            assert mean is None
            assert median is None
            continue
        assert mean == pytest.approx(statistics.fmean(part), rel=1e-9, abs=1e-6)
        assert median == pytest.approx(statistics.median(part), rel=1e-9, abs=1e-6)
        assert min(part) <= mean <= max(part)
        assert min(part) <= median <= max(part)


@sometimes
@given(st.sampled_from([(9, 2), (18, 18), (38, 5), (5, -2)]), st.data())
def test_decimals_are_aggregated_exactly_in_their_last_place(kind, data):
    precision, scale = kind
    unit = Fraction(10) ** -scale
    whole = st.integers(-(10**precision) + 1, 10**precision - 1)
    numbers, groups = data.draw(grouped(whole))
    exact = Context(prec=80)
    values = [None if each is None else Decimal(each).scaleb(-scale, exact) for each in numbers]
    parts = split(numbers, groups)
    asked = {
        "mean": lambda part: half_up(Fraction(sum(part), len(part))),
        "median": lambda part: half_up(Fraction(statistics.median([Fraction(each) for each in part]))),
    }
    for how, expected in asked.items():
        found = aggregates(values, groups, how, pa.decimal128(precision, scale), keep_type=True)
        assert [None if each is None else Fraction(each) / unit for each in found] == [
            expected(part) if part else None for part in parts
        ]


@sometimes
@given(grouped(st.floats(0, 1e6)))
def test_geometric_means(drawn):
    values, groups = drawn
    found = aggregates(values, groups, "geometric mean", pa.float64())
    for part, mean in zip(split(values, groups), found, strict=True):
        expected = math.exp(statistics.fmean(math.log(v + 1) for v in part)) - 1 if part else None
        assert mean == (None if expected is None else pytest.approx(expected, rel=1e-6, abs=1e-6))


@sometimes
@given(grouped(letters))
def test_modes_and_sets(drawn):
    values, groups = drawn
    parts = split(values, groups)
    modes = [
        min(part, key=lambda value, part=part: (-Counter(part)[value], value)) if part else None
        for part in parts
    ]
    sets = ["{" + ", ".join(sorted(set(part))) + "}" if part else None for part in parts]
    assert aggregates(values, groups, "mode", pa.string()) == modes
    assert aggregates(values, groups, "centroid", pa.string()) == modes
    assert aggregates(values, groups, "set", pa.string()) == sets


@sometimes
@given(grouped(st.integers(-9, 9)))
def test_intervals(drawn):
    values, groups = drawn
    expected = [f"[{min(part)}, {max(part)}]" if part else None for part in split(values, groups)]
    assert aggregates(values, groups, "interval", pa.int64()) == expected


def test_a_mean_stays_within_its_group_whatever_rounding_does():
    assert sum([0.1] * 3) / 3 != 0.1
    assert aggregates([0.1, 0.1, 0.1], [0, 0, 0], "mean") == [0.1]


def test_types():
    groups = [0, 0, 1]
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 4), dt.date(1960, 5, 5)]
    assert aggregates(days, groups, "mean") == [dt.date(2020, 1, 3), dt.date(1960, 5, 5)]
    assert aggregates(days, groups, "interval") == ["[2020-01-01, 2020-01-04]", "[1960-05-05, 1960-05-05]"]
    moments = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 4), dt.datetime(1960, 5, 5)]
    assert aggregates(moments, groups, "median") == [dt.datetime(2020, 1, 2, 12), dt.datetime(1960, 5, 5)]
    prices = [Decimal("1.25"), Decimal("2.26"), Decimal("3.00")]
    assert aggregates(prices, groups, "mean") == [pytest.approx(1.755), 3.0]
    assert aggregates(prices, groups, "mean", keep_type=True) == [Decimal("1.76"), Decimal("3.00")]
    assert aggregates([2**64 - 1, 2**64 - 1, 4], groups, "mode", pa.uint64()) == [2**64 - 1, 4]
    assert aggregates([1, 2, 4], groups, "mean", pa.uint64(), keep_type=True) == [2, 4]
    assert aggregates([True, True, None], groups, "median") == [True, None]


def test_ordered_categories_have_medians_and_intervals_and_stay_categories():
    sizes = pa.DictionaryArray.from_arrays(
        pa.array([1, 0, 2, 2, None]), ["small", "medium", "large"], ordered=True
    )
    groups = np.array([0, 0, 1, 1, 1])
    chunked = pa.chunked_array([sizes])
    assert aggregate_groups(chunked, groups, "interval", "x").to_pylist() == [
        "[small, medium]",
        "[large, large]",
    ]
    median = aggregate_groups(chunked, groups, "median", "x")
    assert median.to_pylist() == [None, "large"]
    assert median.type == sizes.type
    assert aggregate_groups(chunked, groups, "mode", "x").to_pylist() == ["small", "large"]


@pytest.mark.parametrize(
    ("how", "values", "message"),
    [
        ("mean", ["a"], "'x' holds values of type string, which have no mean. Choose the mode or the set"),
        ("median", ["a"], "which have no order"),
        ("interval", ["a"], "Make it an ordered category"),
        (
            "geometric mean",
            [dt.date(2020, 1, 1)],
            "which have no geometric mean. Choose the mean or the median",
        ),
        ("geometric mean", [2, -1], "'x' holds -1 in row 2, and the geometric mean needs values above -1"),
    ],
)
def test_what_has_no_such_aggregate(how, values, message):
    with pytest.raises(InputError, match=message):
        aggregates(values, [0] * len(values), how)


@pytest.mark.parametrize("how", ["mean", "median", "geometric mean"])
def test_infinite_numbers_have_no_middle(how) -> None:
    column = pa.chunked_array([[1.0, float("inf"), 3.0]])
    with refused(InputError, "'pay'", "infinite", f"no {how}"):
        aggregate_groups(column, np.zeros(3, np.int64), how, "pay")
    assert aggregate_groups(column, np.zeros(3, np.int64), "set", "pay").to_pylist() == ["{1, 3, inf}"]
