"""Values placed all at once, and as one by one."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from veil import hierarchies as h
from veil.hierarchies._places import _exactly, moments, places
from veil.tables.text import canonical_array

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
