"""Many values are placed, labelled and looked up all at once, and come out as one by one."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from veil import hierarchies as h
from veil.errors import VeilError
from veil.hierarchies import _dates, hierarchy
from veil.hierarchies._axis import _any_numbers, _plain_numbers
from veil.hierarchies._common import by_key
from veil.hierarchies._places import _exactly, moments, places
from veil.tables.text import canonical_array, canonical_text

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


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=4), max_size=20))
def test_digits_are_read_as_one_by_one(values: list[Any]) -> None:
    for texts in ([str(each) for each in values], [format(each, "f") for each in values]):
        quick = _plain_numbers(texts)
        if texts and quick is not None:
            assert quick == _any_numbers(texts, "x")


@pytest.mark.parametrize("text", ["1e5", " 1", "1.", ".5", "1,5", "1" * 1001, "NaN", "1.5.5", "--1"])
def test_what_is_not_plain_is_left_to_the_slow_way(text: str) -> None:
    assert _plain_numbers(["1.5", text]) is None


def test_long_numbers_are_read_exactly() -> None:
    texts = ["1.5", "1" * 19, f"-{'9' * 400}.25"]
    assert _plain_numbers(texts) == _any_numbers(texts, "x")


@given(st.lists(st.tuples(st.integers(-(2**62), 2**62) | st.integers(0, 3), st.text(max_size=3))))
def test_values_are_sorted_as_pairs_are(pairs: list[tuple[int, str]]) -> None:
    texts = pa.array([text for _, text in pairs], pa.string())
    found = by_key(np.array([number for number, _ in pairs], np.int64), texts)
    assert [pairs[at] for at in found.order.tolist()] == sorted(pairs)
    assert found.texts.to_pylist() == [text for _, text in sorted(pairs)]
    assert not found.distinct or len(set(pairs)) == len(pairs)


_TICKS = st.integers(-(2**62), 2**62) | st.integers(-(10**6), 10**6)
COLUMNS = st.one_of(
    st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.floats(-100, 100)).map(pa.array),
    st.lists(st.integers(-(10**5), 10**5)).map(lambda cents: pa.array([each / 100 for each in cents])),
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32)).map(
        lambda each: pa.array(each, pa.float32())
    ),
    st.lists(st.decimals(-(10**9), 10**9, places=9)).map(lambda each: pa.array(each, pa.decimal128(30, 9))),
    st.lists(st.decimals(allow_nan=False, allow_infinity=False).map(lambda each: format(each, "f"))).map(
        lambda each: pa.array(each, pa.string())
    ),
    st.lists(st.from_regex(r"\A-?[0-9]{1,19}(\.[0-9]{1,22})?\Z")).map(
        lambda each: pa.array(each, pa.string())
    ),
    st.lists(_TICKS).map(lambda each: pa.array(each, pa.int64())),
    st.lists(st.integers(0, 2**64 - 1)).map(lambda each: pa.array(each, pa.uint64())),
    st.lists(st.dates()).map(lambda each: pa.array(each, pa.date32())),
    st.lists(st.datetimes()).map(lambda each: pa.array(each, pa.timestamp("us"))),
    st.lists(_TICKS).map(lambda each: pa.array(each, pa.timestamp("ns"))),
    st.lists(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))).map(
        lambda each: pa.array(each, pa.timestamp("us", "Europe/Berlin"))
    ),
    st.lists(st.datetimes() | st.dates(), min_size=1).map(
        lambda each: pa.array([at.isoformat() for at in each])
    ),
)


@settings(max_examples=300)
@given(COLUMNS, st.sampled_from([1, 2, 3, 20, 24, 100, 1000, 86_400, 10**9, 3 * 10**15, 10**30]))
def test_values_are_placed_as_one_by_one(values: pa.Array, scale: int) -> None:
    """The order, the texts and the cells are those of exact arithmetic, whatever the number of digits."""
    # Text such as 1.000 may be thousands, and is refused.
    assume(not any(re.fullmatch(r"-?[0-9]{1,3}(\.[0-9]{3})+", str(each)) for each in values.to_pylist()))
    if pa.types.is_floating(values.type) or pa.types.is_decimal(values.type):
        scale = math.gcd(scale, 10**30)  # of numbers, ends of intervals are decimals
    quick, slow = places(values, "x"), _exactly(values, "x", canonical_array(values))
    assert quick.axis == slow.axis
    assert quick.sorted.texts.to_pylist() == slow.sorted.texts.to_pylist()
    assert quick.sorted.distinct == slow.sorted.distinct
    assert quick.floors(scale).tolist() == slow.floors(scale).tolist()


def test_a_border_is_met_to_the_last_digit() -> None:
    """The doubles next to a border and the decimals of 17 digits around it: rounding would put some on the wrong side."""
    borders = [k / 10 for k in range(-500, 500)]
    around = sorted(
        {float(near) for each in borders for near in (np.nextafter(each, -99), each, np.nextafter(each, 99))}
    )
    built = h.intervals(0.1).build(pa.array(around), np.ones(len(around)), "x")
    for text, label, _ in built.to_rows():
        low, high = (Decimal(end) for end in str(label).strip("[").split(", "))
        assert low <= Decimal(str(text)) < high


@given(st.lists(st.text("0123456789-T :.", max_size=12) | st.datetimes().map(str), min_size=1))
def test_moments_are_read_as_python_does(texts: list[str]) -> None:
    found = moments(pa.array(texts))
    if found is not None:
        epoch, tick = datetime(1970, 1, 1), timedelta(microseconds=1)
        assert found.tolist() == [(datetime.fromisoformat(text) - epoch) // tick for text in texts]


@pytest.mark.parametrize(
    "text",
    ["0000-01-01", "2020-02-30", "2020-01-01T24:00", "2020-01-01T10:00:60", "2020-01-01T10", "20200101"],
)
def test_what_is_no_plain_moment_is_left_to_the_slow_way(text: str) -> None:
    assert moments(pa.array(["2020-01-01", text])) is None


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
