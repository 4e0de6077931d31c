"""Sums that do not depend on the order of their terms: against exact ones, at the ends of the range."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.quality.summing import sum_in_any_order

often = settings(max_examples=300, deadline=None)

NUMBERS = st.one_of(
    st.floats(-1e300, 1e300),
    st.floats(-1.0, 1.0),
    st.sampled_from([5e-324, -5e-324, 2.0**-1022, 0.0, -0.0, 0.1, -0.1, 2.0**53, 1.0, -1.0, 1e300, -1e300]),
)
TERMS = st.lists(NUMBERS, max_size=40)


def total(terms: list[float]) -> float:
    return sum_in_any_order(np.array(terms, np.float64))


@often
@given(TERMS)
def test_it_is_off_by_less_than_two_units_and_a_trifle_of_the_largest_term(terms: list[float]) -> None:
    expected = math.fsum(terms)
    trifle = 2.0**-100 * max(map(abs, terms), default=0.0)
    assert abs(total(terms) - expected) <= 2 * math.ulp(expected) + trifle + 2.0**-990


@often
@given(st.lists(NUMBERS.map(abs), max_size=40))
def test_without_signs_it_is_off_by_less_than_two_units(terms: list[float]) -> None:
    expected = math.fsum(terms)
    assert abs(total(terms) - expected) <= 2 * math.ulp(expected) + 2.0**-990


@often
@given(TERMS, st.randoms(use_true_random=False))
def test_the_order_does_not_matter(terms: list[float], rng: random.Random) -> None:
    assert total(rng.sample(terms, len(terms))) == total(terms)


@often
@given(st.lists(st.integers(0, 2**48), max_size=31), st.integers(0, 2**47))
def test_whole_numbers_are_exact(terms: list[int], more: int) -> None:
    assert total([float(term) for term in (*terms, more)]) == sum(terms) + more


def test_whole_numbers_are_exact_beside_a_large_one() -> None:
    numbers = [2**52, *range(1, 90_000)]
    assert total([float(number) for number in numbers]) == sum(numbers)


def test_many_terms_leave_no_trace_of_rounding() -> None:
    assert total([0.1] * 100_000 + [-0.1] * 99_999) == 0.1


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([], 0.0),
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 1.0], -math.inf),
        ([1.7e308, 1.7e308], math.inf),
        ([-1.7e308, -1.7e308], -math.inf),
        ([1.7e308, 1.7e308, -1.7e308], 1.7e308),
        ([2.0**-1000, 2.0**-1001], 1.5 * 2.0**-1000),
    ],
)
def test_at_the_ends_of_the_range(terms: list[float], expected: float) -> None:
    assert total(terms) == expected
