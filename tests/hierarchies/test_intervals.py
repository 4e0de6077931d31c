from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError, ParameterError
from veil.hierarchies import Bounds, Group, LabelFunction


def column(hierarchy, level):
    return {row[0]: row[level] for row in hierarchy.to_rows()}


# ------------------------------------------------------------------------ widths


def test_widths(build):
    made = build(h.intervals(5, 10, 20), [0, 4, 5, 19, 20, -1])
    assert made.to_rows() == [
        ("-1", "[-5, 0[", "[-10, 0[", "[-20, 0[", "*"),
        ("0", "[0, 5[", "[0, 10[", "[0, 20[", "*"),
        ("4", "[0, 5[", "[0, 10[", "[0, 20[", "*"),
        ("5", "[5, 10[", "[0, 10[", "[0, 20[", "*"),
        ("19", "[15, 20[", "[10, 20[", "[0, 20[", "*"),
        ("20", "[20, 25[", "[20, 30[", "[20, 40[", "*"),
    ]
    assert made.level_names == ("x", "width 5", "width 10", "width 20", "all")


def test_the_number_of_levels_does_not_depend_on_the_data(build):
    assert build(h.intervals(5, 10), [1]).height == build(h.intervals(5, 10), list(range(99))).height == 3


def test_bottom_and_top_coding(build):
    made = build(h.intervals(5, 10, bottom=18, top=90), [17, 18, 20, 89, 90, 104])
    assert column(made, 1) == {
        "17": "<18", "18": "[18, 20[", "20": "[20, 25[", "89": "[85, 90[", "90": ">=90", "104": ">=90",
    }  # fmt: skip
    assert column(made, 2)["18"] == "[18, 20["


def test_steps_of_a_tenth_place_every_value(build):
    """0.3, 0.6 and 0.7 are the classic victims of computing with doubles."""
    values = [tenth / 10 for tenth in range(100)]
    made = build(h.intervals(0.1, 0.2), values)
    assert len(made.labels[1]) == 100
    assert column(made, 1)["0.3"] == "[0.3, 0.4["
    assert column(made, 2)["0.7"] == "[0.6, 0.8["


def test_float32_values_are_read_as_they_are_written(build):
    made = build(h.intervals(0.1), [0.1, 0.3, 0.7], type=pa.float32())
    assert made.labels[1] == ("[0.1, 0.2[", "[0.3, 0.4[", "[0.7, 0.8[")


def test_decimals_large_and_small(build):
    made = build(h.intervals(Decimal("0.05")), [Decimal("1.10"), Decimal("-0.01")], type=pa.decimal128(6, 2))
    assert made.to_rows() == [("-0.01", "[-0.05, 0[", "*"), ("1.10", "[1.1, 1.15[", "*")]
    huge = 2**63 - 1
    assert build(h.intervals(10), [huge, -huge]).labels[1] == (
        "[-9223372036854775810, -9223372036854775800[",
        "[9223372036854775800, 9223372036854775810[",
    )
    assert build(h.intervals(10**30), [7]).labels[1] == (f"[0, {10**30}[",)
    assert build(h.intervals(1), [1e-300, 1e300]).labels[1][0] == "[0, 1["
    assert build(h.intervals(1), [2**64 - 1], type=pa.uint64()).labels[1] == (f"[{2**64 - 1}, {2**64}[",)


def test_numbers_written_as_text(build):
    made = build(h.intervals(5), ["7", "12.5", None])
    assert made.to_rows() == [("7", "[5, 10[", "*"), ("12.5", "[10, 15[", "*"), (None, None, "*")]


def test_weeks_begin_on_monday(build):
    made = build(h.intervals(7, 14), [date(2024, 5, 5), date(2024, 5, 6)])
    assert made.labels[1] == ("[2024-04-29, 2024-05-06[", "[2024-05-06, 2024-05-13[")


def test_times(build):
    moments = [datetime(2024, 5, 5, 11, 59, 59, 999999), datetime(2024, 5, 5, 12)]
    for kind in ("ms", "us", "ns"):
        made = build(h.intervals(timedelta(hours=6), 1), moments, type=pa.timestamp(kind))
        assert made.labels[1] == (
            "[2024-05-05T06:00:00, 2024-05-05T12:00:00[",
            "[2024-05-05T12:00:00, 2024-05-05T18:00:00[",
        )
        assert made.labels[2] == ("[2024-05-05, 2024-05-06[",)


def test_times_with_a_zone_are_cut_by_the_clock_on_the_wall(build):
    noon = datetime(2024, 5, 5, 22, 30, tzinfo=UTC)
    made = build(h.intervals(1), [noon], type=pa.timestamp("us", "Europe/Vienna"))
    assert made.labels[1] == ("[2024-05-06, 2024-05-07[",)


def test_hours_that_clocks_show_twice_or_never_are_those_on_the_wall(build):
    times = [datetime(2024, 10, 27, hour, 30, tzinfo=UTC) for hour in (0, 1)]
    times += [datetime(2024, 3, 31, hour, 30, tzinfo=UTC) for hour in (0, 1)]
    for builder in (h.intervals(timedelta(hours=1)), h.dates("hour")):
        made = build(builder, times, type=pa.timestamp("us", "Europe/Vienna"))
        assert [row[1].strip("[")[:13] for row in made.to_rows()] == [
            "2024-03-31T01", "2024-03-31T03", "2024-10-27T02", "2024-10-27T02",
        ]  # fmt: skip


@pytest.mark.parametrize("bound", [datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01T00:00Z"])
def test_a_bound_with_an_offset_is_refused(bound):
    """A label would say one instant, and values would be cut at another."""
    for make in (
        lambda: h.intervals(1, top=bound),
        lambda: h.intervals(listed=[(bound, date(2025, 1, 1))]),
        lambda: h.dates("day", bottom=bound),
    ):
        with refused(ParameterError, "+00:00", "offset", "2024-01-01T00:00:00"):
            make()


def test_dates_written_as_text(build):
    made = build(h.intervals(1, top=date(2024, 1, 2)), ["2024-01-01", "2024-01-05"])
    assert made.labels[1] == ("[2024-01-01, 2024-01-02[", ">=2024-01-02")


# ------------------------------------------------------------------------ listed intervals


def test_listed_intervals_with_labels_and_groups(build):
    made = build(
        h.intervals(
            listed=[(0, 18, "minor"), (18, 40, "young"), (40, 65, "middle"), (65, 120, "old")],
            groups=[[Group(1), Group(3, "adult")]],
        ),
        [3, 20, 50, 70],
    )
    assert made.to_rows() == [
        ("3", "minor", "[0, 18[", "*"),
        ("20", "young", "adult", "*"),
        ("50", "middle", "adult", "*"),
        ("70", "old", "adult", "*"),
    ]


def test_groups_are_cycled_and_the_last_one_may_be_short(build):
    listed = [(start, start + 10) for start in range(0, 50, 10)]
    made = build(h.intervals(listed=listed, groups=[2]), list(range(5, 50, 10)))
    assert made.labels[2] == ("[0, 20[", "[20, 40[", "[40, 50[")


def test_snaps_that_overlap_merge(build):
    made = build(h.intervals(listed=[(0, 10)], lower=Bounds(2, 1, 0), upper=Bounds(9, 12, 12)), [1, 5, 11, 0])
    assert column(made, 1) == {"0": "<1", "1": "[1, 12[", "5": "[1, 12[", "11": "[1, 12["}


def test_levels_end_with_a_single_interval_but_a_missing_value_needs_a_root(build):
    builder = h.intervals(listed=[(0, 10), (10, 20)], groups=[2, 2])
    assert build(builder, [1, 11]).labels[-1] == ("[0, 20[",)
    assert build(builder, [1, 11]).height == 2
    assert build(builder, [1, 2]).height == 1
    with_missing = build(builder, [1, 11, None])
    assert with_missing.to_rows()[-1] == (None, None, None, None, "*")


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("interval", "[10, 20["),
        (LabelFunction("interval", open="none"), "[10, 20]"),
        (LabelFunction("interval", open="lower"), "]10, 20]"),
        (LabelFunction("interval", open="both"), "]10, 20["),
        ("bounds", "[10, 20]"),
        ("set", "{10, 20}"),
        ("mean", "15"),
        ("geometric_mean", "14"),
        ("prefixes", "1-2"),
        (LabelFunction("constant", text="some"), "some"),
    ],
)
def test_label_functions_see_the_limits(build, label, expected):
    assert build(h.intervals(10, label=label), [12]).labels[1] == (expected,)


def test_equal_labels_stay_apart(build):
    made = build(h.intervals(listed=[(0, 10, "x"), (10, 20, "x"), (20, 30, "x-1")]), [1, 11, 21])
    assert made.labels[1] == ("x", "x-1", "x-1-1")
    made = build(h.intervals(listed=[(0, 10, "x-1"), (10, 20, "x"), (20, 30, "x")]), [1, 11, 21])
    assert made.labels[1] == ("x-1", "x", "x-2")


# ------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: h.intervals(), "either `widths` or `listed`"),
        (lambda: h.intervals(5, listed=[(0, 5)]), "either `widths` or `listed`"),
        (lambda: h.intervals(5, 12), "multiples of the one before, not 5, 12"),
        (lambda: h.intervals(10, 5), "multiples of the one before, not 10, 5"),
        (lambda: h.intervals(5, 5), "multiples of the one before, not 5, 5"),
        (lambda: h.intervals(0), "greater than 0, not 0"),
        (lambda: h.intervals(float("inf")), "finite"),
        (lambda: h.intervals("wide"), "number or a duration, not 'wide'"),
        (lambda: h.intervals(True), "number or a duration, not True"),
        (lambda: h.intervals(5, groups=[2]), "go with `listed`"),
        (lambda: h.intervals(listed=[(5, 3)]), "less than `upper`, not 5 and 3"),
        (lambda: h.intervals(listed=[(0, 5), (6, 9)]), "no gaps, but 6 follows 5"),
        (lambda: h.intervals(5, lower=Bounds(5, 6, 7)), "should be ordered"),
        (lambda: h.intervals(5, lower=Bounds(5), upper=Bounds(5)), "should be ordered"),
        (lambda: h.intervals(listed=[(0, 5)], upper=Bounds(5, 4, 3)), "should be ordered"),
        (lambda: h.intervals(listed=[(0, 5)], groups=[0]), "greater than or equal to 1, not 0"),
        (lambda: h.intervals(5, shares="range"), "give both sides a limit"),
        (
            lambda: h.intervals(0.1, lower=Bounds(limit=0), upper=Bounds(limit=1), shares="range"),
            "range longer than 1: from limit to limit it measures 1",
        ),
    ],
)
def test_declarations_that_cannot_work(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_bottom_and_lower_at_once():
    with refused(HierarchyError, "`bottom`", "`lower`", "either"):
        h.intervals(5, bottom=3, lower=Bounds(3))


@pytest.mark.parametrize(
    ("builder", "values", "message"),
    [
        (h.intervals(5), ["1", "n/a"], "'n/a' of column 'x' is not a number"),
        (h.intervals(5), ["2024-01-01", "soon"], "'soon' of column 'x' is not a date"),
        (h.intervals(5), [1.0, float("nan")], "'nan' of column 'x' is not finite"),
        (h.intervals(5), [True], "holds true and false"),
        (h.intervals(5, top=9), [date(2024, 1, 1)], "bound 9 .* should be a date"),
        (h.intervals(5, top=date(2024, 1, 1)), [9], "bound 2024-01-01 .* should be a number"),
        (h.intervals(timedelta(1)), [9], "width 1 day, 0:00:00 .* should be a number"),
        (h.intervals(listed=[(0, 9)]), [8, 9, -1], r"2 values .* outside the range \[0, 9\[ .* '-1', '9'"),
        (
            h.intervals(5, upper=Bounds(limit=9)),
            [8, 9],
            r"outside the range \[…, 9\[ .* '9'\. Move the limits",
        ),
        (
            h.intervals(listed=[(0, 20), (20, 33)], upper=Bounds(199), groups=[3]),
            [33, 100, 110],
            r"level 2 .* split the interval '\[99, 119\[' of level 1",
        ),
        (h.intervals(5), [], "column 'x' has no values"),
    ],
)
def test_values_that_do_not_fit(build, builder, values, message):
    with pytest.raises(HierarchyError, match=message):
        build(builder, values)


# ------------------------------------------------------------------------ against the obvious twin


def containing(listed, x):
    """Shift the listed intervals by whole periods until one of them contains x."""
    period = listed[-1][1] - listed[0][0]
    shift = 0
    while x < listed[0][0] + shift:
        shift -= period
    while x >= listed[-1][1] + shift:
        shift += period
    return next((low + shift, high + shift) for low, high in listed if low + shift <= x < high + shift)


def grouped(listed, sizes):
    period = listed[-1][1] - listed[0][0]
    if sum(sizes) >= len(listed):
        endless = [(low + turn * period, high + turn * period) for turn in range(20) for low, high in listed]
        rounds = sizes
    else:
        endless, rounds = list(listed), sizes * len(listed)
    made = []
    for size in rounds:
        taken, endless = endless[:size], endless[size:]
        if taken:
            made.append((taken[0][0], taken[-1][1]))
    return made


def label_of(x, listed, lower, upper, show):
    """One value, one level, straight from the definition; None if the value is out of range."""
    (low_snap, low_coding, low_limit), (high_snap, high_coding, high_limit) = lower, upper
    if x < low_limit or x >= high_limit:
        return None
    if x < low_coding:
        return f"<{show(low_coding)}"
    if x >= high_coding:
        return f">={show(high_coding)}"
    first = (low_coding, containing(listed, low_snap)[1])
    around = containing(listed, high_snap)
    last = (around[0] if around[0] < high_snap else containing(listed, high_snap - 1)[0], high_coding)
    if first[1] > last[0]:
        first = last = (low_coding, high_coding)
    found = containing(listed, x)
    if found[0] < first[1]:
        found = first
    elif found[1] > last[0]:
        found = last
    return f"[{show(found[0])}, {show(found[1])}["


def twin(values, listed, groups, lower, upper, show):
    rows = [[show(x)] for x in sorted(values)]
    levels = iter(groups)
    while True:
        for row, x in zip(rows, sorted(values), strict=True):
            label = label_of(x, listed, lower, upper, show)
            if label is None:
                return None
            row.append(label)
        if len({row[-1] for row in rows}) == 1:
            return rows
        sizes = next(levels, None)
        if sizes is None:
            return [[*row, "*"] for row in rows]
        listed = grouped(listed, sizes)


def is_tree(rows):
    return all(
        len({row[level + 1] for row in rows if row[level] == label}) == 1
        for level in range(len(rows[0]) - 1)
        for label in {row[level] for row in rows}
    )


@st.composite
def interval_cases(draw):
    start = draw(st.integers(-30, 30))
    listed = []
    for width in draw(st.lists(st.integers(1, 15), min_size=1, max_size=4)):
        listed.append((start, start + width))
        start += width
    groups = draw(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), max_size=3))
    marks = sorted(draw(st.lists(st.integers(-80, 80), min_size=6, max_size=6)))
    if marks[2] == marks[3]:
        marks[3:] = [mark + 1 for mark in marks[3:]]
    beyond = draw(st.sampled_from([0, 0, 0, 1]))  # now and then a value out of range
    values = draw(st.sets(st.integers(marks[0] - beyond, marks[5] - 1 + beyond), min_size=1, max_size=25))
    return listed, groups, tuple(reversed(marks[:3])), tuple(marks[3:]), values


@settings(max_examples=400)
@given(interval_cases(), st.booleans())
def test_intervals_agree_with_the_twin(build, case, tenths):
    """Also in steps of a tenth, with data in doubles: the twin then counts tenths."""
    listed, groups, lower, upper, values = case

    def scaled(number):
        return Decimal(number) / 10 if tenths else number

    def show(number):
        return str(Decimal(number) / 10).removesuffix(".0") if tenths else str(number)

    builder = h.intervals(
        listed=[(scaled(low), scaled(high)) for low, high in listed],
        groups=groups,
        lower=Bounds(*map(scaled, lower)),
        upper=Bounds(*map(scaled, upper)),
    )
    data = [number / 10 if tenths else number for number in values]
    expected = twin(values, listed, groups, lower, upper, show)
    if expected is None or not is_tree(expected):
        with refused(HierarchyError, "outside the range" if expected is None else "split the interval"):
            build(builder, data)
        return
    made = build(builder, data)
    assert [list(row) for row in made.to_rows()] == expected


@given(
    st.sets(st.decimals(-1000, 1000, places=2), min_size=1, max_size=30),
    st.decimals("0.01", 50, places=2),
    st.lists(st.integers(2, 4), max_size=3),
)
def test_widths_agree_with_floor_division(build, values, first, ratios):
    widths = [first]
    for ratio in ratios:
        widths.append(widths[-1] * ratio)
    made = build(h.intervals(*widths), list(values), type=pa.decimal128(10, 2))
    for row in made.to_rows():
        x = Fraction(row[0])
        for width, label in zip(widths, row[1:], strict=False):
            low, high = (Fraction(part) for part in label.strip("[").split(", "))
            assert low <= x < high
            assert high - low == Fraction(width)
            assert (low / Fraction(width)).denominator == 1


@given(interval_cases())
def test_range_shares_add_up(build, case):
    """The pieces of a level that values fall into never cover more than the whole range."""
    listed, _, lower, upper, values = case
    builder = h.intervals(listed=listed, lower=Bounds(*lower), upper=Bounds(*upper), shares="rows")
    values = {x for x in values if lower[2] <= x < upper[2]}
    if not values or upper[2] - lower[2] <= 1:
        return
    counted = build(builder, values)
    ranged = build(
        h.intervals(listed=listed, lower=Bounds(*lower), upper=Bounds(*upper), shares="range"), values
    )
    assert ranged.labels == counted.labels
    assert ranged.domain_size == upper[2] - lower[2]
    for level in range(1, ranged.height + 1):
        assert 0 < ranged.shares[level].sum() <= 1 + 1e-12
