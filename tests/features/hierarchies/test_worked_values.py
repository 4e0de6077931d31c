"""The worked values 1 to 7 of the behavioural reference on transformations (ARX 3.9.2), section 7."""

from __future__ import annotations

import math
from datetime import datetime

import numpy as np
import pytest

from veil import hierarchies as h
from veil.hierarchies import Bounds, Group, Hierarchy


def labels(hierarchy: Hierarchy, value: str | None) -> tuple[str | None, ...]:
    return next(row[1:] for row in hierarchy.to_rows() if row[0] == value)


@pytest.mark.parametrize(
    ("align", "start", "value", "expected"),
    [
        ("right", "right", "90", ("_9*", "_**", "***")),
        ("right", "left", "3", ("*_3", "**3", "***")),
        ("left", "left", "90", ("*0_", "**_", "***")),
    ],
)
def test_1_redaction(build, align, start, value, expected):
    made = build(h.redaction(align=align, start=start, padding="_"), [167, 90, 3])
    assert labels(made, value) == expected


def test_2_intervals_repeat_and_group(build):
    made = build(
        h.intervals(
            listed=[(0, 20), (20, 33)], lower=Bounds(0, 0, 0), upper=Bounds(99, 99, 99), groups=[2, 3]
        ),
        [33, 70],
    )
    assert labels(made, "33") == ("[33, 53[", "[33, 66[", "[0, 99[")
    assert labels(made, "70") == ("[66, 86[", "[66, 99[", "[0, 99[")


def test_3_intervals_snap_and_code(build):
    made = build(
        h.intervals(listed=[(0, 10)], lower=Bounds(5, 3, 0), upper=Bounds(45, 48, 60), groups=[2, 2]),
        [2, 5, 25, 44, 48, None],
    )
    assert labels(made, "2") == ("<3", "<3", "<3", "*")
    assert labels(made, "5") == ("[3, 10[", "[3, 20[", "[3, 40[", "*")
    assert labels(made, "25") == ("[20, 30[", "[20, 40[", "[3, 40[", "*")
    assert labels(made, "44") == ("[40, 48[", "[40, 48[", "[40, 48[", "*")
    assert labels(made, "48") == (">=48", ">=48", ">=48", "*")
    assert labels(made, None) == (None, None, None, "*")


def test_4_order(build):
    made = build(h.ordering(2, 2), ["a", "b", "c", "d", "e"])
    assert labels(made, "e") == ("{e}", "{e}", "*")
    assert labels(made, "a") == ("{a, b}", "{a, b, c, d}", "*")


def test_4_order_equal_labels_get_suffixes(build):
    made = build(h.ordering([Group(2, "x"), Group(1, "x")]), ["a", "b", "c", "d"])
    assert [row[1] for row in made.to_rows()] == ["x", "x", "x-1", "x-2"]


def test_5_priorities(build):
    made = build(h.priority(order="natural", first="highest", levels=3), [1, 2, 3, 4, 5])
    assert ["".join(row) for row in made.to_rows()] == ["555*", "444*", "33**", "22**", "1***"]


def test_5_priorities_given(build):
    by_value = h.priority(priorities={1: 1, 2: 2, 3: 3, 4: 4, 5: 5}, levels=3)
    by_order = h.priority(order="natural", levels=3)
    assert build(by_value, [3, 1, 2, 5, 4]) == build(by_order, [1, 2, 3, 4, 5])


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("second", "31.12.2019-23:05:59"),
        ("minute", "31.12.2019-23:05"),
        ("hour", "31.12.2019-23:00"),
        ("day", "31.12.2019"),
        ("week_of_month", "5/12.2019"),
        ("week_of_year", "01/2019"),
        ("month", "12/2019"),
        ("quarter", "Q4 2019"),
        ("weekday", "3"),
        ("week", "1"),
        ("quarter_of_year", "Q4"),
        ("year", "2019"),
        ("decade", "[2010, 2020["),
        ("century", "[2000, 2100["),
        ("millennium", "[2000, 3000["),
    ],
)
def test_6_dates(build, unit, expected):
    made = build(h.dates(unit, style="arx", weeks="us"), [datetime(2019, 12, 31, 23, 5, 59)])
    assert made.labels[1] == (expected,)


def loss_of_levels(hierarchy: Hierarchy) -> list[float]:
    """Loss of a table that has every domain value once, level by level, as the quality model defines it."""
    least = 1 / hierarchy.domain_size
    found = []
    for level in range(hierarchy.height + 1):
        covered = float(np.mean(hierarchy.shares[level][hierarchy.label_map(level)]))
        found.append(max(0.0, (covered - least) / (1 - least)))
    return found


def assert_loss(hierarchy: Hierarchy, expected: list[float]) -> None:
    """The reference truncates to ten digits."""
    found = loss_of_levels(hierarchy)
    assert len(found) == len(expected)
    assert all(math.isclose(one, other, abs_tol=2e-10) for one, other in zip(found, expected, strict=True)), (
        found
    )


LOSS_BY_RANGE = [0, 0.2307692307, 0.4871794871, 1]
LOSS_BY_ALPHABET = [0, 0.009009009, 0.099099099, 1]
LOSS_BY_ROWS = [0, 0.1666666666, 0.3333333333, 1]


def test_7_interval_shares(build):
    listed = h.intervals(
        listed=[(0, 10)], lower=Bounds(0, 0, 0), upper=Bounds(40, 40, 40), groups=[2], shares="range"
    )
    widths = h.intervals(10, 20, lower=Bounds(limit=0), upper=Bounds(limit=40), shares="range")
    for builder in (listed, widths):
        made = build(builder, [1, 5, 12, 18, 25])
        assert made.domain_size == 40
        assert_loss(made, LOSS_BY_RANGE)
        # Handed on as an object, it keeps the shares it was asked for.
        assert_loss(build(made, [1, 5, 12, 18, 25]), LOSS_BY_RANGE)


def test_7_interval_shares_of_coded_values_and_missing(build):
    made = build(
        h.intervals(10, lower=Bounds(coding=10, limit=0), upper=Bounds(coding=30, limit=50), shares="range"),
        [5, 12, 25, 44, None],
    )
    assert made.labels[1] == ("<10", "[10, 20[", "[20, 30[", ">=30", None)
    assert made.shares[1].tolist() == [0.2, 0.2, 0.2, 0.4, 0.02]
    assert made.shares[2].tolist() == [1.0]
    assert made.domain_size == 50


def test_7_interval_shares_of_dates_count_milliseconds(build):
    days = [datetime(2020, 1, 1), datetime(2020, 1, 9)]
    lower, upper = Bounds(limit=datetime(2020, 1, 1)), Bounds(limit=datetime(2020, 1, 11))
    made = build(h.intervals(5, lower=lower, upper=upper, shares="range"), days)
    assert made.domain_size == 10 * 86_400_000
    assert made.shares[0].tolist() == [1 / made.domain_size] * 2
    # Intervals of five days are aligned at 1 January of the year 1, so the range cuts the first and the last.
    assert sum(made.shares[1]) <= 1


def test_7_redaction_shares(build):
    values = ["111", "112", "221", "235"]
    assert_loss(build(h.redaction(alphabet=10), values), LOSS_BY_ALPHABET)
    assert_loss(build(build(h.redaction(alphabet=10), values), values), LOSS_BY_ALPHABET)
    assert_loss(build(h.redaction(domain=1000), values), LOSS_BY_ALPHABET)
    assert_loss(build(h.redaction(alphabet=10, length=3, domain=1000), values), LOSS_BY_ALPHABET)
    assert_loss(build(h.redaction(), values), LOSS_BY_ROWS)


def test_7_redaction_shares_measured_in_the_data(build):
    made = build(h.redaction(measured=True), ["111", "112", "221", "235"])
    alphabet, length, domain = 4, 3, 4  # the characters are 1, 2, 3 and 5
    least = alphabet**-length
    expected = [
        (alphabet ** (level - length) - least) / (1 - least) * (1 - 1 / domain) + 1 / domain
        for level in range(4)
    ]
    assert [float(shares[0]) for shares in made.shares] == pytest.approx(expected)
    assert made.domain_size == domain
