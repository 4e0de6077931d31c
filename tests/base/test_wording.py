"""How numbers are written: rounded the safe way, and with digits enough to see which side of a bound they are on."""

from __future__ import annotations

import copy
import json
import pickle
from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from veil.base.exact import decimal_fraction
from veil.base.wording import Phrase, Verbatim, beside, exactly, joined, plural, round_toward

numbers = st.floats(0, 1e12, allow_nan=False)


@given(numbers)
def test_rounding_keeps_to_its_side_and_is_close(number: float) -> None:
    exact = decimal_fraction(number)
    up, down = (Fraction(round_toward(number, way)) for way in ("up", "down"))
    assert down <= exact <= up
    assert up - down <= max(exact / 10**4, Fraction(1, 10**9))
    for way in ("up", "down"):
        assert decimal_fraction(float(round_toward(number, way))) == Fraction(round_toward(number, way))
        assert len(round_toward(number, way).split("e")[0].replace(".", "").strip("0")) <= 6


@given(st.integers(0, 10**20))
def test_integers_stay(number: int) -> None:
    assert round_toward(number, "up") == round_toward(number, "down") == str(number)


@given(numbers)
def test_parameters_are_written_as_given(number: float) -> None:
    assert float(exactly(number)) == number


@given(st.fractions(0, 10), numbers, st.integers(-3, 3))
def test_the_side_of_a_bound_shows(number: Fraction, other: float, units: int) -> None:
    close = round(float(number) + units * 1e-9, 12)
    assume(close >= 0)
    for bound in (other, close, float(number)):
        limit, shown = decimal_fraction(bound), Fraction(beside(number, bound))
        assert (shown > limit, shown < limit) == (number > limit, number < limit)


def test_six_digits_where_these_will_do() -> None:
    assert beside(Fraction(1, 3), 0.5) == "0.333333"
    assert beside(Fraction(1, 3), 0.333333) == "0.3333333"
    assert beside(float("inf"), 1) == "inf"
    assert round_toward(5e-324, "up") == "1e-9"


def test_a_phrase_is_a_text_that_keeps_its_values() -> None:
    inner = Phrase("column {column!r} is unchanged", column="{a}")
    phrase = Phrase("after step {step}: {promise}", step=2, promise=inner)
    assert phrase == "after step 2: column '{a}' is unchanged"
    for other in (pickle.loads(pickle.dumps(phrase)), copy.deepcopy(phrase)):
        assert other == phrase
        assert other.template == phrase.template
        assert other.values["promise"].values == {"column": "{a}"}
    assert json.loads(json.dumps([phrase])) == [str(phrase)]
    assert joined([plural(1, "row"), plural(1200, "column")], ", ").values["text1"] == "1,200 columns"
    assert pickle.loads(pickle.dumps(Verbatim("x"))) == "x"
