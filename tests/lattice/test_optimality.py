"""How far a score may be from the best one: a share of the score, by which the best one lies below it."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from veil.lattice.optimality import gap_in_words, gap_to_optimum

often = settings(max_examples=300, deadline=None)
losses = st.floats(0, allow_infinity=False, allow_nan=False)
numbers = st.sampled_from([0.0, 1e-300, 0.1, 0.5, 1.0, 7.0])
in_order = st.integers(1, 4).flatmap(
    lambda size: st.tuples(*[st.tuples(*[numbers] * size)] * 3).map(lambda three: tuple(sorted(three)))
)


def test_a_loose_bound() -> None:
    """The score is nearly 23 times the bound: that far above the best one, which is at most 95.7 % below it."""
    gap = gap_to_optimum(0.962, 0.042)
    assert gap == pytest.approx(0.9563, abs=5e-5)
    assert gap_in_words(gap) == "the best score may be up to 95.7 % lower"


@pytest.mark.parametrize(
    ("score", "bound", "gap"),
    [
        (0.8, 0.8, 0.0),
        (0.8, 0.8000000000000002, 0.0),  # a bound above the score, by rounding
        (0.8, 0.0, 1.0),
        (0.8, -1e-12, 1.0),  # no loss is below zero
        (0.0, -1e-12, 0.0),
        (0.0, 0.0, 0.0),
        (5e-324, 0.0, 1.0),
        (math.inf, 3.0, 1.0),
        (math.inf, math.inf, 0.0),
        (0.8, None, None),
        (0.8, -math.inf, None),
        (0.8, math.nan, None),
        (math.nan, 0.1, None),
        (-1.0, -2.0, None),  # no loss: a share of it would tell nothing
        ((4.0, 2.0), (3.0, 9.0), 0.25),
        ((4.0, 2.0), (4.0, 1.5), 0.25),
        ((4.0, 2.0), (4.0, 2.0), 0.0),
        ((4.0, 2.0), (5.0, 0.0), 0.0),
        ((4.0, 2.0), (4.0,), 1.0),  # of the second number nothing is known but that it is no less than zero
        ((0.0, 2.0), (-1e-12, 1.0), 1.0),  # nor is it here: the first may be above its bound
        ((4.0, 2.0), (-math.inf,), None),
    ],
)
def test_known_gaps(
    score: float | tuple[float, ...], bound: float | tuple[float, ...] | None, gap: float | None
) -> None:
    assert gap_to_optimum(score, bound) == gap


@often
@given(losses, st.floats(allow_infinity=False, allow_nan=False))
@example(0.1 + 0.2, -1e-17)
def test_it_is_a_share_and_the_definition(score: float, bound: float) -> None:
    gap = gap_to_optimum(score, bound)
    assert gap is not None
    assert 0 <= gap <= 1
    assert (gap == 0) == (max(bound, 0) >= score)
    if score > 0:
        exact = max(0, (Fraction(score) - max(Fraction(bound), 0)) / Fraction(score))
        assert float(exact) == pytest.approx(gap, rel=1e-15)


@often
@given(in_order)
def test_no_score_between_bound_and_score_lies_further_below(three: tuple[tuple[float, ...], ...]) -> None:
    """Whatever the best score is, its own gap is at most the one that is told."""
    bound, best, score = three
    told, true = gap_to_optimum(score, bound), gap_to_optimum(score, best)
    assert told is not None
    assert true is not None
    first = next((i for i in range(len(score)) if score[i] != bound[i]), None)
    assert (told == 0) == (first is None)
    if first is not None and score[first] != best[first]:
        assert true <= told


@often
@given(st.floats(0, 1))
@example(1.0)
@example(math.nextafter(1.0, 0.0))
@example(5e-324)
def test_words_promise_enough_and_never_more_than_everything(gap: float) -> None:
    words = gap_in_words(gap)
    if gap == 0:
        assert words == "no score is better"
        return
    (number,) = re.findall(r"^the best score may be up to ([\d.]+) % lower$", words)
    told = Fraction(number) / 100
    assert Fraction(gap) <= told + Fraction(1, 10**12)
    assert told <= 1
    assert told - Fraction(gap) < Fraction(1, 1000) + Fraction(1, 10**12)
