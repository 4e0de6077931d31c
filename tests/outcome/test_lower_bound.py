"""How a bound is worded: never more than is proven, in two languages."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from veil.outcome.lower_bound import UNIT, LowerBound, describe_bound
from veil.report.pages.language import Translator

NUMBERS = st.fractions(min_value=0, max_value=1, max_denominator=10**9).filter(bool)


@given(NUMBERS, NUMBERS)
def test_a_sentence_never_claims_more_than_is_proven(one: Fraction, other: Fraction) -> None:
    bound, loss = sorted([one, other])
    values = describe_bound(bound, loss).values
    low, high = Fraction(str(values["bound"])), Fraction(str(values["loss"]))
    assert bound * Fraction(99, 100) < low <= bound <= loss <= high < loss * Fraction(101, 100)
    if loss > bound:
        gap = loss / bound - 1
        assert gap <= Fraction(str(values["share"])) / 100 < gap + Fraction(1, 100)
        assert loss / bound <= Fraction(str(values["times"])) < loss / bound * Fraction(101, 100)


def test_the_sentence_says_how_far_a_release_may_be_from_the_best() -> None:
    claim = "no recoding with these hierarchies loses less than 0.0239; this one loses "
    bound = Fraction("0.02399")
    assert describe_bound(bound, Fraction("0.02641")) == f"{claim}0.0265, 11 % above"
    assert describe_bound(bound, bound + Fraction(1, 10**9)) == f"{claim}0.0240, 1 % above"
    assert describe_bound(bound, 3 * bound) == f"{claim}0.0720, up to 3 times as much"
    assert (
        describe_bound(bound, bound) == "no recoding with these hierarchies loses less than this one: 0.0240"
    )
    assert describe_bound(Fraction(0), bound) == "this recoding loses 0.0240, and no bound above 0 is proven"
    assert describe_bound(Fraction(0), Fraction(0)).endswith("loses less than this one: 0")
    cells = describe_bound(Fraction("0.0239"), Fraction("0.625"), full_domain=True)
    assert cells == f"{claim}0.625: recoding cell by cell might lose up to 26.2 times less"


def test_the_sentence_in_german() -> None:
    german, bound = Translator("de").of, Fraction("0.02399")
    claim = "keine Umkodierung mit diesen Hierarchien verliert weniger als 0,0239; diese verliert "
    assert german(describe_bound(bound, Fraction("0.02641"))) == f"{claim}0,0265, 11 % mehr"
    assert german(describe_bound(bound, 3 * bound)) == f"{claim}0,0720, bis zu 3-mal so viel"
    cells = describe_bound(bound, 3 * bound, full_domain=True)
    assert german(cells) == f"{claim}0,0720: Zelle für Zelle umkodiert ginge bis zu 3-mal weniger verloren"
    assert german(describe_bound(bound, bound)).endswith("verliert weniger als diese: 0,0240")
    assert german(describe_bound(Fraction(0), bound)).startswith("diese Umkodierung verliert 0,0240, und ")


def test_a_bound_is_a_mean_over_records_and_never_negative() -> None:
    prices = np.zeros(1, np.int64)
    assert LowerBound(3 * UNIT, 12, 2, 0, prices).score == Fraction(1, 4)
    assert LowerBound(-1, 12, 2, 0, prices).score == LowerBound(5, 0, 2, 0, prices).score == 0
