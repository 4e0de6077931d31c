"""Rounding to multiples of a base."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.masking.running import masked, outcome
from support.refusals import refused
from veil.errors import InputError, ParameterError
from veil.masking import Rounding


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1), st.integers(1, 1000))
def test_integers_go_to_the_nearest_multiple_and_halves_to_the_even_one(values, base):
    made = masked(Rounding("x", base), {"x": values})["x"]
    assert made == [round(Fraction(value, base)) * base for value in values]


@given(st.lists(st.integers(-9999, 9999), min_size=1), st.integers(1, 1000))
def test_random_rounding_goes_to_a_neighbour_and_leaves_multiples_alone(values, base):
    for value, made in zip(values, masked(Rounding("x", base, "random"), {"x": values})["x"], strict=True):
        assert made in {value // base * base, -(-value // base) * base}


@given(
    st.lists(st.decimals(-999, 999, places=2).map(float), min_size=1),
    st.sampled_from([0.1, 0.05, 0.25, 2.5, 3]),
)
def test_decimals_become_multiples_as_they_are_written(values, base):
    step = Fraction(str(base))
    for method in ("nearest", "random"):
        for value, made in zip(values, masked(Rounding("x", base, method), {"x": values})["x"], strict=True):
            multiple = Fraction(str(made)) / step
            assert multiple.denominator == 1
            assert abs(Fraction(str(made)) - Fraction(str(value))) < step
            if method == "nearest":
                assert abs(Fraction(str(made)) - Fraction(str(value))) <= step / 2 * (1 + Fraction(1, 10**9))
            if (Fraction(str(value)) / step).denominator == 1:
                assert made == value


@pytest.mark.parametrize("values", [[1, 4, 9], [1.0, 4.0, 9.0]])
def test_random_rounding_keeps_the_expected_value(values):
    made = np.array(masked(Rounding("x", 10, "random"), {"x": values * 20_000}, seed=5)["x"]).reshape(-1, 3)
    # The standard deviation of a mean is at most 5 / √20000 = 0.035.
    assert made.mean(axis=0) == pytest.approx(values, abs=0.18)
    assert set(np.unique(made)) == {0, 10}


def test_types_and_missing_values():
    made = outcome(Rounding(["a", "b", "c"], 10), pa.table({
        "a": pa.array([14, None], pa.uint8()), "b": pa.array([14.5, None], pa.float32()), "c": [15, 25],
    })).table  # fmt: skip
    assert made.schema.types == [pa.uint8(), pa.float32(), pa.int64()]
    assert made.to_pydict() == {"a": [10, None], "b": [10.0, None], "c": [20, 20]}
    short = pa.array([np.float16(14.5), None], pa.float16())
    made = outcome(Rounding("x", 10), pa.table({"x": short})).table["x"]
    assert (made.type, made.to_pylist()) == (pa.float16(), [10.0, None])
    assert masked(Rounding("x", 0.5), {"x": [1, 2]})["x"] == [1.0, 2.0]
    assert math.isclose(masked(Rounding("x", 0.1), {"x": [0.26]})["x"][0], 0.3, rel_tol=0)


def test_bad_input():
    with refused(ParameterError, "`base`", "Rounding", "not 0"):
        Rounding("x", 0)
    with refused(ParameterError, "`base`", "Rounding", "not inf"):
        Rounding("x", math.inf)
    with refused(InputError, "'x'", "row 1", "inf"):
        outcome(Rounding("x", 0.5), {"x": [math.inf]})
    with refused(InputError, "numbers are needed"):
        outcome(Rounding("x", 1), {"x": ["a"]})
    with refused(InputError, "'x'", "not fit", "uint8"):
        outcome(Rounding("x", 100), pa.table({"x": pa.array([255], pa.uint8())}))
    with refused(InputError, "do not fit"):
        outcome(Rounding("x", 1000), {"x": [2**63 - 1]})
    with refused(InputError, "do not fit"):
        outcome(Rounding("x", 10), pa.table({"x": pa.array([2**64 - 1], pa.uint64())}))
