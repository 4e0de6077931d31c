"""Several questions for one price: the caller states how much one record changes all their answers together."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from veil.dp.answers import Answer
from veil.dp.declared import Declared
from veil.dp.grid import positive
from veil.dp.price import Price
from veil.dp.questions.counting import count
from veil.dp.questions.question import Question
from veil.dp.questions.totals import sum_of, sum_reach
from veil.dp.symbolic import Readable, enclosure
from veil.errors import ParameterError


class Joint:
    """Counts and sums that were paid for together."""

    def __init__(
        self,
        declared: Declared,
        sensitivity: Readable,
        price: Price,
        ask: Callable[[Question], Answer],
    ) -> None:
        reach = positive(sensitivity, "sensitivity")
        self._reach = enclosure(lambda bits: reach.ball())[1] if reach.logarithms else reach.rational
        self._declared, self._price, self._ask = declared, price, ask

    def count(self, where: str | None = None) -> Answer:
        """Ask how many records there are, or of how many a condition is true."""
        reach = self._steps(1, Fraction(1), "a count")
        return self._ask(count(self._declared, where, self._price, "geometric", reach))

    def sum(self, column: str, *, where: str | None = None) -> Answer:
        """Ask for the sum of a column."""
        bounded = self._declared.bounded(column)
        alone = sum_reach(self._declared, bounded, where)
        reach = self._steps(alone, bounded.step, f"the sum of {column}")
        return self._ask(sum_of(self._declared, column, where, self._price, "laplace", reach))

    def _steps(self, alone: int, step: Fraction, what: str) -> int:
        """Return the joint sensitivity in steps, which is no less than that of one question."""
        together = math.ceil(self._reach / step)
        if together < alone:
            raise ParameterError(
                f"one record can change {what} alone by {float(alone * step):g}: the sensitivity of all "
                f"questions together is at least that, not {float(self._reach):g}"
            )
        return together
