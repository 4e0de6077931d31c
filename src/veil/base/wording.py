"""Numbers as text: counts of things, and as many digits as the purpose needs.

Six digits are usual, but not always true: a promise rounded for a page has to hold as printed, and a number
that breaks its bound has to be printed beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Literal

from veil.base.exact import decimal_fraction

Direction = Literal["up", "down"]

_DIGITS = 6
"""Digits that are shown if they suffice."""

_LEAST = Decimal("1e-9")
"""The number to which smaller ones are rounded up."""

_MOST_DIGITS = 40
"""Digits after which two numbers are shown as equal."""


class Phrase(str):
    """A text that knows its template and its values, so that a page can show it in another language.

    >>> Phrase("at most {count:,} records are suppressed", count=1200)
    'at most 1,200 records are suppressed'
    """

    template: str
    values: Mapping[str, object]
    name: str

    def __new__(cls, template: str, name: str = "", /, **values: object) -> Phrase:
        """Fill a template; `name` is that of a text of a page."""
        text = super().__new__(cls, template.format(**values))
        text.template, text.name, text.values = template, name, values
        return text

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.template, self.name, self.values)


class Verbatim(str):
    """A text of a table or of the data holder, which stays as it is in every language."""

    __slots__ = ()


def _restored(template: str, name: str, values: Mapping[str, object]) -> Phrase:
    return Phrase(template, name, **values)


def joined(texts: Iterable[str], by: str = " ") -> Phrase:
    """Join texts, each of which stays one.

    >>> joined(["Rounding", "Shuffling"], ", then ")
    'Rounding, then Shuffling'
    """
    values = {f"text{at}": each for at, each in enumerate(texts)}
    return Phrase(by.join(f"{{{each}}}" for each in values), **values)


def plural(count: int, one: str, many: str | None = None) -> Phrase:
    """Count things.

    >>> plural(1, "class", "classes"), plural(0, "row"), plural(30162, "record")
    ('1 class', '0 rows', '30,162 records')
    """
    return Phrase(f"{{count:,}} {one if count == 1 else many or one + 's'}", count=count)


def exactly(number: float) -> str:
    """Write a parameter as it was given.

    >>> exactly(0.17857142), exactly(2.0), exactly(5)
    ('0.17857142', '2', '5')
    """
    return _text(Decimal(str(number)))


def round_toward(number: float, direction: Direction) -> str:
    """Write a number with six digits at most, rounded in one direction; integers stay as they are.

    >>> round_toward(5 / 28, "up"), round_toward(8**0.5, "down"), round_toward(1.0000000000000002, "up")
    ('0.178572', '2.82842', '1.00001')
    """
    if isinstance(number, int):
        return str(number)
    way = ROUND_CEILING if direction == "up" else ROUND_FLOOR
    exact = Decimal(str(number))
    if direction == "up" and 0 < exact < _LEAST:
        return _text(_LEAST)
    return _text(Context(prec=_DIGITS, rounding=way).plus(exact))


def beside(number: Fraction | float, bound: float) -> str:
    """Write a number with six digits, or with as many as show on which side of a bound it lies.

    >>> beside(Fraction(5, 28), 0.2), beside(Fraction(5, 28), 0.178571), beside(Fraction(1, 2), 0.5)
    ('0.178571', '0.1785714', '0.5')
    """
    if isinstance(number, float) and not math.isfinite(number):
        return f"{number:g}"
    exact, limit = decimal_fraction(number), decimal_fraction(bound)
    for digits in range(_DIGITS, _MOST_DIGITS):
        context = Context(prec=digits, rounding=ROUND_HALF_EVEN)
        rounded = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
        if _side(Fraction(rounded), limit) == _side(exact, limit):
            break
    return _text(rounded)


def _side(number: Fraction, bound: Fraction) -> int:
    return (number > bound) - (number < bound)


def _text(number: Decimal) -> str:
    """Write all digits, without zeros at the end, and very large or small numbers with an exponent."""
    short = number.normalize(Context(prec=1000))
    return f"{short:f}" if -6 < short.adjusted() < 16 else f"{short:e}"
