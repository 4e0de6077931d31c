"""Priority: frequent values stay longest."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from veil import hierarchies as h

NUMBERS = st.lists(st.integers(-500, 500), min_size=1, max_size=40, unique=True)


def test_frequent_values_stay_longest(build):
    made = build(h.priority(levels=2), ["tea", "mate", None, "coffee"], [3, 1, 50, 9])
    assert made.to_rows() == [
        ("coffee", "coffee", "*"), ("tea", "tea", "*"), ("mate", "*", "*"), (None, None, "*"),
    ]  # fmt: skip


@given(NUMBERS, st.integers(1, 12))
def test_priority_suppresses_about_the_same_number_on_each_level(build, values, levels):
    made = build(h.priority(order="natural", levels=levels), values)
    assert made.height == min(len(values), levels)
    kept = [sum(row[level] != "*" for row in made.to_rows()) for level in range(made.height + 1)]
    assert kept[0] == len(values)
    assert kept[-1] == 0
    steps = [before - after for before, after in pairwise(kept)]
    assert max(steps) - min(steps) <= 1
