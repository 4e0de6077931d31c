"""A proven lower bound on the loss of every recoding of a table, with the prices that prove it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from veil.base.arrays import Integers

UNIT = 2**32
"""The loss of a suppressed record, in which bounds and prices are counted: 1 of a record."""


@dataclass(frozen=True, eq=False)
class LowerBound:
    """No recoding with labels of the hierarchies loses less, and the prices that prove it.

    The prices are figures of the input, as is the bound: both stay with the data holder.

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
        A price for each row of the input, in `UNIT`s, the same for each of its records. Any prices prove some bound.
    suppression_price : int
        A price for each record that may be suppressed, not below 0.
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
        """The least loss as a mean over records, exactly."""
        return Fraction(max(self.bound, 0), UNIT * self.records) if self.records else Fraction(0)
