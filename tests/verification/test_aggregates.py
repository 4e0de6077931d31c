"""Aggregates as the verifier computes them again: the right one of each kind is taken, and the nearest wrong one is found."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from veil import KAnonymity, Plan
from veil.published.table import Published
from veil.tables.rows import Owners, Rows
from veil.verification.aggregates import verify_aggregates


def wrong(how: str, before: Any, shown: Any, classes: str = "xxxx", hidden: tuple[int, ...] = ()) -> str:
    """What is found where a class of such cells shows such a value."""
    labels = pa.table({"G": list(classes)})
    gone = np.isin(np.arange(len(classes)), hidden)
    published = Published(
        Rows.of(labels.append_column("A", pa.array(shown) if isinstance(shown, list) else shown)), ["G"]
    )
    plan = Plan({"G": "identity"}, KAnonymity(1), microaggregated={"A": how})
    (found,) = verify_aggregates(pa.table({"A": before}), labels, published, plan, gone)
    assert found.holds == (found.measured == "every class")
    return found.measured


def day(number: int) -> dt.date:
    return dt.date(2020, 1, number)


RIGHT: list[tuple[str, Any, Any]] = [
    ("mean", [1, 1, 4, 6], 3.0),
    ("mean", [1, 1, None, 7], 3.0),
    ("mean", [-1, -1, -4, -6], -3.0),
    ("mean", [1, 2, 2, 2], 2),  # an integer: rounded
    ("mean", [Decimal("1.00"), Decimal("1.00"), Decimal("1.00"), Decimal("1.02")], Decimal("1.00")),
    ("mean", [day(1), day(1), day(2), day(4)], day(2)),
    ("geometric mean", [0.0, 3.0, 3.0, 0.0], 1.0),
    ("geometric mean", [0, 0, 0, 15], 1.0),
    ("median", [1, 1, 3, 100], 2.0),
    ("median", [1, 3, None, 100], 3.0),
    ("median", ["a", "a", "b", "b"], None),
    ("median", ["a", "a", "a", "b"], "a"),
    ("mode", ["a", "b", "b", "c"], "b"),
    ("mode", [1, 1, 2, 2], 1),
    ("mode", [1, 1, 2, 2], 2),
    ("interval", [3, 1, 2, 9], "[1, 9]"),
    ("interval", ["low", "high", "low", "mid"], "[low, high]"),
    ("set", [3, 1, 2, 1], "{1, 2, 3}"),
    ("set", ["b", "a", "b", None], "{a, b}"),
]
WRONG: list[tuple[str, Any, Any]] = [
    ("mean", [1, 1, 4, 6], 2.99999),
    ("mean", [1, 1, 4, 6], 6.0),
    ("mean", [1, 1, 4, 6], None),
    ("mean", [1, 2, 2, 2], 1),
    ("mean", [1, 1, 1, 1], 2),
    ("mean", [Decimal("1.00"), Decimal("1.00"), Decimal("1.00"), Decimal("1.02")], Decimal("1.02")),
    ("mean", [day(2), day(2), day(2), day(4)], day(1)),
    ("mean", [day(2), day(2), day(2), day(4)], day(5)),
    ("mean", [day(2), day(2), day(2), day(4)], None),
    ("geometric mean", [0.0, 3.0, 3.0, 0.0], 1.5),
    ("geometric mean", [0.0, 3.0, 3.0, 0.0], None),
    ("median", [1, 1, 3, 100], 26.25),
    ("median", [1, 1, 3, 100], 1.0),
    ("median", [1, 1, 3, 100], None),
    ("median", [day(2), day(2), day(3), day(4)], day(5)),
    ("mode", ["a", "b", "b", "c"], "a"),
    ("mode", ["a", "b", "b", "c"], "d"),
    ("mode", ["a", "b", "b", "c"], None),
    ("interval", [3, 1, 2, 9], "[2, 9]"),
    ("interval", [3, 1, 2, 9], "[1, 3]"),
    ("interval", ["low", "high", "low", "mid"], "[low, none]"),
    ("set", [3, 1, 2, 1], "{3, 1, 2}"),
    ("set", [3, 1, 2, 1], "{1, 2}"),
    ("set", [3, 1, 2, 1], "{1, 2, 3, 4}"),
]


@pytest.mark.parametrize(("how", "before", "shown"), RIGHT)
def test_the_right_aggregate_is_taken(how: str, before: Any, shown: Any) -> None:
    assert wrong(how, before, [shown] * 4) == "every class"


@pytest.mark.parametrize(("how", "before", "shown"), WRONG)
def test_a_wrong_aggregate_is_found(how: str, before: Any, shown: Any) -> None:
    assert wrong(how, before, [shown] * 4) == "1 class differs"


@pytest.mark.parametrize("how", ["mean", "geometric mean", "median", "mode", "interval", "set"])
def test_of_one_person_alone_nothing_is_shown(how: str) -> None:
    shown = "{5}" if how == "set" else "[5, 5]" if how == "interval" else 5.0
    assert wrong(how, [5.0, None, None, None], [shown] * 4) == "1 class differs"
    assert wrong(how, [5.0, None, None, None], [None] * 4) == "every class"
    assert wrong(how, [5.0, 5.0, None, None], [shown] * 4) == "every class"


def test_a_class_shows_one_value_and_classes_are_counted() -> None:
    assert wrong("mean", [1, 3, 5, 7], [2.0, 2.0, 6.0, 6.0], "xxyy") == "every class"
    assert wrong("mean", [1, 3, 5, 7], [1.0, 3.0, 6.0, 6.0], "xxyy") == "1 class differs"
    assert wrong("mean", [1, 3, 5, 7], [1.0, 3.0, 5.0, 7.0], "xxyy") == "2 classes differ"
    assert wrong("mean", [1, 3, 5, 7], [4.0, 4.0, 4.0, 4.0], "xxyy") == "2 classes differ"


def test_suppressed_records_are_none_of_a_class() -> None:
    assert wrong("mean", [1, 3, 9, 9], [2.0, 2.0, None, None], hidden=(2, 3)) == "every class"
    assert wrong("mean", [1, 3, 9, 9], [5.5, 5.5, None, None], hidden=(2, 3)) == "1 class differs"


def test_short_floats_may_be_off_by_their_last_digit_and_no_more() -> None:
    third = np.float32(1 / 3)
    before = pa.array([0, 0, 1], pa.float32())
    labels = "xxx"
    assert wrong("mean", before, pa.array([third] * 3, pa.float32()), labels) == "every class"
    off = np.float32(third + 3 * np.spacing(third))
    assert wrong("mean", before, pa.array([off] * 3, pa.float32()), labels) == "1 class differs"


def test_the_hour_in_which_clocks_go_back_is_two_hours() -> None:
    zone = pa.timestamp("s", "Europe/Berlin")
    before = pa.array([1603584000, 1603587600, 1603587600, 1603587600], zone)  # 02:00, and 02:00 again
    assert wrong("mode", before, pa.array([1603587600] * 4, zone)) == "every class"
    assert wrong("mode", before, pa.array([1603584000] * 4, zone)) == "1 class differs"


def test_values_of_one_person_are_no_group() -> None:
    """Ann has two rows in the class, and nobody else a value: an aggregate would be a statement about ann."""
    labels = pa.table({"G": ["x", "x", "x"]})
    plan = Plan({"G": "identity"}, KAnonymity(1), microaggregated={"A": "mean"})
    before, blank = pa.table({"A": [100, 300, None]}), np.zeros(3, np.bool_)
    for codes, shown, holds in [([0, 0, 1], 200, False), ([0, 0, 1], None, True), ([0, 1, 2], 200, True)]:
        table = labels.append_column("A", pa.array([shown] * 3, pa.int64()))
        owners = Owners.coded(np.array(codes, np.int32))
        published = Published(Rows.of(table, owners=owners), ["G"])
        (finding,) = verify_aggregates(before, labels, published, plan, blank)
        assert finding.holds == holds
