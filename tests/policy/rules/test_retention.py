"""How long data are kept, and which have to be deleted."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.policies import datum, policy
from veil.errors import PlanError
from veil.policy.documents.elements import Retention
from veil.policy.rules.retention import DueData, due, due_day, duration

DATA = (datum("Name", "EI"), datum("age", "QID", ("25", "20-30", "*"), 1, 2), datum("ill", "SD"))


def test_what_is_due_is_listed() -> None:
    policies = {
        "Ada": policy("Ada", DATA, retention=Retention("fixedDate", "2026-12-31")),
        "Bob": policy("Bob", DATA, retention=Retention("afterPurpose", "P2Y")),
        "Eve": policy("Eve", DATA),
        "Tom": policy("Tom", DATA),
    }
    on = date(2026, 12, 31)
    assert due(policies, on - timedelta(days=1)) == []
    assert due(policies, on) == [DueData("Ada", "research", on, "retention over")]
    found = due(policies, on, ended={"research": date(2024, 12, 31)}, withdrawn={"Tom": date(2026, 6, 1)})
    assert [(each.policy, each.reason) for each in found] == [
        ("Ada", "retention over"), ("Bob", "retention over"), ("Tom", "consent withdrawn"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["P", "PT", "2Y", "P1.5Y", "P2Y3", "P-1D", "P9999999Y", "P1S"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(PlanError):
        duration(text)


@given(st.dates(date(1990, 1, 1), date(2090, 1, 1)), st.integers(0, 60), st.integers(0, 400))
def test_durations_agree_with_a_walk_by_months(start: date, months: int, days: int) -> None:
    year, month = start.year, start.month
    for _ in range(months):
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    last = (date(year + (month == 12), month % 12 + 1, 1) - timedelta(days=1)).day
    expected = date(year, month, min(start.day, last)) + timedelta(days=days)
    assert due_day(Retention("afterPurpose", f"P{months}M{days}D"), start) == expected
