"""Privacy budgets as exact numbers, and rational enclosures of real numbers.

A budget is often a logarithm: e^-ln(2) is one half, and no double is ln(2). `Symbolic` keeps the number as
written, adds and compares without rounding, and decides whether its exponential is a rational number.

Comparisons are those of `veil.base.exact`: right, or on the safe side.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn, Union

from veil.base.exact import PRECISIONS, TURN, Real, ball, decimal_fraction, rational, sign
from veil.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb

Readable = Union[int, float, str, Decimal, Fraction, "Symbolic"]
"""Types that a budget can be read from."""


@functools.total_ordering
@dataclass(frozen=True, eq=True)
class Symbolic:
    """A rational number plus rational multiples of logarithms of primes.

    Sums, differences and rational multiples are exact, and so are comparisons: logarithms of different primes
    are linearly independent over the rationals (unique factorization), and with a rational number other than
    0 they still are (Lindemann), so two such numbers are equal only if all their parts are.

    >>> Symbolic.read("ln(2)"), Symbolic.read("2*ln(3)/3"), Symbolic.read(0.1)
    (Symbolic('ln(2)'), Symbolic('2/3*ln(3)'), Symbolic('0.1'))
    >>> Symbolic.read("ln(8)") - 2 * Symbolic.read("ln(2)") == Symbolic.read("ln(2)")
    True
    >>> Symbolic.read("ln(2)") > Symbolic.read(0.6931471805599453)
    True
    """

    rational: Fraction
    logarithms: tuple[tuple[int, Fraction], ...] = ()

    @classmethod
    def read(cls, value: Readable, name: str = "epsilon") -> Symbolic:
        """Read a number, or a text with numbers, ``+ - * /``, parentheses and ``ln``.

        A double is the decimal that it prints as. `name` is the parameter that errors name. Numbers beyond
        the range of doubles, or with more digits than can be printed, are refused.
        """
        if isinstance(value, Symbolic):
            return value
        if isinstance(value, str):
            number = _Reader(value, name).whole()
        elif isinstance(value, bool) or not _is_finite(value):
            _refuse(value, name)
        elif isinstance(value, int | Fraction):
            number = cls(Fraction(value))
        elif isinstance(value, Decimal) and abs(value.adjusted()) > _LARGEST_EXPONENT:
            _refuse(value, name, _OUT_OF_RANGE)
        else:
            number = cls(decimal_fraction(value))
        for part in (number.rational, *(exponent for _, exponent in number.logarithms)):
            if part and not _LARGEST**-1 <= abs(part) <= _LARGEST:
                _refuse(value, name, _OUT_OF_RANGE)
            if part.denominator > _LARGEST_DENOMINATOR:
                _refuse(value, name, ": it has too many digits")
        return number

    def __add__(self, other: Symbolic) -> Symbolic:
        parts = dict(self.logarithms)
        for prime, exponent in other.logarithms:
            parts[prime] = parts.get(prime, Fraction(0)) + exponent
        logarithms = tuple(sorted((prime, exponent) for prime, exponent in parts.items() if exponent))
        return Symbolic(self.rational + other.rational, logarithms)

    def __mul__(self, factor: int | Fraction) -> Symbolic:
        if factor == 0:
            return Symbolic(Fraction(0))
        return Symbolic(
            self.rational * factor, tuple((prime, factor * exponent) for prime, exponent in self.logarithms)
        )

    __rmul__ = __mul__

    def __truediv__(self, divisor: int | Fraction) -> Symbolic:
        return self * (1 / Fraction(divisor))

    def __neg__(self) -> Symbolic:
        return self * -1

    def __sub__(self, other: Symbolic) -> Symbolic:
        return self + -other

    def __lt__(self, other: Symbolic) -> bool:
        return (self - other).sign() < 0

    def sign(self) -> int:
        """Return -1, 0 or 1."""
        if not self.logarithms:
            return (self.rational > 0) - (self.rational < 0)
        direction = sign(lambda bits: self.ball())
        if direction is None:  # never zero here, see above: only numbers made to be this close get so far
            raise ParameterError(f"{self} is too close to 0 to be distinguished from it")
        return direction

    def ball(self) -> arb:
        """Return a ball around the number, at the working precision."""
        total = ball(self.rational)
        for prime, exponent in self.logarithms:
            total += ball(exponent) * ball(prime).log()
        return total

    def exponential(self) -> Fraction | None:
        """Return e to this number if that is rational, else None.

        e^q is transcendental for a rational q other than 0 (Lindemann), also times an algebraic number; and a
        product of rational powers of primes is rational only if all exponents are integers.

        >>> Symbolic.read("-ln(2)").exponential(), Symbolic.read("ln(2)/2").exponential()
        (Fraction(1, 2), None)
        """
        if self.rational or any(exponent.denominator > 1 for _, exponent in self.logarithms):
            return None
        if sum(abs(exponent) * prime.bit_length() for prime, exponent in self.logarithms) > 10_000:
            return None  # too long to work with: balls decide, on the safe side where they stay open
        powers = (Fraction(prime) ** int(exponent) for prime, exponent in self.logarithms)
        return math.prod(powers, start=Fraction(1))

    def __float__(self) -> float:
        """Return a double next to the number."""
        if not self.logarithms:
            return float(self.rational)
        low, high = enclosure(lambda bits: self.ball())
        return float((low + high) / 2)

    def __str__(self) -> str:
        if not self.logarithms:
            return _text(self.rational)
        scale = functools.reduce(_common, (exponent for _, exponent in self.logarithms))
        powers = (Fraction(prime) ** int(exponent / scale) for prime, exponent in self.logarithms)
        base = math.prod(powers, start=Fraction(1))
        terms = [(scale, _text(base))]
        if max(base.numerator, base.denominator) > _LARGEST_IN_LOGARITHM:  # could not be read again
            terms = [(exponent, str(prime)) for prime, exponent in self.logarithms]
        texts = [_text(self.rational)] if self.rational else []
        texts += [f"ln({of})" if factor == 1 else f"{_text(factor)}*ln({of})" for factor, of in terms]
        return " + ".join(texts)

    def __repr__(self) -> str:
        return f"Symbolic({str(self)!r})"


def enclosure(number: Real, accuracy: int = 60) -> tuple[Fraction, Fraction]:
    """Return a rational lower and upper bound of a real number, equal to so many bits if it is not 0.

    >>> low, high = enclosure(lambda bits: ball(2).sqrt())
    >>> low**2 < 2 < high**2, float(low)
    (True, 1.4142135623730951)
    """
    from flint import ctx

    with TURN:
        for bits in PRECISIONS:
            with ctx.workprec(bits):
                value = number(bits)
                close = value.is_finite() and (value.is_exact() or value.rel_accuracy_bits() >= accuracy)
                if close or (bits == PRECISIONS[-1] and value.is_finite()):
                    return rational(value.lower()), rational(value.upper())
    raise ArithmeticError("the number cannot be enclosed")


def _is_finite(value: object) -> bool:
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return isinstance(value, int | Fraction)


def brief(value: object) -> str:
    """Return a value for messages: Python does not print whole numbers of thousands of digits."""
    try:
        return f"{value!r:.100}"
    except ValueError:
        return "one of thousands of digits"


def _refuse(value: object, name: str, reason: str = "") -> NoReturn:
    raise ParameterError(
        f'`{name}` should be a number such as 1, 0.5, "1/3" or "2*ln(3)/3", not {brief(value)}{reason}'
    )


def _common(one: Fraction, other: Fraction) -> Fraction:
    """Return the largest rational of which both are integer multiples."""
    under = math.lcm(one.denominator, other.denominator)
    return Fraction(math.gcd(int(one * under), int(other * under)), under)


def _text(number: Fraction) -> str:
    if number.denominator == 1:
        return str(number.numerator)
    try:
        short = repr(float(number))
    except OverflowError:
        return str(number)
    return short if Fraction(short) == number else str(number)


_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(ln|log)\b|([-+*/()]))")
_LONGEST = 1000
_DEEPEST = 50
_LARGEST_EXPONENT = 400
_LARGEST = Fraction(10**300)
"""Largest absolute number, and one over it the least that is not 0."""
_LARGEST_DENOMINATOR = 10**1000
_OUT_OF_RANGE = ": numbers go from 1e-300 to 1e300"
_LARGEST_IN_LOGARITHM = 10**30


class _Reader:
    """Reads a text by recursive descent. Nothing in it is ever evaluated as code."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        if len(text) > _LONGEST:
            self.refuse(f": texts have at most {_LONGEST} characters")
        self.tokens = list(self._split())
        self.place = 0
        self.depth = 0

    def _split(self) -> Iterator[str]:
        place, text = 0, self.text.rstrip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                self.refuse(f": {text[place:].strip()[:20]!r} cannot be read")
            yield "ln" if match[2] else match[1] or match[3]
            place = match.end()

    def refuse(self, reason: str = "") -> NoReturn:
        _refuse(self.text, self.name, reason)

    def take(self, *tokens: str) -> str | None:
        """Return the next token and advance if it is one of those given; otherwise None."""
        if self.place < len(self.tokens) and self.tokens[self.place] in tokens:
            self.place += 1
            return self.tokens[self.place - 1]
        return None

    def whole(self) -> Symbolic:
        value = self.sum()
        if self.place < len(self.tokens):
            self.refuse(f": {self.tokens[self.place]!r} is one too many")
        return value

    def sum(self) -> Symbolic:
        total = self.product()
        while operator := self.take("+", "-"):
            term = self.product()
            total = total + term if operator == "+" else total - term
        return total

    def product(self) -> Symbolic:
        value = self.factor()
        while operator := self.take("*", "/"):
            other = self.factor()
            if operator == "*":
                if value.logarithms:
                    value, other = other, value
                if value.logarithms:
                    self.refuse(": two logarithms are multiplied")
                value = other * value.rational
            elif other.logarithms or not other.rational:
                self.refuse(": divided by 0" if not other.logarithms else ": divided by a logarithm")
            else:
                value = value / other.rational
        return value

    def factor(self) -> Symbolic:
        negative = False
        while operator := self.take("-", "+"):
            negative ^= operator == "-"
        value = self.operand()
        return -value if negative else value

    def operand(self) -> Symbolic:
        if self.take("ln"):
            return self.logarithm(self.parenthesis())
        if self.place < len(self.tokens) and self.tokens[self.place] == "(":
            return self.parenthesis()
        return Symbolic(self.number())

    def parenthesis(self) -> Symbolic:
        if not self.take("("):
            self.refuse(": '(' is missing")
        self.depth += 1
        if self.depth > _DEEPEST:
            self.refuse(f": parentheses nest at most {_DEEPEST} deep")
        inner = self.sum()
        self.depth -= 1
        if not self.take(")"):
            self.refuse(": ')' is missing")
        return inner

    def number(self) -> Fraction:
        token = self.tokens[self.place] if self.place < len(self.tokens) else ""
        if not token[:1].isdigit() and token[:1] != ".":
            self.refuse(": a number is missing")
        self.place += 1
        _, _, exponent = token.lower().partition("e")
        if exponent and abs(int(exponent)) > _LARGEST_EXPONENT:
            self.refuse(f": powers of ten go up to {_LARGEST_EXPONENT}")
        return Fraction(token)

    def logarithm(self, of: Symbolic) -> Symbolic:
        number = of.rational
        if of.logarithms or number <= 0:
            self.refuse(": ln needs a positive number")
        if max(number.numerator, number.denominator) > _LARGEST_IN_LOGARITHM:
            self.refuse(": numbers in ln have at most 30 digits")
        from flint import fmpz

        exponents = [(int(prime), Fraction(int(power))) for prime, power in fmpz(number.numerator).factor()]
        exponents += [
            (int(prime), Fraction(-int(power))) for prime, power in fmpz(number.denominator).factor()
        ]
        return Symbolic(Fraction(0), tuple(sorted(exponents)))
