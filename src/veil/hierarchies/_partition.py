"""Cutting an axis into intervals: the range, the levels, and the interval of each value.

The semantics are those of ARX (see `Intervals`). The arithmetic is on integers: positions are fractions,
which are brought to one common denominator first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from veil.hierarchies._common import runs
from veil.hierarchies._labels import Group, LabelFunction
from veil.hierarchies._places import SAFE, Integers


@dataclass(frozen=True)
class RangeEnd:
    """One end of the range; None is unbounded."""

    snap: Fraction | None
    coding: Fraction | None
    limit: Fraction | None

    @staticmethod
    def of_intervals(
        edge: Fraction, snap: Fraction | None, coding: Fraction | None, limit: Fraction | None
    ) -> RangeEnd:
        """Return the end of a range of listed intervals: bounds that are None are at their `edge`."""
        snap = edge if snap is None else snap
        coding = snap if coding is None else coding
        return RangeEnd(snap, coding, coding if limit is None else limit)

    @staticmethod
    def of_widths(snap: Fraction | None, coding: Fraction | None, limit: Fraction | None) -> RangeEnd:
        """Return the end of a range without listed intervals; a single bound is also the snap bound."""
        bounds = [bound for bound in (snap, coding, limit) if bound is not None]
        if not bounds:
            return RangeEnd(None, None, None)
        snap = bounds[0] if snap is None else snap
        return RangeEnd(snap, snap if coding is None else coding, limit)


@dataclass(frozen=True)
class Range:
    """Both ends of the range."""

    lower: RangeEnd
    upper: RangeEnd

    def __iter__(self) -> Iterator[Fraction]:
        """Yield the bounds from the lowest to the highest."""
        low, high = self.lower, self.upper
        bounds = (low.limit, low.coding, low.snap, high.snap, high.coding, high.limit)
        return (bound for bound in bounds if bound is not None)

    def is_ordered(self) -> bool:
        """Whether minimum ≤ bottom coding ≤ lower snap < upper snap ≤ top coding ≤ maximum."""
        bounds = list(self)
        crossing = None not in (self.lower.snap, self.upper.snap) and self.lower.snap == self.upper.snap
        return bounds == sorted(bounds) and not crossing

    @property
    def span(self) -> Fraction | None:
        """The length from limit to limit."""
        if self.lower.limit is None or self.upper.limit is None:
            return None
        return self.upper.limit - self.lower.limit


@dataclass(frozen=True)
class IntervalLevel:
    """Neighbouring intervals between `cuts`, repeated without end in both directions, with their labels."""

    cuts: tuple[Fraction, ...]
    labels: tuple[LabelFunction | None, ...]

    def group(self, groups: Sequence[Group]) -> IntervalLevel:
        """Return the next level, with groups of consecutive intervals.

        Groups that need more intervals than are listed continue with the repetitions; groups that need fewer
        start again from the first group until all intervals are used.
        """
        count = len(self.labels)
        period = self.cuts[-1] - self.cuts[0]
        ends: list[int] = [0]
        labels: list[LabelFunction | None] = []
        once = sum(group.size for group in groups) >= count
        while not labels or (not once and ends[-1] < count):
            for group in groups:
                if not once and ends[-1] == count:
                    break
                end = ends[-1] + group.size
                ends.append(end if once else min(end, count))
                labels.append(group.label)
        cuts = (self.cuts[end % count] + period * (end // count) for end in ends)
        return IntervalLevel(tuple(cuts), tuple(labels))


@dataclass(frozen=True)
class Segment:
    """An interval with at least one value, or the range below or above the coding bounds."""

    where: Literal["inside", "below", "above"]
    lower: Fraction | None
    upper: Fraction | None
    label: LabelFunction | None


class Line:
    """Sorted positions, to be cut level by level."""

    def __init__(
        self, floors: Callable[[int], Integers], levels: Sequence[IntervalLevel], bounds: Range
    ) -> None:
        """Take the floors of all positions, times a scale that makes all cuts and bounds integers.

        A position is before a cut if its floor is. Values with the same floor are a `group`, and all results
        are for groups.
        """
        marks = [*bounds, *(cut for level in levels for cut in level.cuts)]
        self._scale = math.lcm(*(mark.denominator for mark in marks))
        self._bounds = bounds
        places = floors(self._scale)
        first, self.group = runs(places)
        places = places[first]
        ends = [int(places[0]), int(places[-1])] if len(places) else []
        largest = max(map(abs, [*ends, *(self._whole(mark) for mark in marks)]), default=0)
        self._dtype: type = np.int64 if largest < SAFE else object
        self._places: Integers = places.astype(self._dtype, copy=False)

    def outside(self) -> npt.NDArray[np.intp]:
        """Return the values (not groups) beyond the limits."""
        wrong = np.zeros(len(self._places), dtype=bool)
        if self._bounds.lower.limit is not None:
            wrong |= (self._places < self._whole(self._bounds.lower.limit)).astype(bool)
        if self._bounds.upper.limit is not None:
            wrong |= (self._places >= self._whole(self._bounds.upper.limit)).astype(bool)
        return np.flatnonzero(wrong[self.group])

    def cut(self, level: IntervalLevel) -> tuple[npt.NDArray[np.intp], list[Segment]]:
        """Return the piece of each group, and the pieces, in ascending order."""
        low, high = self._bounds.lower, self._bounds.upper
        x = self._places
        index, start, end = self._locate(x, level)
        first = last = None
        if low.snap is not None and low.coding is not None:
            at, _, stop = self._one(low.snap, level)
            first = [at, self._whole(low.coding), stop]
        if high.snap is not None and high.coding is not None:
            at, begin, _ = self._one(high.snap, level, before=True)
            last = [at, begin, self._whole(high.coding)]
        if first and last and first[2] > last[1]:
            first[2] = last[2]
            last = None
        if last:
            self._replace(end > last[1], index, start, end, last)
        if first:
            self._replace(start < first[2], index, start, end, first)

        state = np.ones(len(x), dtype=np.int8)
        if low.coding is not None:
            state[(x < self._whole(low.coding)).astype(bool)] = 0
        if high.coding is not None:
            state[(x >= self._whole(high.coding)).astype(bool)] = 2
        start[state != 1] = 0
        new = np.ones(len(x), dtype=bool)
        new[1:] = (state[1:] != state[:-1]) | (start[1:] != start[:-1]).astype(bool)
        pieces = [
            self._piece(int(state[at]), int(index[at]), start[at], end[at], level)
            for at in np.flatnonzero(new)
        ]
        return np.cumsum(new) - 1, pieces

    def _piece(self, state: int, index: int, start: int, end: int, level: IntervalLevel) -> Segment:
        if state == 0:
            return Segment("below", self._bounds.lower.limit, self._bounds.lower.coding, None)
        if state == 2:
            return Segment("above", self._bounds.upper.coding, self._bounds.upper.limit, None)
        limits = Fraction(int(start), self._scale), Fraction(int(end), self._scale)
        return Segment("inside", *limits, level.labels[index])

    def _locate(self, places: Integers, level: IntervalLevel) -> tuple[Integers, Integers, Integers]:
        """Return number, start and end of the interval around each position."""
        cuts: Integers = np.array([self._whole(cut) for cut in level.cuts], dtype=self._dtype)
        period = cuts[-1] - cuts[0]
        offset = (places - cuts[0]) // period * period
        index = np.searchsorted(cuts, places - offset, side="right") - 1
        return index, cuts[index] + offset, cuts[index + 1] + offset

    def _one(self, place: Fraction, level: IntervalLevel, before: bool = False) -> tuple[int, int, int]:
        """Return the interval around a position; with `before`, its start does not belong to an interval."""
        whole = self._whole(place)
        index, start, end = self._locate(np.array([whole], dtype=self._dtype), level)
        if before and start[0] == whole:
            index, start, end = self._locate(np.array([whole - 1], dtype=self._dtype), level)
        return int(index[0]), start[0], end[0]

    @staticmethod
    def _replace(which: Integers, index: Integers, start: Integers, end: Integers, by: list[Any]) -> None:
        which = which.astype(bool)
        index[which], start[which], end[which] = by

    def _whole(self, place: Fraction) -> int:
        return place.numerator * (self._scale // place.denominator)
