"""What the compiled part of t-closeness says, by hand and from the definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.models.closeness.kernels import fewer


def bound(counts: list[int], masses: list[int], allowance: int) -> int:
    """How many records of a class can be kept at most, by one step of Newton's method; all groups weigh one."""
    records, size = sum(masses), sum(counts)
    excess = [records * count - size * mass for count, mass in zip(counts, masses, strict=True)]
    total = sum(each for each in excess if each > 0)
    cost = sum(mass for each, mass in zip(excess, masses, strict=True) if each > 0)
    found = fewer(np.array([size]), np.array([total]), np.array([cost]), float(records), float(allowance))
    return int(found[0])


def most(counts: list[int], masses: list[int], allowance: int) -> int:
    """The same from the definition: the largest n that may have enough in common with the table."""
    records = sum(masses)

    def enough(n: int) -> bool:
        shares = zip(counts, masses, strict=True)
        common = sum(min(Fraction(count), Fraction(n * mass, records)) for count, mass in shares)
        return common * records >= n * (records - allowance)

    return max(n for n in range(sum(counts) + 1) if enough(n))


@pytest.mark.parametrize(
    ("counts", "allowance", "kept"), [([4, 0], 2, 0), ([3, 1], 2, 3), ([2, 2], 0, 4), ([4, 0], 5, 4)]
)
def test_a_class_of_four_in_a_table_of_two_equal_halves(counts: list[int], allowance: int, kept: int) -> None:
    assert bound(counts, [5, 5], allowance) == most(counts, [5, 5], allowance) == kept


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9)), min_size=1, max_size=4), st.data())
def test_no_more_records_can_be_kept_than_the_bound_says(
    groups: list[tuple[int, int]], data: st.DataObject
) -> None:
    counts, masses = map(list, zip(*groups, strict=True))
    allowance = data.draw(st.integers(0, sum(masses)))
    assert most(counts, masses, allowance) <= bound(counts, masses, allowance) <= sum(counts)
