"""The ordered distance if people show several values: the largest over all choices of one value each.

A view has between L(j) and U(j) people up to a value j: those whose last value is at most j, and those whose
first one is. So no distance is larger than the sum, over all values, of max(U - P, P - L), which is attained
value by value, and by one view at once if no person has a choice. If that sum is within the limit, every view
is.
"""

from __future__ import annotations

import numpy as np

from veil.base.arrays import Integers, Marks
from veil.base.compiled import kernel
from veil.classes.kernels import Entries
from veil.classes.owner_sample import OwnerSample
from veil.classes.table import ClassTable
from veil.models.closeness.criteria import Criterion, Ordered
from veil.models.closeness.kernels import ClosenessTask, limit_of


class OrderedOfPeople(Ordered):
    """Rejects classes for which some choice of values may be too far from the table."""

    def judge(self, table: ClassTable, aside: Marks, bad: Marks) -> None:
        assert isinstance(self.sample, OwnerSample)
        lowest, highest = (self.sample.read(table, self.attribute, view) for view in ("lowest", "highest"))
        judge_between(lowest, highest, self.task(table, aside, bad), self.cumulated)

    def _set_aside(self, table: ClassTable, decided: Marks, bad: Marks) -> Marks:
        """Omit the check of one view by blocks, which does not bound the others."""
        return Criterion._set_aside(self, table, decided, bad)


@kernel
def judge_between(lowest: Entries, highest: Entries, task: ClosenessTask, cumulated: Integers) -> None:
    """Mark bad classes, cumulating from value to value the people who surely, or maybe, are up to there."""
    sizes, aside, records = task.sizes, task.aside, task.records
    maybe, surely = np.zeros(sizes.size, np.int64), np.zeros(sizes.size, np.int64)
    sums = np.zeros(sizes.size, np.int64)
    for value in range(cumulated.size):
        for e in range(lowest[0][value], lowest[0][value + 1]):
            maybe[lowest[1][e]] += lowest[2][e]
        for e in range(highest[0][value], highest[0][value + 1]):
            surely[highest[1][e]] += highest[2][e]
        for i in range(sizes.size):
            if not aside[i]:
                expected = sizes[i] * cumulated[value]
                sums[i] += max(records * maybe[i] - expected, expected - records * surely[i])
    for i in range(sizes.size):
        if not aside[i] and sums[i] > limit_of(task.limits, sizes[i]):
            task.bad[i] = 1
