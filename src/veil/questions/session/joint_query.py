"""Several questions for one privacy loss, under a declared joint sensitivity.

Laplace noise of the scale s / epsilon in every answer hides a person who changes all answers together by at
most s (in L1 distance). The sensitivities of the questions are added up; a question that would exceed s is
refused, and so are all that follow. Groups that exclude each other are one histogram, whose numbers a person
changes together by no more than one of them alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from veil.dp.declared import Declared
from veil.dp.grid import positive
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.symbolic import Readable, enclosure
from veil.errors import BudgetError
from veil.questions.mechanisms.answers import Answer
from veil.questions.mechanisms.counting import cells_together, count, histogram
from veil.questions.mechanisms.question import Question
from veil.questions.mechanisms.totals import sum_of, sum_reach


class Joint:
    """Counts, histograms and sums paid for together."""

    def __init__(
        self,
        declared: Declared,
        sensitivity: Readable,
        loss: PrivacyLoss,
        ask: Callable[[Question], Answer],
    ) -> None:
        reach = positive(sensitivity, "sensitivity")
        self._reach = enclosure(lambda bits: reach.ball())[1] if reach.logarithms else reach.rational
        self._left, self._refused = self._reach, ""
        self._declared, self._loss, self._ask = declared, loss, ask

    def count(self, where: str | None = None) -> Answer:
        """Ask for the number of records, or of those that fulfil a condition."""
        question = count(self._declared, where, self._loss, "geometric", math.ceil(self._reach))
        return self._use(Fraction(self._declared.unit.rows), question)

    def histogram(self, by: str | Sequence[str], *, where: str | None = None) -> Answer:
        """Ask how often each key of a column occurs, or each combination of keys of several columns."""
        cells = self._declared.cells((by,) if isinstance(by, str) else tuple(by))
        question = histogram(self._declared, by, where, self._loss, "geometric", math.ceil(self._reach))
        return self._use(Fraction(cells_together(self._declared, cells) * self._declared.unit.rows), question)

    def sum(self, column: str, *, where: str | None = None) -> Answer:
        """Ask for the sum of a column."""
        bounded = self._declared.bounded(column)
        steps = math.ceil(self._reach / bounded.step)
        question = sum_of(self._declared, column, where, self._loss, "laplace", steps)
        return self._use(sum_reach(self._declared, bounded, where) * bounded.step, question)

    def _use(self, alone: Fraction, question: Question) -> Answer:
        """Ask a question unless the joint sensitivity would be exceeded."""
        if self._refused:
            raise BudgetError(f"{self._refused!r} was refused, so all further joint questions are refused")
        if alone > self._left:
            self._refused = question.label
            raise BudgetError(
                f"one person can change the answer to {question.label!r} by {float(alone):g}, and {float(self._left):g} is "
                f"left of the joint sensitivity, {float(self._reach):g}. Declare the sum of all questions; counts of groups "
                "that exclude each other are one histogram"
            )
        question.check()
        self._left -= alone
        return self._ask(question)
