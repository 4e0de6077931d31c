"""Budgets as exact numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil.base.exact import ball
from veil.dp.symbolic import Symbolic, enclosure
from veil.errors import ParameterError

read = Symbolic.read
small = st.fractions(-3, 3, max_denominator=12)
positive = st.fractions(Fraction(1, 30), 30, max_denominator=30)
numbers = st.builds(
    lambda rational, scale, base: read(f"{rational} + {scale} * ln({base})"), small, small, positive
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/3", 1 / 3),
        ("  2 * ln( 3 ) / 3 ", 2 * math.log(3) / 3),
        ("-ln(1/2)", math.log(2)),
        ("log(2) + 1e-3", math.log(2) + 0.001),
        ("(1 + .5) * -2", -3),
        ("3 - 2 - 1", 0),
        ("8 / 2 / 2", 2),
        ("2*(ln(2) - ln(3/2))", 2 * math.log(4 / 3)),
        ("ln(2)*3 + ln(0.125)", 0),
        ("--1", 1),
        ("2 - -ln(3)", 2 + math.log(3)),
        ("-" * 900 + "1", 1),
        ("5.", 5),
    ],
)
def test_texts_mean_what_they_say(text, value):
    assert float(read(text)) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a number is missing"),
        ("1 +", "a number is missing"),
        ("ln 2", "'(' is missing"),
        ("ln(2", "')' is missing"),
        ("1 2", "'2' is one too many"),
        ("(1))", "')' is one too many"),
        ("1/0", "divided by 0"),
        ("1/ln(2)", "divided by a logarithm"),
        ("ln(2)*ln(3)", "two logarithms are multiplied"),
        ("ln(0)", "ln needs a positive number"),
        ("ln(-1)", "ln needs a positive number"),
        ("ln(ln(2))", "ln needs a positive number"),
        ("1e999999999", "powers of ten go up to 400"),
        (f"ln({10**31})", "at most 30 digits"),
        ("1" * 1001, "at most 1000 characters"),
        ("(" * 60 + "1" + ")" * 60, "parentheses nest at most 50 deep"),
        ("__import__('os')", "cannot be read"),
        ("exp(1)", "cannot be read"),
        ("lnx", "cannot be read"),
        ("2**3", "a number is missing"),
    ],
)
def test_texts_that_say_nothing_are_refused_with_a_reason(text, reason):
    with refused(ParameterError, "`budget`", "a number", reason):
        read(text, "budget")


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, Decimal("NaN"), None, True, [1], 1j])
def test_values_that_are_no_numbers_are_refused(value):
    with refused(ParameterError, "`epsilon`", "a number"):
        read(value)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "1e400",
            "1e-400",
            "1e400/1e-400",
            "ln(2)/1e400",
            "1e400*ln(2)",
            "*".join(["1e400"] * 100),
            5e-324,
            1.7e308,
        ),
        *(10**400, -(10**5000), Fraction(1, 10**5000), Decimal("1e-999999999999"), Decimal("1e301")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_further_from_1_than_doubles_can_say_are_refused_at_once(value):
    with refused(ParameterError, "`delta`", "1e-300 to 1e300"):
        read(value, "delta")


def test_numbers_of_too_many_digits_are_refused():
    with refused(ParameterError, "too many digits"):
        read(Fraction(1, 10**1000 + 1) * 10**800)


def test_numbers_are_what_was_written():
    assert read(0.1) == read("0.1") == read(Decimal("0.1")) == read(np.float64(0.1)) == read(Fraction(1, 10))
    assert read(10**300).rational == 10**300
    assert read(read("ln(2)")) == read("ln(2)")


@settings(max_examples=200, deadline=None)
@given(numbers, numbers, small)
def test_arithmetic_is_that_of_real_numbers(x, y, factor):
    assert float(x + y) == pytest.approx(float(x) + float(y), abs=1e-13)
    assert float(x - y) == pytest.approx(float(x) - float(y), abs=1e-13)
    assert float(x * factor) == pytest.approx(float(x) * float(factor), abs=1e-12)
    assert x + y - y == x
    assert (x < y) == (y > x) == (x != y and not x > y)
    if abs(float(x) - float(y)) > 1e-9:
        assert (x < y) == (float(x) < float(y))
    assert read(str(x)) == x  # texts are complete
    low, high = enclosure(lambda bits: x.ball())
    assert Fraction(math.nextafter(float(x), -math.inf)) <= low <= high
    assert high <= Fraction(math.nextafter(float(x), math.inf))


@settings(max_examples=200, deadline=None)
@given(numbers)
def test_a_rational_exponential_is_recognized(x):
    exponential = x.exponential()
    if exponential is not None:
        assert read(f"ln({exponential})") == x
    else:
        assert x.rational or any(exponent.denominator > 1 for _, exponent in x.logarithms)


def test_close_numbers_are_told_apart():
    digits = "0.693147180559945309417232121458176568075500134360255254120680009"  # of ln 2, cut off
    assert read(digits) < read("ln(2)") < read(digits[:-1] + "8") + read("2e-60")
    assert read("ln(2)/7 + ln(2)*6/7") == read("ln(2)")
    assert not read("ln(4)/2") < read("ln(2)")


def test_texts_of_long_sums_can_be_read_again():
    long = 70 * read("ln(2)") - 3 * read("ln(1000003)") + read("ln(999983)") / 7 + read("1/3")
    assert read(str(long)) == long
    assert str(read("ln(6)") - read("1/2")) == "-0.5 + ln(6)"


def test_what_cannot_be_enclosed_is_an_error():
    with pytest.raises(ArithmeticError):
        enclosure(lambda bits: 1 / (ball(4).log() - 2 * ball(2).log()))
    low, high = enclosure(lambda bits: ball(4).log() - 2 * ball(2).log())
    assert low <= 0 <= high < Fraction(1, 10**9999)
