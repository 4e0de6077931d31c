"""Quantiles are scored as they are defined."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.dp.sessions import open_session
from veil.dp.source import MemorySource


def test_quantiles_are_near_where_they_are() -> None:
    ages = pa.table({"age": list(range(100)) * 20})
    session = open_session(ages, bounds={"age": (0, 120)}, keys={}, missing={"age": "leave out"})
    found = session.quantiles("age", [0.25, 0.5, 0.75], epsilon=30, candidates=120).value
    assert [found[each] for each in (0.25, 0.5, 0.75)] == pytest.approx([24.5, 49.5, 74.5], abs=3)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-5, 15), max_size=12), st.fractions(0, 1, max_denominator=8))
def test_quantiles_are_scored_as_they_are_defined(values, share) -> None:
    """With a large epsilon the choice is a number that fewest records would have to change sides for."""
    held = MemorySource(pa.table({"x": pa.array(values, pa.int64())}))
    session = open_session(held, bounds={"x": (0, 10)}, keys={}, missing={"x": 0})
    chosen = session.quantiles("x", [share], epsilon=10**5, candidates=10).value[share]
    clamped = [min(max(each, 0), 10) for each in values]

    def badness(y: float) -> Fraction:
        goal = share * len(clamped)
        return max(sum(x < y for x in clamped) - goal, goal - sum(x <= y for x in clamped), Fraction(0))

    steps = [session._declared.bounded("x").highest * each // 10 for each in range(11)]
    grid = [float(each * session._declared.bounded("x").step) for each in steps]
    assert chosen in grid
    assert badness(chosen) == min(badness(y) for y in grid)
