"""Models that judge all classes of a table together, by their sizes alone.

They run after the models that judge class by class, on all remaining classes. If these violate a model, the
classes that are easiest to single out go first: the smallest, among equally small ones those of least loss,
then those whose labels come first in their hierarchies, compared from the last attribute to the first. How
many go is found by bisection, as in ARX, so that results can be compared.

Differences from ARX: for equal size and loss, ARX goes by row numbers; here the order of rows never matters.
And ARX leaves out the class whose labels are all `*`, as if it were suppressed. Its records are people like
others: their values in other columns are released, and a single one is distinguishable from the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Floats, Integers, Marks
from veil.base.compiled import kernel
from veil.base.exact import largest_fraction
from veil.classes.sample import Sample
from veil.classes.table import ClassTable

_DENSE = 1024
"""Sizes below this are counted in an array; there are few larger classes."""


class SizeCriterion:
    """A decision on the sizes of all remaining classes, which subclasses define by `holds`."""

    def holds(self, sizes: Integers, counts: Integers) -> bool:
        """Whether `counts[i]` classes of size `sizes[i]`, in ascending order, fulfil the model."""
        raise NotImplementedError

    def suppress(self, table: ClassTable, rejected: Marks, losses: Floats | None) -> None:
        """Mark the smallest classes until the model is fulfilled."""
        sizes, counts = _histogram(table.count, rejected)
        prefix = self.prefix(sizes, counts)
        if prefix:
            _mark(table, rejected, losses, sizes, counts, prefix)

    def fulfilled(self, table: ClassTable, rejected: Marks) -> bool:
        """Whether the classes that are not marked fulfil the model, as an empty table always does."""
        sizes, counts = _histogram(table.count, rejected)
        return not sizes.size or self.holds(sizes, counts)

    def prefix(self, sizes: Integers, counts: Integers) -> int:
        """Return how many of the smallest classes to suppress.

        Bisection finds the fewest if suppressing more never hurts. Otherwise it finds one of several numbers,
        or none: then the remaining classes violate the model.
        """
        if not sizes.size or self.holds(sizes, counts):
            return 0
        ends = np.cumsum(counts)

        def holds_without(number: int) -> bool:
            if number >= ends[-1]:
                return True
            first = int(np.searchsorted(ends, number, side="right"))
            left = counts[first:].copy()
            left[0] = ends[first] - number
            return self.holds(sizes[first:], left)

        low, high = 0, int(ends[-1]) - 1
        middle = high // 2
        while low <= high:
            if holds_without(middle + 1):
                high = middle - 1
            else:
                low = middle + 1
            middle = max(0, (low + high) // 2)
        return middle + 1 if holds_without(middle + 1) else middle + 2


class Share(NamedTuple):
    """A bound on the number of classes, or of records in classes, smaller than `below`, per record."""

    bound: Fraction
    below: int | None
    records: bool

    def holds(self, sizes: Integers) -> bool:
        """Whether classes of the given sizes keep the bound."""
        return not sizes.size or self.measure(sizes) <= self.bound

    def measure(self, sizes: Integers) -> Fraction:
        """Return the bounded share for classes of the given sizes; 0 if there are none."""
        small = sizes if self.below is None else sizes[sizes < self.below]
        number = int(small.sum()) if self.records else small.size
        return Fraction(number, max(1, int(sizes.sum())))


class ShareCriterion(SizeCriterion):
    """Bounds on shares of small classes.

    Decided in integers: no fraction of counts up to the number of records lies between a bound and the
    largest such fraction p/q below it, and no product of two such numbers overflows. Suppressing one more of
    the smallest classes never breaks a bound that holds, so the fewest to suppress are found in one pass.
    """

    def __init__(self, sample: Sample, shares: Sequence[Share]) -> None:
        rows = []
        for share in shares:
            fraction = largest_fraction(share.bound, max(1, sample.entries))
            below = sample.entries + 1 if share.below is None else min(share.below, sample.entries + 1)
            rows.append((fraction.numerator, fraction.denominator, below, share.records))
        self.shares = np.array(rows, np.int64)

    def holds(self, sizes: Integers, counts: Integers) -> bool:
        return not _shortest_prefix(sizes, counts, self.shares)

    def prefix(self, sizes: Integers, counts: Integers) -> int:
        return int(_shortest_prefix(sizes, counts, self.shares))

    def least(self, table: ClassTable) -> int:
        """Return how many records must be suppressed at this node and at every more specific one.

        Consider the records that a more specific node keeps. Here they are in no more classes than there, and
        a record that is alone, or in a small class, here was so there. So the bound on records holds for them
        with the class sizes of this node, and there is a largest set of records for which it does: all in
        large classes, and as many others as fit. The bound on classes still holds if the classes are filled
        up with their other records, and the largest union of classes for which it does lacks only the
        smallest.
        """
        sizes, counts = _histogram(table.count, np.zeros(len(table), np.uint8))
        return int(_least_records(sizes, counts, self.shares))


@kernel
def _histogram(counts: Integers, rejected: Marks) -> tuple[Integers, Integers]:
    """Return the distinct sizes of the remaining classes, in ascending order, and how many have each."""
    # Count small sizes in an array, and collect the others.
    few = np.zeros(_DENSE, np.int64)
    alone = large = 0
    for i in range(counts.size):
        if rejected[i]:
            continue
        if counts[i] == 1:  # the most frequent size, faster in a register
            alone += 1
        elif counts[i] < _DENSE:
            few[counts[i]] += 1
        else:
            large += 1
    few[1] = alone
    many = np.empty(large, np.int64)
    if large:
        large = 0
        for i in range(counts.size):
            if counts[i] >= _DENSE and not rejected[i]:
                many[large] = counts[i]
                large += 1
        many.sort()
    # Join both, leaving out sizes without a class.
    sizes = np.empty(_DENSE + large, np.int64)
    numbers = np.empty(_DENSE + large, np.int64)
    filled = 0
    for size in range(1, _DENSE):
        if few[size]:
            sizes[filled] = size
            numbers[filled] = few[size]
            filled += 1
    for t in range(large):
        if t == 0 or many[t] != many[t - 1]:
            sizes[filled] = many[t]
            numbers[filled] = 0
            filled += 1
        numbers[filled - 1] += 1
    return sizes[:filled].copy(), numbers[:filled].copy()


def _mark(
    table: ClassTable, rejected: Marks, losses: Floats | None, sizes: Integers, counts: Integers, prefix: int
) -> None:
    """Mark the first `prefix` classes in the order of size, loss and labels."""
    ends = np.cumsum(counts)
    last = int(np.searchsorted(ends, prefix))
    rest = prefix - int(ends[last] - counts[last])
    equal = _mark_smaller(table.count, rejected, sizes[last], int(counts[last]))
    # Later attributes are in later words and higher bits. Keys are unique.
    for order in (*(() if losses is None else (losses,)), *reversed(table.keys)):
        if rest == equal.size:
            break
        equal, rest = _mark_first(order[equal], equal, rejected, rest)
    rejected[equal] = 1


@kernel
def _mark_smaller(classes: Integers, rejected: Marks, size: int, number: int) -> Integers:
    """Mark all classes smaller than `size`, and return the `number` ones of that size."""
    equal = np.empty(number, np.int64)
    filled = 0
    for i in range(classes.size):
        if rejected[i] or classes[i] == 0:
            continue
        if classes[i] < size:
            rejected[i] = 1
        elif classes[i] == size:
            equal[filled] = i
            filled += 1
    return equal


@kernel
def _mark_first(
    values: NDArray[Any], classes: Integers, rejected: Marks, number: int
) -> tuple[Integers, int]:
    """Mark the `number` classes with the smallest values, except for those with the largest of these.

    Return the classes with that value, and how many of them are left to mark.
    """
    largest = _smallest(values.copy(), number - 1)
    equal = np.empty(classes.size, np.int64)
    filled = 0
    for t in range(classes.size):
        if values[t] < largest:
            rejected[classes[t]] = 1
            number -= 1
        elif values[t] == largest:
            equal[filled] = classes[t]
            filled += 1
    return equal[:filled], number


@kernel
def _smallest(values: NDArray[Any], place: int) -> Any:
    """Return the value at a place in sorted order; the array is rearranged.

    Quickselect that sets equal values aside at once, as there are few distinct losses. Pivots are
    pseudorandom: keys are often sorted, and pivots at fixed places could take quadratic time.
    """
    low, high = 0, values.size - 1
    seed = 1
    while True:
        seed = seed * 48271 % (2**31 - 1)  # Park and Miller (1988)
        here = seed % (high - low + 1)
        a, b, c = values[low + here], values[low + here // 2], values[high - here // 2]
        pivot = max(min(a, b), min(max(a, b), c))
        below, at, above = low, low, high
        while at <= above:
            value = values[at]
            if value < pivot:
                values[at] = values[below]
                values[below] = value
                below += 1
                at += 1
            elif value > pivot:
                values[at] = values[above]
                values[above] = value
                above -= 1
            else:
                at += 1
        if place < below:
            high = below - 1
        elif place > above:
            low = above + 1
        else:
            return pivot


@kernel
def _totals(sizes: Integers, counts: Integers, shares: Integers) -> tuple[int, Integers]:
    """Return the number of records, and the count of each share."""
    records = 0
    counted = np.zeros(shares.shape[0], np.int64)
    for t in range(sizes.size):
        records += sizes[t] * counts[t]
        for s in range(shares.shape[0]):
            if sizes[t] < shares[s, 2]:
                counted[s] += counts[t] * (sizes[t] if shares[s, 3] else 1)
    return records, counted


@kernel
def _meets_bounds(records: int, counted: Integers, shares: Integers) -> bool:
    holds = True
    for s in range(shares.shape[0]):
        holds &= counted[s] * shares[s, 1] <= shares[s, 0] * records
    return holds


@kernel
def _shortest_prefix(sizes: Integers, counts: Integers, shares: Integers) -> int:
    """Return how many of the smallest classes have to go until every share is kept."""
    records, counted = _totals(sizes, counts, shares)
    if _meets_bounds(records, counted, shares):
        return 0
    gone = 0
    for t in range(sizes.size):
        each = np.zeros(shares.shape[0], np.int64)
        for s in range(shares.shape[0]):
            if sizes[t] < shares[s, 2]:
                each[s] = sizes[t] if shares[s, 3] else 1
        low, high = 1, counts[t]
        if _meets_bounds(records - high * sizes[t], counted - high * each, shares):
            while low < high:
                middle = (low + high) // 2
                if _meets_bounds(records - middle * sizes[t], counted - middle * each, shares):
                    high = middle
                else:
                    low = middle + 1
            return gone + low
        gone += high
        records -= high * sizes[t]
        counted -= high * each
    return gone


@kernel
def _least_records(sizes: Integers, counts: Integers, shares: Integers) -> int:
    """Return how many records have to go for the strictest bound, each considered by itself."""
    most = 0
    for s in range(shares.shape[0]):
        share = shares[s : s + 1]
        records, counted = _totals(sizes, counts, share)
        needed = 0
        if share[0, 3]:
            # x small records may stay beside all others if x / (others + x) <= p / q.
            above, below = share[0, 0], share[0, 1]
            if above < below:
                needed = counted[0] - min(counted[0], above * (records - counted[0]) // (below - above))
        else:
            prefix = _shortest_prefix(sizes, counts, share)
            t = 0
            while prefix > 0:
                number = min(prefix, counts[t])
                needed += number * sizes[t]
                prefix -= number
                t += 1
        most = max(most, needed)
    return most
