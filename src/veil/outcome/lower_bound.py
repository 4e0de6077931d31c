"""A proven lower bound on the score of every recoding of a table, the prices that prove it, and how it is worded.

The score is the mean over the records of the arithmetic mean over the cells, by the weights of the columns; that of a
suppressed record is 1. By loss and by precision, the input has a score of 0; by entropy, its own bits are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import NamedTuple

from veil.base.arrays import Integers
from veil.base.wording import Direction, Phrase
from veil.quality import Loss, QualityModel

UNIT = 2**32
"""The cost of a suppressed record, in which bounds and prices are counted."""

FAR = 2
"""A loss of so many times a bound is far above it."""

NO_BOUND = "there is a lower bound on what any recoding loses"
"""The promise that is broken where a plan has none."""

NO_TIME = Phrase("the time was not enough to prove one")
"""Why there is no bound if a search for it has ended too early."""

_DIGITS = 3
"""Digits of a score."""


@dataclass(frozen=True, eq=False)
class LowerBound:
    """No recoding with labels of the hierarchies costs less, and the prices that prove it.

    Bound and prices are figures of the input: they stay with the data holder.

    Attributes
    ----------
    bound : int
        The least cost of all records together, in `UNIT`s.
    records : int
        Number of records.
    smallest : int
        Number of records that every class has at least.
    allowed : int
        Number of records that may be suppressed.
    prices : array
        The price of each row of the input for each of its records, in `UNIT`s. Any prices prove some bound.
    suppression_price : int
        The price of each record that may be suppressed, not below 0.
    attribute : str, optional
        A sensitive attribute of which every class shows `least_values` different values.
    least_values : int
        1 without such an attribute.
    base : int
        What the input costs itself, which nothing is lost by.
    measure : str
        The name of the quality model; empty for loss.
    """

    bound: int
    records: int
    smallest: int
    allowed: int
    prices: Integers
    suppression_price: int = 0
    attribute: str | None = None
    least_values: int = 1

    base: int = 0
    measure: str = ""

    @property
    def score(self) -> Fraction:
        """The least score of a recoding, exactly; 0 if nothing better is proven."""
        return share_of_cost(self.bound, self.records, self.base)

    @property
    def claim(self) -> Phrase:
        """The promise of the bound."""
        return describe_claim(self.score, self.measure)


def share_of_cost(cost: int, records: int, base: int) -> Fraction:
    """Return a cost as a share of that of suppressing all records, both without that of the input; 0 if it is less."""
    whole = UNIT * records - base
    return Fraction(max(cost - base, 0), whole) if whole > 0 else Fraction(0)


def measure_of(quality: QualityModel) -> str:
    """Return the name of the measure that cells are recoded by; empty for loss."""
    return "" if isinstance(quality, Loss) else type(quality).__name__


def describe_bound(
    bound: Fraction, score: Fraction, measure: str = "", *, full_domain: bool = False
) -> Phrase:
    """Return what a bound says of a release with some loss, or some score by another measure, exactly or rounded up.

    The bound is rounded down, and the score and its distance to the bound up, so that the sentence never claims more
    than is proven. With `full_domain` all records of the release are generalized alike, which cell by cell need not be.

    >>> print(describe_bound(Fraction("0.02394"), Fraction("0.02642")))
    no recoding with these hierarchies loses less than 0.0239; this one loses 0.0265, 11 % above
    >>> print(describe_bound(Fraction("0.02394"), Fraction("0.6251"), full_domain=True))
    no recoding with these hierarchies loses less than 0.0239; this one loses 0.626: recoding cell by cell might lose ...
    >>> print(describe_bound(Fraction("0.02394"), Fraction("0.02642"), "Precision"))
    by Precision, no recoding with these hierarchies scores less than 0.0239; this one scores 0.0265, 11 % above
    """
    values = {"bound": round_score(bound, "down"), "loss": round_score(score, "up")}
    if measure:
        values["measure"] = measure
    words = _OF_SCORE if measure else _OF_LOSS
    if score <= max(bound, Fraction(0)):
        return Phrase(words.reached, **values)
    if bound <= 0:
        return Phrase(words.nothing, **values)
    ratio = score / bound
    values |= {"times": round_score(ratio, "up"), "share": str(math.ceil(100 * (ratio - 1)))}
    if ratio >= FAR and full_domain and not measure:
        return Phrase(
            "no recoding with these hierarchies loses less than {bound}; this one loses {loss}: recoding cell by cell "
            "might lose up to {times} times less",
            **values,
        )
    return Phrase(words.ratio if ratio >= FAR else words.gap, **values)


def describe_claim(bound: Fraction, measure: str = "") -> Phrase:
    """Return the promise of a bound, rounded down."""
    digits = round_score(bound, "down")
    if measure:
        return Phrase(_OF_SCORE.claim, bound=digits, measure=measure)
    return Phrase(_OF_LOSS.claim, bound=digits)


class _Words(NamedTuple):
    """Templates about a bound."""

    claim: str
    gap: str
    ratio: str
    reached: str
    nothing: str


_OF_LOSS = _Words(
    "no recoding with these hierarchies loses less than {bound}",
    "no recoding with these hierarchies loses less than {bound}; this one loses {loss}, {share} % above",
    "no recoding with these hierarchies loses less than {bound}; this one loses {loss}, up to {times} times as much",
    "no recoding with these hierarchies loses less than this one: {loss}",
    "this recoding loses {loss}, and no bound above 0 is proven",
)
_OF_SCORE = _Words(
    "by {measure}, no recoding with these hierarchies scores less than {bound}",
    "by {measure}, no recoding with these hierarchies scores less than {bound}; this one scores {loss}, {share} % above",
    "by {measure}, no recoding with these hierarchies scores less than {bound}; this one scores {loss}, up to {times} "
    "times as much",
    "by {measure}, no recoding with these hierarchies scores less than this one: {loss}",
    "by {measure}, this recoding scores {loss}, and no bound above 0 is proven",
)


def round_score(number: Fraction, direction: Direction) -> str:
    """Write a number with three digits, rounded in a direction."""
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING if direction == "up" else ROUND_FLOOR)
    quotient = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{quotient:f}"
