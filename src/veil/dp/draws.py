"""Exact draws from distributions whose probabilities are real numbers, without rounding.

A whole number that is at least j with the probability tail(j) is drawn by reading a number U between 0 and 1
digit by digit, and taking the largest j with U < tail(j). Tails are computed in ball arithmetic, as precisely
as it takes; where the digits drawn so far leave open on which side of a tail U lies, more are drawn. So the
result has exactly the distribution of the proof, for every epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from veil.base.exact import TURN
from veil.base.randomness import Randomness
from veil.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb

Tail = Callable[[int], "arb"]
"""The probability of at least j, at the working precision; 1 for j = 0, and falling to 0."""

_WORD = 64


def checked_randomness(randomness: object) -> Randomness:
    """Return the operating system's randomness, or that of a test."""
    if randomness is None:
        return Randomness()
    if not isinstance(randomness, Randomness):
        raise ParameterError(
            "`randomness` should be Randomness.for_testing(seed), in tests, or left out, not "
            f"{randomness!r}: anyone who knows a seed can remove the noise"
        )
    return randomness


def draw_at_least(tail: Tail, randomness: Randomness, guess: Callable[[float], float] | None = None) -> int:
    """Draw a whole number, not below 0, that is at least j with the probability tail(j).

    `guess` is the result for a given U in doubles: a start that saves time and does not change the result.

    >>> from veil.base.exact import ball
    >>> [draw_at_least(lambda j: ball(2) ** -j, Randomness.for_testing(seed)) for seed in range(8)]
    [0, 0, 1, 3, 0, 0, 0, 0]
    """
    number = Digits(randomness)
    start = 0 if guess is None else max(0, int(guess(number.rounded)))
    low, high, step = start, start + 1, 1
    while low > 0 and not number.is_below(tail, low):
        low, high, step = max(0, low - step), low, 2 * step
    if high == start + 1:
        while number.is_below(tail, high):
            low, high, step = high, high + step, 2 * step
    while high - low > 1:  # at least low, and not at least high
        middle = (low + high) // 2
        if number.is_below(tail, middle):
            low = middle
        else:
            high = middle
    return low


def draw_region(chances: Callable[[], Sequence[arb]], randomness: Randomness) -> int:
    """Draw a place in a list of probabilities, at the working precision, that add up to 1.

    >>> from veil.base.exact import ball
    >>> chances = lambda: [ball("1/3"), ball("2/3")]
    >>> sum(draw_region(chances, Randomness.for_testing(seed)) for seed in range(9))
    6
    """
    number, last = Digits(randomness), len(chances()) - 1

    def up_to(place: int) -> arb:
        first, *others = chances()[: place + 1]
        return sum(others, first)

    return next((place for place in range(last) if number.is_below(up_to, place)), last)


def draw_below(bound: int, randomness: Randomness) -> int:
    """Draw a whole number from 0 to below a bound of any size, each as likely as the others.

    >>> 0 <= draw_below(10**30, Randomness()) < 10**30
    True
    """
    if bound < 2**63:
        return int(randomness.integers(bound, 1)[0])
    words = -(-bound.bit_length() // _WORD)
    spare = _WORD * words - bound.bit_length()
    while True:
        number = 0
        for word in randomness.bits(words):
            number = number << _WORD | int(word)
        if (number := number >> spare) < bound:
            return number


class Digits:
    """A number between 0 and 1 whose binary digits are drawn when they are needed."""

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness
        self._digits, self._bits = int(randomness.bits(1)[0]), _WORD

    @property
    def rounded(self) -> float:
        """The number as a double, above 0 and below 1."""
        return min((self._digits + 0.5) * 2.0**-self._bits, 1 - 2.0**-53)

    def is_below(self, tail: Tail, place: int) -> bool:
        """Return whether the number is below tail(place); equality has the probability 0."""
        from flint import arb, ctx, fmpz

        while True:
            with TURN, ctx.workprec(self._bits + _WORD):
                low = arb(fmpz(self._digits)) * arb(2) ** -self._bits
                high = arb(fmpz(self._digits + 1)) * arb(2) ** -self._bits
                bound = tail(place)
                if high <= bound:
                    return True
                if low >= bound:
                    return False
            for word in self._randomness.bits(self._bits // _WORD):  # as many again
                self._digits = self._digits << _WORD | int(word)
            self._bits *= 2
