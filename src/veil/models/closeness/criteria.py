"""t-closeness in a search: exact decisions, the smallest class that can fulfil it, and bounds on kept
records.

Equal and hierarchical distance are one computation. The hierarchical distance adds up, over the inner nodes
of a hierarchy, level/H times the exchange between children: min(pos, neg) of their extras e = q - p. As
min(pos, neg) = (sum of |e(child)| - |e(node)|) / 2, and the root on level H has no extra, the sum telescopes
to the mean, over the levels 0 to H - 1, of the equal distance of the two distributions on that level. An
equal distance is the sum of all q - p above 0, which only involves values of the class. So both are weighted
sums over groups of values: the values themselves, and the nodes of each level.
"""

from __future__ import annotations

import functools
import math
import threading
from fractions import Fraction
from typing import Any

import numpy as np

from veil.base.arrays import Codes, Integers, Marks
from veil.base.exact import largest_fraction
from veil.classes.owner_sample import OwnerSample
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, Histogram
from veil.models.closeness.bound import PAD, Bounds, Parts, foresee_cells, foresee_groups, foresee_ordered
from veil.models.closeness.kernels import (
    ClosenessTask,
    judge_groups,
    judge_ordered,
    mark_exhausted,
    reject_judged,
    set_aside_acceptable,
)

_LARGEST = 2**63 - 1

_EFFORT = 4_000_000
"""Values examined in search of the smallest class; the bound proven by then is used."""

_AT_ONCE = 200_000
"""Values examined in one go."""

_CELLS = 4
"""Most cells (for groups of values and classes) per entry of the parts for which cells pay."""

_WORTH_A_BLOCK = 8
"""Values in a block from which on it pays to check blocks first."""


class Criterion:
    """Distances as integers over `scale` times the size of the class.

    The sums fit 64 bits for classes of up to `room` records: as long as records of the table * records of the
    class * values (or levels) stay below 2**63. Larger classes, which tables of up to two million records
    with as many values do not have, are decided one by one in Python integers.
    """

    def __init__(self, sample: Sample, attribute: str, t: Fraction, scale: int) -> None:
        self.sample = sample
        self.attribute = attribute
        self.t = t
        self.records = sample.whole_of(attribute)
        self.scale = scale
        self.allowance = float(t * scale)
        self.room = _LARGEST // (scale + self.records)
        self.largest = sample.largest_size(attribute)
        # A class of c records may have a sum of at most t*scale*c. The sum over c is a fraction with a
        # denominator of at most the largest size, so t*scale can be rounded down to such a fraction
        # a + b/d, and neither a*c nor b*c overflows.
        exact = largest_fraction(t * scale, self.largest)
        self.limits = np.array([*divmod(exact.numerator, exact.denominator), exact.denominator], np.int64)
        # Results of `keepable` for a table, as `reject` is called for the same one next.
        self._last = threading.local()

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        """Mark every class whose distance is above t."""
        decided = rejected
        if getattr(self._last, "table", None) is table:
            decided, all_are = reject_judged(self._last.exhausted, self._last.bad, rejected)
            if all_are:
                return
        bad = np.zeros(len(table), np.uint8)
        self.judge(table, self._set_aside(table, decided, bad), bad)
        rejected |= bad

    def keepable(self, table: ClassTable, left: Integers, source: ClassTable, groups: Codes) -> None:
        """Lower `left` to the most records of each class that any node between the source and this one keeps.

        `groups` maps each class of the source to the class of the table that contains it.
        """
        exhausted = mark_exhausted(left)
        bad = np.zeros(len(table), np.uint8)
        parts = (self.sample.histogram(source, self.attribute), source.count, groups)
        self.foresee(table, self._set_aside(table, exhausted, bad), bad, parts, left)
        self._last.table, self._last.exhausted, self._last.bad = table, exhausted, bad

    def judge(self, table: ClassTable, aside: Marks, bad: Marks) -> None:
        """Mark bad classes among those that are not set aside."""
        raise NotImplementedError

    def foresee(self, table: ClassTable, aside: Marks, bad: Marks, parts: Parts, left: Integers) -> None:
        """Mark bad classes, and lower `left` to the records of them that can be kept."""
        raise NotImplementedError

    @property
    def bounds(self) -> Bounds:
        """T times the scale, the amount by which gains are raised, and the least size of an acceptable class."""
        return self.allowance, PAD * (self.scale + self.records), self.smallest

    def task(self, table: ClassTable, aside: Marks, bad: Marks) -> ClosenessTask:
        """Return what kernels need to judge the classes of a node."""
        return ClosenessTask(table.count, aside, bad, self.records, self.limits)

    def _set_aside(self, table: ClassTable, decided: Marks, bad: Marks) -> Marks:
        """Mark the classes that the kernel skips: decided ones, and, decided here, those beyond 64 bits."""
        if self.room >= self.largest:
            return decided
        if isinstance(self.sample, OwnerSample):  # people with several values may exceed the room
            bad |= 1 - decided
            return np.ones_like(decided)
        aside = decided | (table.count > self.room)
        histogram = self.sample.histogram(table, self.attribute)
        for i in np.flatnonzero(aside & ~decided):
            total = self.distance_sum(_counts_of(histogram, int(i)))
            bad[i] = total > self.t * self.scale * int(table.count[i])
        return aside

    def distance_sum(self, counts: Integers) -> int:
        """Return the distance of one class, from its counts of each value, times `scale` times its size."""
        raise NotImplementedError

    def least_sums(self, sizes: Integers) -> Integers:
        """Return a lower bound of `distance_sum` for all classes of each size."""
        raise NotImplementedError

    def proven_start(self) -> int:
        """Return a size below which no class fulfils the model, if easily found."""
        return 1

    @property
    def domain(self) -> int:
        """The number of values that `least_sums` examines for each size."""
        raise NotImplementedError

    @functools.cached_property
    def smallest(self) -> int:
        """The least size of a class that can fulfil the model, or a smaller one, if finding it takes long."""
        size = self.proven_start()
        whole, part, unit = self.limits.tolist()
        effort, block = 0, 1
        while size < self.records and effort < _EFFORT:
            sizes = np.arange(size, min(size + block, self.records))
            possible = self.least_sums(sizes) <= whole * sizes + part * sizes // unit
            if possible.any():
                return int(sizes[possible][0])
            size = int(sizes[-1]) + 1
            effort += sizes.size * self.domain
            block = max(1, min(2 * block, _AT_ONCE // self.domain))
        return size


class Ordered(Criterion):
    """The sum of |Q - P| over all values, over their number less one.

    P and Q are the shares of records that have a value or a smaller one, in the table and in the class.
    """

    def __init__(self, sample: Sample, attribute: str, t: Fraction) -> None:
        self.cumulated: Integers = np.cumsum(sample.distribution(attribute))
        sums = np.concatenate([[0], np.cumsum(self.cumulated)])
        self.details = (self.cumulated, sums, _near(self.cumulated))
        super().__init__(sample, attribute, t, sample.whole_of(attribute) * (self.cumulated.size - 1))
        # Blocks blur the distance by half their share of the values: usually a quarter of t.
        self.blocks = min(math.ceil(2 / t), 256) if t else 256
        self.block = self.domain // self.blocks

    def judge(self, table: ClassTable, aside: Marks, bad: Marks) -> None:
        entries = self.sample.histogram(table, self.attribute)
        judge_ordered(entries, self.task(table, aside, bad), False, self.details)

    def foresee(self, table: ClassTable, aside: Marks, bad: Marks, parts: Parts, left: Integers) -> None:
        entries = self.sample.histogram(table, self.attribute)
        foresee_ordered(entries, self.task(table, aside, bad), self.bounds, self.details, parts, left)

    def _set_aside(self, table: ClassTable, decided: Marks, bad: Marks) -> Marks:
        """Mark as well the classes that a comparison by blocks proves acceptable."""
        if self.block < _WORTH_A_BLOCK or 2 * self.largest > self.room:
            return super()._set_aside(table, decided, bad)
        aside = decided.copy()
        entries = self.sample.histogram(table, self.attribute)
        set_aside_acceptable(entries, self.task(table, aside, bad), self.block, 2 * self.blocks, self.details)
        return aside

    @property
    def domain(self) -> int:
        return self.cumulated.size

    def distance_sum(self, counts: Integers) -> int:
        size = int(counts.sum())
        here, table = _products(self.records, np.cumsum(counts), size, self.cumulated)
        return _sum(np.abs(here - table))

    def least_sums(self, sizes: Integers) -> Integers:
        """Return the least sum of all classes of each size.

        Q takes multiples of 1/size only. The multiple next to P never falls as P grows, and is 1 where P is,
        so it is the Q of some class, and no class has a smaller difference anywhere.
        """
        # Remainders of 32-bit integers are faster.
        kind = np.uint32 if int(sizes[-1]) * self.records < 2**32 else np.int64
        rest = sizes[:, None].astype(kind) * self.cumulated.astype(kind) % kind(self.records)
        least: Integers = np.minimum(rest, kind(self.records) - rest).sum(axis=1, dtype=np.int64)
        return least


class ByGroups(Criterion):
    """The mean, over the levels of a hierarchy below its root, of half the sum of |q - p| on the level.

    `levels` has, for each level above the values, the group of each value. Without any, this is the equal
    distance.
    """

    def __init__(self, sample: Sample, attribute: str, t: Fraction, levels: list[Integers]) -> None:
        values = sample.distribution(attribute)
        self.levels = _different([np.arange(values.size), *levels])
        self.masses = [np.bincount(level, values).astype(np.int64) for level, _ in self.levels]
        self.weights = np.array([weight for _, weight in self.levels], np.int64)
        parents = np.array([level for level, _ in self.levels], np.int32)
        masses = np.zeros(parents.shape, np.int64)
        for level, level_masses in enumerate(self.masses):
            masses[level, : level_masses.size] = level_masses
        self.details = (np.lexsort(parents).astype(np.int32), parents, masses, self.weights)
        super().__init__(sample, attribute, t, sample.whole_of(attribute) * (1 + len(levels)))

    def judge(self, table: ClassTable, aside: Marks, bad: Marks) -> None:
        entries = self.sample.histogram(table, self.attribute)
        judge_groups(entries, self.task(table, aside, bad), False, self.details)

    def foresee(self, table: ClassTable, aside: Marks, bad: Marks, parts: Parts, left: Integers) -> None:
        arguments = (self.task(table, aside, bad), self.bounds, self.details, parts, left)
        rows = len(table) - int(np.count_nonzero(aside))
        if rows * self.details[1].size <= _CELLS * parts[0][1].size:
            foresee_cells(*arguments)
        else:
            foresee_groups(self.sample.histogram(table, self.attribute), *arguments)

    @property
    def domain(self) -> int:
        return sum(masses.size for masses in self.masses)

    def distance_sum(self, counts: Integers) -> int:
        size, total = int(counts.sum()), 0
        for (level, weight), masses in zip(self.levels, self.masses, strict=True):
            here = np.bincount(level, counts).astype(np.int64)
            ours, table = _products(self.records, here, size, masses)
            total += weight * _sum(np.maximum(ours - table, 0))
        return total

    def proven_start(self) -> int:
        """Return the least size with which a class can have enough values.

        A class of c records has at most c groups of each level. The share of all the others is missing in it,
        and the missing shares add as much to the distance as the excess.
        """
        covered = np.zeros(max(masses.size for masses in self.masses), np.int64)
        for masses, weight in zip(self.masses, self.weights, strict=True):
            largest = np.cumsum(np.sort(masses)[::-1])
            missing = covered.size - largest.size
            covered += weight * np.pad(largest, (0, missing), constant_values=self.records)
        needed = int(self.weights.sum()) * self.records - self.t * self.scale
        return int(np.searchsorted(covered, math.ceil(needed))) + 1

    def least_sums(self, sizes: Integers) -> Integers:
        """Return the sum over the levels of the least sum that a class of each size has there.

        On one level the sum is size*N less all min(f*N, size*n). Give the records to groups one by one, each
        where that minimum grows most: by N while f*N <= size*n - N, and then once by the rest of size*n
        modulo N. The growth falls as f grows, so no other choice is better, and the sum consists of the rests
        of the groups without that last record: the smallest rests. On several levels these choices may
        contradict each other; for one level alone the least sum is exact.
        """
        total = np.zeros(sizes.size, np.int64)
        for masses, weight in zip(self.masses, self.weights, strict=True):
            rests = np.sort(sizes[:, None] * masses % self.records, axis=1)
            left = masses.size - rests.sum(axis=1) // self.records
            sums = np.pad(np.cumsum(rests, axis=1), ((0, 0), (1, 0)))
            total += weight * np.take_along_axis(sums, left[:, None], axis=1)[:, 0]
        return total


def _different(levels: list[Integers]) -> list[tuple[Integers, int]]:
    """Merge levels that group the values alike, and leave out those with one group, which has no extra."""
    distinct: list[tuple[Integers, int]] = []
    for level in levels:
        if distinct and level.max() == distinct[-1][0].max():  # from level to level groups only merge
            distinct[-1] = (distinct[-1][0], distinct[-1][1] + 1)
        elif level.max() > 0 or not distinct:
            distinct.append((level, 1))
    return distinct


def _near(cumulated: Integers) -> Codes:
    """Return a table of where the cumulated count passes a share of the records.

    Place k + 1 is the number of values with less than k/B of the records up to them. A share of k/B, give or
    take 1/B, is then passed between the numbers at places k and k + 3.
    """
    steps = 256
    while steps < min(4 * cumulated.size, 65536):
        steps *= 2
    passed = np.bincount(cumulated * steps // cumulated[-1], minlength=steps + 1)
    below = np.cumsum(passed) - passed
    return np.pad(below, (1, 2), constant_values=(0, cumulated.size)).astype(np.int32)


def _counts_of(histogram: Histogram, class_: int) -> Integers:
    """Return the count of each value in one class."""
    entries = np.flatnonzero(histogram.classes == class_)
    counts = np.zeros(histogram.domain, np.int64)
    counts[np.searchsorted(histogram.starts, entries, side="right") - 1] = histogram.counts[entries]
    return counts


def _products(records: int, here: Integers, size: int, table: Integers) -> tuple[Integers, Integers]:
    """Return class counts times table records, and vice versa, as Python integers if necessary."""
    kind: Any = np.int64 if records * size < 2**63 else object
    return records * here.astype(kind), size * table.astype(kind)


def _sum(numbers: Integers) -> int:
    """Add up non-negative numbers whose sum may exceed 64 bits."""
    return (int((numbers >> 32).sum()) << 32) + int((numbers & 0xFFFFFFFF).sum())
