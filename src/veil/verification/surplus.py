"""The surplus of labels at given prices: what the records under a label would pay beyond what it costs them.

The labels of all nodes are walked column by column. Rows under the same labels of the columns so far lie together,
those with the highest price first; the labels of one more column split them. A group is dropped, with all its parts,
as soon as none of its labels can have a surplus that counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Integers
from veil.base.compiled import kernel

Function = TypeVar("Function", bound=Callable[..., Any])

LARGEST = 2**62
"""Sums below it are added up in 64 bits, larger ones by the same code in Python's integers."""


class ColumnLabels(NamedTuple):
    """The labels of a column on each of its levels, and what a cell with each costs, by level-0 code."""

    labels: Sequence[Codes]
    costs: Sequence[Integers]


@dataclass(frozen=True, eq=False)
class PricedRows:
    """Rows with their codes by column, numbers of records and prices, and the codes of a sensitive attribute."""

    codes: Sequence[Codes]
    counts: Integers
    prices: Integers
    values: Codes


class _Groups(NamedTuple):
    """Rows by group, where each group starts and the last one ends, and the cost of the labels of each."""

    rows: Codes
    starts: Integers
    costs: Integers


class Interrupted(Exception):
    """There was no time to add up all surpluses."""


def total_surplus(
    rows: PricedRows,
    columns: Sequence[ColumnLabels],
    smallest: int,
    least_values: int,
    keep: Callable[[], bool] = lambda: True,
) -> int:
    """Return the sum of the surpluses of all labels that count.

    The surplus of a label is the largest total of price minus cost, over the choices of at least `smallest` of the
    records under it, with at least `least_values` different values; 0 if that is negative, or if there is no choice.

    A label does not count if a column can go down a level and keep the records under it, at no higher cost.
    `Interrupted` is raised as soon as `keep` says no.
    """
    if not rows.counts.size:
        return 0
    largest = max(abs(price) for price in rows.prices.tolist())
    highest = sum(int(max(costs.max() for costs in column.costs)) for column in columns)
    fits = (largest + highest) * sum(rows.counts.tolist()) < LARGEST
    return _Walk(rows, columns, max(smallest, least_values), least_values, fits, keep).total()


class _Branch(NamedTuple):
    """Groups, the places of the levels of the columns so far, and of the levels below them, -1 if there is none."""

    groups: _Groups
    places: list[int]
    lower: list[int]


class _Walk:
    """A walk through the labels of all nodes."""

    def __init__(
        self,
        rows: PricedRows,
        columns: Sequence[ColumnLabels],
        smallest: int,
        least_values: int,
        fits: bool,
        keep: Callable[[], bool],
    ) -> None:
        number: Any = np.int64 if fits else object
        self.smallest, self.least_values, self.keep = smallest, least_values, keep
        self.prices, self.counts = rows.prices.astype(number), rows.counts.astype(number)
        self.values = rows.values
        # The columns with the most levels last: they are split most often, and groups are smallest there.
        order = sorted(range(len(columns)), key=lambda j: len(columns[j].labels))
        columns = [columns[j] for j in order]
        self.codes = np.stack([rows.codes[j] for j in order])
        # The labels and the costs of all columns and levels one after the other, and where those of each begin.
        ends = np.cumsum([0, *(labels.size for column in columns for labels in column.labels)])
        firsts = np.cumsum([0, *(len(column.labels) for column in columns)])
        self.places = [ends[a:b].tolist() for a, b in pairwise(firsts)]
        self.labels = np.concatenate([labels for column in columns for labels in column.labels])
        self.costs = np.concatenate([costs for column in columns for costs in column.costs]).astype(number)
        least = [int(min(costs.min() for costs in column.costs)) for column in columns]
        self.rest = [sum(least[j + 1 :]) for j in range(len(least))]
        self.split = _split if fits else _python(_split)
        self.add_up = _add_up if fits else _python(_add_up)

    def total(self) -> int:
        """Return the sum of the surpluses."""
        rows = np.argsort(-self.prices, kind="stable").astype(np.int32)
        branches = [_Branch(_Groups(rows, np.array([0, rows.size]), 0 * self.costs[:1]), [], [])]
        for _ in self.places[:2]:  # as many branches as keep all cores busy
            branches = [each for branch in branches for each in self._branches(branch)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return sum(pool.map(self._total, branches))

    def _total(self, branch: _Branch) -> int:
        """Return the sum of the surpluses of the labels under a branch."""
        groups, places, lower = branch
        if len(places) < len(self.places):
            return sum(map(self._total, self._branches(branch)))
        return int(
            self.add_up(
                *groups, self.codes, np.array(places), np.array(lower), self.labels, self.costs,
                self.prices, self.counts, self.values, self.smallest, self.least_values,
            )
        )  # fmt: skip

    def _branches(self, branch: _Branch) -> Iterator[_Branch]:
        """Yield the branches on the levels of one more column, those of them that have parts."""
        groups, places, lower = branch
        j, below = len(places), -1
        for place in self.places[j]:
            if not self.keep():
                raise Interrupted
            parts = self.split(
                *groups, self.codes[j], place, below, self.labels, self.costs,
                self.prices, self.counts, self.rest[j], self.smallest,
            )  # fmt: skip
            if parts[0].size:
                yield _Branch(_Groups(*parts), [*places, place], [*lower, below])
            below = place


def _python(function: Function) -> Function:
    """Return a kernel as it is written, for numbers of any size."""
    return getattr(function, "py_func", function)  # with NUMBA_DISABLE_JIT it is that already


@kernel
def _split(
    rows: Codes, starts: Integers, group_costs: Integers,
    codes: Codes, place: int, lower: int, labels: Codes, costs: Integers,
    prices: Integers, counts: Integers, rest: int, smallest: int,
) -> tuple[Codes, Integers, Integers]:  # fmt: skip
    """Split groups by the labels of a column on a level, and leave out parts without a surplus that counts.

    Such a part has too few records, or no surplus at its costs and the least ones of the other columns, the `rest`, or
    its records share a label on the level below, at no higher cost. This holds for every part of the part as well.
    """
    new_rows = np.empty_like(rows)
    new_starts = np.empty(rows.size + 1, np.int64)
    new_costs = np.empty(rows.size, group_costs.dtype)
    width = labels.max() + 2
    part_of = np.zeros(width, np.int64)  # of each label: a number from 1 in its group
    first = np.empty(width, np.int64)  # code of the first row of each part
    part_costs = np.empty(width, group_costs.dtype)
    lengths = np.empty(width, np.int64)
    sizes = np.zeros(width, counts.dtype)
    surplus = np.zeros(width, prices.dtype)
    stays = np.empty(width, np.bool_)
    offsets = np.empty(width, np.int64)
    at = found = 0
    for group in range(starts.size - 1):
        # Number the labels of the group, count their rows and records, and compare the labels below.
        parts = 0
        for position in range(starts[group], starts[group + 1]):
            row = rows[position]
            code = codes[row]
            part = part_of[labels[place + code]]
            if part == 0:
                parts += 1
                part = parts
                part_of[labels[place + code]] = part
                first[part] = code
                part_costs[part] = group_costs[group] + costs[place + code]
                lengths[part] = 0
                sizes[part] = 0
                surplus[part] = 0
                stays[part] = lower < 0 or costs[lower + code] > costs[place + code]
            # Prices fall from row to row: those below the costs count as far as records are lacking.
            gain, count = prices[row] - part_costs[part] - rest, counts[row]
            if gain < 0:
                count = max(min(count, smallest - sizes[part]), 0)
            surplus[part] += count * gain
            lengths[part] += 1
            sizes[part] += counts[row]
            if lower >= 0 and labels[lower + code] != labels[lower + first[part]]:
                stays[part] = True
        # Make room for the parts that stay.
        for part in range(1, parts + 1):
            if stays[part] and sizes[part] >= smallest and surplus[part] > 0:
                new_starts[found], new_costs[found] = at, part_costs[part]
                offsets[part] = at
                at += lengths[part]
                found += 1
            else:
                stays[part] = False
        # Move their rows, which stay in order.
        for position in range(starts[group], starts[group + 1] if stays[1 : parts + 1].any() else 0):
            row = rows[position]
            part = part_of[labels[place + codes[row]]]
            if stays[part]:
                new_rows[offsets[part]] = row
                offsets[part] += 1
        for part in range(1, parts + 1):
            part_of[labels[place + first[part]]] = 0
    new_starts[found] = at
    return new_rows[:at].copy(), new_starts[: found + 1].copy(), new_costs[:found].copy()


@kernel
def _add_up(
    rows: Codes, starts: Integers, group_costs: Integers,
    codes: NDArray[np.int32], places: Integers, lower: Integers, labels: Codes, costs: Integers,
    prices: Integers, counts: Integers, values: Codes, smallest: int, least_values: int,
) -> int:  # fmt: skip
    """Add up the surpluses of the groups that count.

    The best choice takes the first record of each of the first `least_values` values, in the order of prices: any
    other choice can exchange a record for one of these, without loss. Further records follow as long as they add
    something, or as records are lacking.
    """
    last_group = np.full(values.max() + 1, -1, np.int64)  # of each value: the last group that shows it
    result = 0
    for group in range(starts.size - 1):
        total = 0
        lacking_values, lacking = least_values, smallest - least_values
        for position in range(starts[group], starts[group + 1]):
            row = rows[position]
            gain, count = prices[row] - group_costs[group], counts[row]
            if lacking_values > 0 and last_group[values[row]] < group:
                last_group[values[row]] = group
                lacking_values -= 1
                total += gain
                count -= 1
            if gain <= 0:
                if lacking <= 0 and lacking_values == 0:
                    break
                count = min(count, max(lacking, 0))
            total += count * gain
            lacking -= count
        if lacking_values > 0 or total <= 0:
            continue
        stays = True
        for j in range(places.size):
            if lower[j] < 0 or not stays:
                continue
            code = codes[j, rows[starts[group]]]
            label = labels[lower[j] + code]
            stays = costs[lower[j] + code] > costs[places[j] + code]
            for position in range(starts[group] + 1, starts[group + 1]):
                if labels[lower[j] + codes[j, rows[position]]] != label:
                    stays = True
                    break
        if stays:
            result += total
    return result
