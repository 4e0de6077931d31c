"""A proven lower bound on the loss of every recoding of a table, the prices that prove it, and how it is worded.

Loss is here the mean over the records of the arithmetic mean over the cells, by the weights of the columns; that of a
suppressed record is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from veil.base.arrays import Integers
from veil.base.wording import Direction, Phrase

UNIT = 2**32
"""The loss of a suppressed record, in which bounds and prices are counted."""

FAR = 2
"""A loss of so many times a bound is far above it."""

NO_BOUND = "there is a lower bound on what any recoding loses"
"""The promise that is broken where a plan has none."""

NO_TIME = Phrase("the time was not enough to prove one")
"""Why there is no bound if a search for it has ended too early."""

_DIGITS = 3
"""Digits of a loss."""


@dataclass(frozen=True, eq=False)
class LowerBound:
    """No recoding with labels of the hierarchies loses less, and the prices that prove it.

    Bound and prices are figures of the input: they stay with the data holder.

    Attributes
    ----------
    bound : int
        The least loss of all records together, in `UNIT`s.
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
    """

    bound: int
    records: int
    smallest: int
    allowed: int
    prices: Integers
    suppression_price: int = 0
    attribute: str | None = None
    least_values: int = 1

    @property
    def loss(self) -> Fraction:
        """The least loss of a record on average, exactly; 0 if nothing better is proven."""
        return Fraction(max(self.bound, 0), UNIT * self.records) if self.records else Fraction(0)


def describe_bound(bound: Fraction, loss: Fraction, *, full_domain: bool = False) -> Phrase:
    """Return what a bound says of a release that loses so much, exactly or rounded up.

    The bound is rounded down, and the loss and its distance to the bound up, so that the sentence never claims more
    than is proven. With `full_domain` all records of the release are generalized alike, which cell by cell need not be.

    >>> print(describe_bound(Fraction("0.02394"), Fraction("0.02642")))
    no recoding with these hierarchies loses less than 0.0239; this one loses 0.0265, 11 % above
    >>> print(describe_bound(Fraction("0.02394"), Fraction("0.6251"), full_domain=True))
    no recoding with these hierarchies loses less than 0.0239; this one loses 0.626: recoding cell by cell might lose ...
    """
    values = {"bound": round_loss(bound, "down"), "loss": round_loss(loss, "up")}
    if loss <= max(bound, Fraction(0)):
        return Phrase("no recoding with these hierarchies loses less than this one: {loss}", **values)
    if bound <= 0:
        return Phrase("this recoding loses {loss}, and no bound above 0 is proven", **values)
    ratio = loss / bound
    values |= {"times": round_loss(ratio, "up"), "share": str(math.ceil(100 * (ratio - 1)))}
    if ratio >= FAR and full_domain:
        return Phrase(
            "no recoding with these hierarchies loses less than {bound}; this one loses {loss}: recoding cell by cell "
            "might lose up to {times} times less",
            **values,
        )
    if ratio >= FAR:
        return Phrase(
            "no recoding with these hierarchies loses less than {bound}; this one loses {loss}, up to {times} times as "
            "much",
            **values,
        )
    return Phrase(
        "no recoding with these hierarchies loses less than {bound}; this one loses {loss}, {share} % above",
        **values,
    )


def describe_claim(bound: Fraction) -> Phrase:
    """Return the promise of a bound, rounded down."""
    return Phrase(
        "no recoding with these hierarchies loses less than {bound}", bound=round_loss(bound, "down")
    )


def round_loss(number: Fraction, direction: Direction) -> str:
    """Write a number with three digits, rounded in a direction."""
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING if direction == "up" else ROUND_FLOOR)
    quotient = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{quotient:f}"
