from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from veil.errors import InputError
from veil.tables import canonical_text


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([42, -7, 0, None]), ["42", "-7", "0", None]),
        (pa.array([255], pa.uint8()), ["255"]),
        (pa.array([4.0, 4.5, 0.1, 1e300, None]), ["4", "4.5", "0.1", "1e+300", None]),
        (pa.array([0.1, 16777216.0], pa.float32()), ["0.1", "16777216"]),
        (pa.array([True, False, None]), ["true", "false", None]),
        (pa.array([dt.date(2020, 1, 31), None]), ["2020-01-31", None]),
        (pa.array([dt.datetime(2020, 1, 31, 12), None]), ["2020-01-31T12:00:00", None]),
        (pa.array([dt.datetime(2020, 1, 31, 12, 0, 0, 500_000)]), ["2020-01-31T12:00:00.500"]),
        (
            pa.array([1, 1000], pa.timestamp("ns")),
            ["1970-01-01T00:00:00.000000001", "1970-01-01T00:00:00.000001"],
        ),
        (pa.array([1_593_561_600], pa.timestamp("s", "Europe/Berlin")), ["2020-07-01T02:00:00+02:00"]),
        (pa.array([0], pa.timestamp("s", "UTC")), ["1970-01-01T00:00:00+00:00"]),
        (pa.array([Decimal("1.50"), Decimal("-0.05"), None]), ["1.50", "-0.05", None]),
        (pa.array([Decimal("0.00000001")]), ["0.00000001"]),
        (pa.array(["02139", "", None]), ["02139", "", None]),
        (pa.array(["a"], pa.large_string()), ["a"]),
        (pa.array(["a"], pa.string_view()), ["a"]),
        (pa.array(["b", None, "a", "b"]).dictionary_encode(), ["b", None, "a", "b"]),
        (pa.array([7, None, 7]).dictionary_encode(), ["7", None, "7"]),
        (pa.chunked_array([["a"], ["b", None]]), ["a", "b", None]),
        (pa.nulls(2), [None, None]),
        (pa.chunked_array([], pa.int64()), []),
    ],
)
def test_each_type_has_one_spelling(array: pa.Array, expected: list[str | None]) -> None:
    assert canonical_text(array) == expected


def test_a_dictionary_null_inside_the_dictionary_is_missing() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    assert canonical_text(array) == ["a", None]


@pytest.mark.parametrize(
    "array", [pa.array([[1]]), pa.array([b"x"]), pa.array([dt.time(1)]), pa.array([{"a": 1}])]
)
def test_other_types_are_refused_by_name(array: pa.Array) -> None:
    with refused(InputError, "'tags'", "drop it"):
        canonical_text(array, column="tags")


@given(st.lists(st.floats(allow_nan=False), unique_by=lambda value: repr(value)))
def test_different_floats_are_spelled_differently(floats: list[float]) -> None:
    texts = canonical_text(pa.array(floats, pa.float64()))
    assert len(set(texts)) == len(floats)
    assert [float(text or "") for text in texts] == floats


@given(st.lists(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 1, 1))))
def test_timestamps_are_iso(moments: list[dt.datetime]) -> None:
    texts = canonical_text(pa.array(moments, pa.timestamp("us")))
    assert [dt.datetime.fromisoformat(text or "") for text in texts] == moments
