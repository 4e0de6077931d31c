"""Draws have exactly the distribution that a tail says: digits on an edge are decided by those that follow."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil.base.exact import ball
from veil.base.randomness import Randomness
from veil.dp.draws import checked_randomness, draw_at_least, draw_below, draw_region
from veil.errors import ParameterError


class Words(Randomness):
    """Digits that a test has chosen."""

    def __init__(self, words: list[int], then: int = 1) -> None:
        self.words, self.then = list(words), then

    def bits(self, size: int) -> np.ndarray:
        return np.array([self.words.pop(0) if self.words else self.then for _ in range(size)], np.uint64)


words = st.lists(st.integers(0, 2**64 - 1), min_size=4, max_size=4)


def number_of(drawn: list[int]) -> Fraction:
    """The number that digits are, but for what comes after."""
    return sum(
        (Fraction(word, 2 ** (64 * place)) for place, word in enumerate(drawn, start=1)), Fraction(0)
    ) + Fraction(1, 2**320)


@settings(max_examples=100, deadline=None)
@given(words, st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50), st.integers(0, 400))
def test_a_number_is_the_largest_whose_tail_is_above_the_digits(drawn, q, start) -> None:
    """Twin: counting up, in fractions; wherever the search begins."""
    number, expected = number_of(drawn), 0
    while number < q ** (expected + 1):
        expected += 1
    for guess in (None, lambda u: start):
        assert draw_at_least(lambda j: ball(q) ** j, Words(drawn), guess) == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 20), st.integers(-1, 1), st.integers(0, 2**64 - 1))
def test_digits_on_an_edge_are_decided_by_those_that_follow(place, beside, later) -> None:
    edge = math.floor(Fraction(1, 3) ** place * 2**128)
    first, second = divmod(edge + beside, 2**64)
    source = [first, second, later, later]
    expected = place if number_of(source) < Fraction(1, 3) ** place else place - 1
    assert draw_at_least(lambda j: ball("1/3") ** j, Words(source)) == expected


@settings(max_examples=60, deadline=None)
@given(words, st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_a_region_is_drawn_by_its_probability(drawn, weights) -> None:
    chances = [Fraction(each, sum(weights)) for each in weights]
    reached, expected = chances[0], 0
    while number_of(drawn) > reached:
        expected += 1
        reached += chances[expected]
    assert draw_region(lambda: [ball(each) for each in chances], Words(drawn)) == expected


@pytest.mark.parametrize("bound", [1, 3, 2**63 - 1, 2**63, 2**64, 3 * 2**70 + 1])
def test_whole_numbers_of_any_size_are_below_their_bound(bound) -> None:
    drawn = [draw_below(bound, Randomness()) for _ in range(50)]
    assert all(0 <= each < bound for each in drawn)
    assert bound < 50 or len(set(drawn)) > 45


def test_large_whole_numbers_are_as_likely_as_each_other() -> None:
    bound = 3 * 2**63
    source = Randomness.for_testing(5)
    thirds = [draw_below(bound, source) // 2**63 for _ in range(3000)]
    assert all(900 < thirds.count(each) < 1100 for each in range(3))  # beyond five standard deviations


def test_a_seed_is_no_randomness() -> None:
    with refused(ParameterError, "Randomness.for_testing(seed)", "not 7"):
        checked_randomness(7)
    assert checked_randomness(None).is_private
