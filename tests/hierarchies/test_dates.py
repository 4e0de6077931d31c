from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError, ParameterError
from veil.hierarchies._dates import week_of, week_of_month

DAYS = st.dates(date(1900, 1, 1), date(2100, 12, 31))


def us_week_by_walking(day: date) -> tuple[int, int]:
    """Count Sundays from the week of 1 January on; that of the next 1 January belongs to the next year."""
    year = day.year
    sunday = day - timedelta(days=day.isoweekday() % 7)
    if sunday + timedelta(days=6) >= date(year + 1, 1, 1):
        return year + 1, 1
    at = date(year, 1, 1)
    at -= timedelta(days=at.isoweekday() % 7)
    week = 1
    while at + timedelta(days=7) <= day:
        at += timedelta(days=7)
        week += 1
    return year, week


@given(DAYS)
def test_weeks_of_the_year(day):
    assert week_of(day, "us") == us_week_by_walking(day)
    assert week_of(day, "iso") == day.isocalendar()[:2]


@given(DAYS)
def test_weeks_of_the_month(day):
    """Walk through the month: the number grows on each first day of a week."""
    for rule, first_weekday, least in (("us", 7, 1), ("iso", 1, 4)):
        at = day.replace(day=1)
        days_in_first = next(n for n in range(1, 8) if (at + timedelta(days=n)).isoweekday() == first_weekday)
        week = 1 if days_in_first >= least else 0
        while at < day:
            at += timedelta(days=1)
            week += at.isoweekday() == first_weekday
        assert week_of_month(day, rule) == week


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("second", "2019-12-31T23:05:59"),
        ("minute", "2019-12-31T23:05"),
        ("hour", "2019-12-31T23"),
        ("day", "2019-12-31"),
        ("week_of_month", "2019-12 week 5"),
        ("week_of_year", "2020-W01"),
        ("month", "2019-12"),
        ("quarter", "2019-Q4"),
        ("weekday", "2"),
        ("week", "1"),
        ("quarter_of_year", "Q4"),
        ("year", "2019"),
        ("decade", "[2010, 2020["),
    ],
)
def test_default_labels(build, unit, expected):
    assert build(h.dates(unit), [datetime(2019, 12, 31, 23, 5, 59)]).labels[1] == (expected,)


def test_arx_names_the_two_ends_of_a_year_alike(build):
    """ARX prints the calendar year beside the number of the week; the default style does not follow it."""
    ends = [date(2019, 1, 1), date(2019, 12, 31)]
    assert build(h.dates("week_of_year", style="arx", weeks="us"), ends).labels[1] == ("01/2019",)
    assert build(h.dates("week_of_year", weeks="us"), ends).labels[1] == ("2019-W01", "2020-W01")


def test_no_root_unless_asked(build):
    days = [date(2019, 5, 5), date(2020, 5, 5), None]
    assert build(h.dates("year"), days).to_rows()[-1] == (None, None)
    assert build(h.dates("year", root=True), days).to_rows()[-1] == (None, None, "*")


def test_coding(build):
    days = [date(1899, 12, 31), date(1900, 1, 1), date(2000, 1, 14), date(2000, 1, 15)]
    made = build(h.dates("month", "year", bottom=date(1900, 1, 1), top=date(2000, 1, 15)), days)
    assert [row[1:] for row in made.to_rows()] == [
        ("<1900-01-01", "<1900-01-01"),
        ("1900-01", "1900"),
        ("2000-01", "2000"),
        (">=2000-01-15", ">=2000-01-15"),
    ]


def test_moments_before_1970_fall_into_the_right_second(build):
    ticks = pa.array([-1], pa.int64()).cast(pa.timestamp("ns")).to_pylist()
    made = build(h.dates("second"), ticks, type=pa.timestamp("ns"))
    assert made.labels[1] == ("1969-12-31T23:59:59",)


def test_zones_and_text(build):
    late = datetime(2020, 1, 1, 4, tzinfo=UTC)
    assert build(h.dates("year"), [late], type=pa.timestamp("s", "America/New_York")).labels[1] == ("2019",)
    assert build(h.dates("year"), ["2019-05-05"]).labels[1] == ("2019",)
    assert build(h.dates("month", format="%d.%m.%Y"), ["05.06.2019"]).to_rows() == [("05.06.2019", "2019-06")]
    with refused(HierarchyError, "'05.06.2019'", "'x'", "not a date", 'format="%d.%m.%Y"'):
        build(h.dates("month"), ["05.06.2019"])
    with refused(HierarchyError, 'format="%d/%m/%Y"', 'format="%m/%d/%Y"'):
        build(h.dates("month"), ["05/06/2019"])
    with refused(HierarchyError, "(%d.%m.%Y)", "in the data"):
        build(h.dates("month", format="%d.%m.%Y"), ["some day"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: h.dates(), "units"),
        (lambda: h.dates("fortnight"), "not 'fortnight'"),
        (lambda: h.dates("year", "month"), "month cannot follow year"),
        (lambda: h.dates("week_of_year", "month"), "month cannot follow week_of_year.*Choose from: week"),
        (lambda: h.dates("weekday", "year"), "year cannot follow weekday"),
        (
            lambda: h.dates("year", bottom=date(2020, 1, 2), top=date(2020, 1, 1)),
            "`bottom` of Dates should be before",
        ),
        (lambda: h.dates("year", bottom=5), "date or a time, not 5"),
    ],
)
def test_declarations_that_cannot_work(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0, 2932897], pa.date32()),
        pa.array([0, -800000], pa.date32()),
        pa.array([0, 253402300800], pa.timestamp("s")),
        pa.array([*range(5000), -62135700000], pa.timestamp("s", "Europe/Berlin")),
    ],
)
def test_years_that_the_calendar_lacks_are_refused(values: pa.Array) -> None:
    with refused(HierarchyError, "'born'", "1 to 9999"):
        h.dates("month", "year").build(values, np.ones(len(values)), "born")


@given(st.dates())
def test_weeks_of_the_usa_by_counting(day: date) -> None:
    """The week with 1 January is the first, also at the end of the calendar."""
    if day.month == 12 and any(
        day.toordinal() + ahead > date(day.year, 12, 31).toordinal()
        for ahead in range(7 - day.isoweekday() % 7)
    ):
        assert week_of(day, "us") == (day.year + 1, 1)
        return
    sundays = sum(
        date(day.year, 1, 1).toordinal() + number <= day.toordinal()
        and date.fromordinal(date(day.year, 1, 1).toordinal() + number).isoweekday() == 7
        for number in range(1, 366)
    )
    assert week_of(day, "us") == (day.year, sundays + 1)
