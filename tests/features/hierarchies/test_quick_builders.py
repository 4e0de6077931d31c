"""Many values are placed, labelled and looked up all at once, and come out as one by one."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil import hierarchies as h
from veil.errors import VeilError
from veil.hierarchies import _dates, hierarchy
from veil.tables.text import canonical_text

UNITS = ("second", "minute", "hour", "day", "week_of_year", "month", "quarter", "year", "decade", "weekday")


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False), st.floats(-1e9, 1e9)), max_size=20))
def test_numbers_are_spelled_as_python_does(values: list[float | None]) -> None:
    expected = [None if each is None else repr(each).removesuffix(".0") for each in values]
    assert canonical_text(pa.array(values, pa.float64())) == expected
    for each in values:  # alone, none keeps another from the quick way
        slow = None if each is None else repr(each).removesuffix(".0")
        assert canonical_text(pa.array([each], pa.float64())) == [slow]


@given(st.integers(-18, 18), st.integers(0, 10**17))
def test_digits_of_every_size_are_spelled_as_python_does(power: int, digits: int) -> None:
    value = math.ldexp(digits, 0) * 10.0**power
    assert canonical_text(pa.array([value])) == [repr(value).removesuffix(".0")]


@given(
    st.lists(st.one_of(st.none(), st.integers(-(10**14), 4 * 10**15)), max_size=20),
    st.sampled_from(["s", "ms", "us", "ns"]),
)
def test_moments_are_spelled_in_iso_8601(ticks: list[int | None], unit: str) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    limit = min(10**10 * per_second, 2**63)
    ticks = [None if each is None else each % limit for each in ticks]

    def spelled(tick: int) -> str:
        whole = (datetime(1970, 1, 1) + timedelta(seconds=tick // per_second)).isoformat()
        rest = str(tick % per_second).rjust(len(str(per_second)) - 1, "0") if per_second > 1 else ""
        while rest.endswith("000"):
            rest = rest[:-3]
        return f"{whole}.{rest}" if rest else whole

    found = canonical_text(pa.array(ticks, pa.timestamp(unit)))
    assert found == [None if each is None else spelled(each) for each in ticks]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns", "+05:30"])
@given(
    ticks=st.lists(
        st.none() | st.integers(-(10**15), 4 * 10**15) | st.integers(0, 10**9).map(lambda s: s * 10**6)
    )
)
def test_moments_of_a_zone_are_spelled_with_their_offset(zone: str, ticks: list[int | None]) -> None:
    values = pa.array(ticks, pa.timestamp("us", zone))
    found = canonical_text(values)
    for text, tick in zip(found, ticks, strict=True):
        assert (text is None) == (tick is None)
        if text is not None and tick is not None and tick > -(10**15) // 2:  # local mean time has seconds
            moment = datetime.fromisoformat(text)
            assert (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) == tick


@pytest.mark.parametrize("style", ["iso", "arx"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_moments_are_labelled_as_one_by_one(
    monkeypatch: pytest.MonkeyPatch, style: Any, zone: str | None
) -> None:
    draws = np.random.default_rng(3).choice(4 * 10**15, 3000, replace=False) - 10**15
    values = pa.array(draws).cast(pa.timestamp("us", zone))
    counts = np.ones(len(values), np.int64)
    for unit in UNITS:
        for ends in ({}, {"bottom": datetime(1980, 1, 1), "top": datetime(2020, 5, 3, 12)}):
            builder = h.dates(unit, style=style, root=True, **ends)
            monkeypatch.setattr(_dates, "_MANY", 1)
            quick = builder.build(values, counts, "when")
            monkeypatch.setattr(_dates, "_MANY", 10**9)
            assert quick == builder.build(values, counts, "when"), unit


def test_values_are_looked_up_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    values = pa.array([*map(str, range(50)), None])
    built = h.suppression().build(values, np.ones(51), "x")
    monkeypatch.setattr(hierarchy, "_MANY", 10**9)
    expected = built.encode(values, "x").tolist()
    monkeypatch.setattr(hierarchy, "_MANY", 1)
    assert built.encode(values, "x").tolist() == expected
    with pytest.raises(VeilError, match="'99'"):
        built.encode(pa.array(["1", "99"]), "x")
