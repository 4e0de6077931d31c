"""PRAM: matrices that are exactly stochastic, draws with exactly these probabilities, invariance as an identity."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.masking.running import masked, outcome
from support.refusals import refused
from veil.errors import InputError, ParameterError, PlanError
from veil.masking import PRAM

JOBS = {"job": ["cook"] * 6 + ["miner"] * 3 + ["judge"], "age": list(range(10))}


def transitions(method, table):
    return method.transitions(pa.table(table))


@given(
    st.lists(st.sampled_from("aaabbcd"), min_size=2, max_size=30).filter(lambda v: len(set(v)) > 1), st.data()
)
def test_invariant_pram_keeps_the_expected_share_of_every_value(values, data):
    """t R = t, exactly, whatever matrix it begins with."""
    names = sorted(set(values))
    if data.draw(st.booleans()):
        method = PRAM("x", data.draw(st.sampled_from([0, 0.1, 1 / 3, 0.8, 1])), invariant=True)
    else:
        weights = data.draw(
            st.lists(
                st.lists(st.integers(0, 5), min_size=len(names), max_size=len(names)).filter(any),
                min_size=len(names),
                max_size=len(names),
            )
        )
        matrix = {
            name: {other: Fraction(each, sum(row)) for other, each in zip(names, row, strict=True)}
            for name, row in zip(names, weights, strict=True)
        }
        method = PRAM("x", matrix=matrix, invariant=True)
    found = transitions(method, {"x": values})
    counts = Counter(values)
    assert all(sum(row.values()) == 1 for row in found.values())
    for name in names:
        assert sum(counts[each] * found[each].get(name, 0) for each in names) == counts[name]


def test_the_default_matrix():
    found = transitions(PRAM("job", 0.7), JOBS)
    assert found["miner"] == {"cook": Fraction(3, 20), "miner": Fraction(7, 10), "judge": Fraction(3, 20)}


def test_a_given_matrix_is_taken_literally():
    matrix = {
        "cook": {"cook": 0.1, "miner": 0.2, "judge": 0.7},
        "miner": {"miner": 1},
        "judge": {"cook": "1/3", "judge": "2/3"},
    }
    found = transitions(PRAM("job", matrix=matrix), JOBS)
    assert found["cook"] == {"cook": Fraction(1, 10), "miner": Fraction(1, 5), "judge": Fraction(7, 10)}
    assert found["judge"] == {"cook": Fraction(1, 3), "judge": Fraction(2, 3)}


def test_draws_have_the_probabilities_of_the_matrix():
    matrix = {"cook": {"cook": 0.5, "miner": 0.2, "clerk": 0.3}, "miner": {"cook": 1}}
    made = masked(PRAM("job", matrix=matrix), {"job": ["cook"] * 20_000 + ["miner"] * 10}, seed=11)["job"]
    drawn = Counter(made[:20_000])
    assert set(made[20_000:]) == {"cook"}
    # Standard deviations are at most 71.
    assert drawn["cook"] == pytest.approx(10_000, abs=350)
    assert drawn["miner"] == pytest.approx(4_000, abs=350)
    assert drawn["clerk"] == pytest.approx(6_000, abs=350)


def test_both_draws_of_invariant_pram_together():
    values = ["a"] * 15_000 + ["b"] * 5_000
    method = PRAM("x", 0.6, invariant=True)
    expected = transitions(method, {"x": values})
    made = masked(method, {"x": values}, seed=12)["x"]
    assert made[:15_000].count("b") == pytest.approx(float(15_000 * expected["a"]["b"]), abs=350)
    assert made[15_000:].count("a") == pytest.approx(float(5_000 * expected["b"]["a"]), abs=250)
    assert made.count("a") == pytest.approx(15_000, abs=500)


def test_missing_values_and_types_stay():
    made = outcome(PRAM("x", 0), pa.table({"x": pa.array([1, None, 2], pa.int8()), "y": [1, 2, 3]}))
    assert made.table["x"].type == pa.int8()
    assert made.table.to_pydict() == {"x": [2, None, 1], "y": [1, 2, 3]}
    made = outcome(PRAM("x", matrix={"1": {"3": 1}, "2": {"2": 1}}), pa.table({"x": pa.array([1, 2])}))
    assert made.table["x"].to_pylist() == [3, 2]
    assert outcome(PRAM("job", 0.9), JOBS).facts["smallest probability that a value stays"] == 0.9


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            {"a": {"a": 0.9, "b": 0.2}, "b": {"b": 1}},
            "the probabilities of 'a' should add up to exactly 1, not 1.1",
        ),
        ({"a": {"a": "1/3", "b": "1/3"}, "b": {"b": 1}}, "should add up to exactly 1, not 2/3"),
        ({"a": {"a": 0.9, "b": 0.0999999999999999}, "b": {"b": 1}}, "exactly 1, not 0.9999999999999999"),
        ({"a": {"a": 1.5, "b": -0.5}}, "a probability should be from 0 to 1, not 1.5"),
        (
            {"a": {"a": "half"}},
            "a probability should be a number such as 0.25 or a fraction such as 1/3, not 'half'",
        ),
        ({"a": {}}, "should add up to exactly 1, not 0"),
    ],
)
def test_a_matrix_that_is_not_stochastic(matrix, message):
    with pytest.raises(ParameterError, match=message):
        PRAM("x", matrix=matrix)


def test_tenths_are_tenths():
    """Ten times 0.1 is 1 as it is written, though not in doubles."""
    row = dict.fromkeys("abcdefghij", 0.1)
    total = 0.0
    for each in row.values():
        total += each
    assert total != 1
    PRAM("x", matrix={"a": row})


def test_bad_input():
    with refused(ParameterError, "`retention`", "`matrix`", "needs"):
        PRAM("x")
    with refused(ParameterError, "`retention`", "PRAM", "0 to 1"):
        PRAM("x", 1.1)
    with refused(InputError, "'x'", "the same value"):
        outcome(PRAM("x", 0.5), {"x": ["a", "a"]})
    with refused(InputError, "'x'", "1001 distinct", "at most 1000"):
        outcome(PRAM("x", 0.5), {"x": list(range(1001))})
    with refused(PlanError, "`matrix`", "'b'", "'x'", "no entry"):
        outcome(PRAM("x", matrix={"a": {"a": 1}}), {"x": ["a", "b"]})
    with refused(PlanError, "`matrix`", "'z'", "int64"):
        outcome(PRAM("x", matrix={"1": {"z": 1}}), {"x": [1]})
    fine = {"a": {"a": "1/4611686018427387847", "b": "4611686018427387846/4611686018427387847"}}
    uneven = PRAM("x", matrix={**fine, "b": {"a": "1/3", "b": "2/3"}}, invariant=True)
    with refused(PlanError, "below 2", "no common denominator"):
        outcome(uneven, {"x": ["a", "b"]})
