"""Lower bounds for losses that add up over records and attributes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from veil.base.arrays import Floats, Integers, Mask
from veil.base.compiled import light_kernel
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.hierarchies.hierarchy import Hierarchy

ByValue = Sequence[Sequence[Floats]]
"""A number for each attribute, level and value."""


class Additive:
    """Costs of generalizing all records, and additions for suppressing one, by attribute and level.

    Suppressing at least n records adds at least the n smallest additions among all records. Moreover, both
    the cost of a kept record and that of a suppressed one (cost plus addition) only grow with the level,
    because a more general value covers at least as much; for attributes whose shares break that rule,
    additions are left out and the smallest cost on this or a higher level is used. An addition below zero (a
    share above 1) leaves no bound at all.

    Attributes
    ----------
    totals
        Cost of generalization by attribute and level, infinite above the height.
    additions
        Addition of every value, at the place that `Encoding.value_starts` gives it.
    """

    def __init__(self, sample: Sample, costs: ByValue, additions: ByValue) -> None:
        encoding = sample.encoding
        values = encoding.value_count
        self.starts = encoding.value_starts
        self.totals = np.full(encoding.cardinalities.shape, np.inf)
        self.additions = np.zeros(values)
        # Additions in ascending order with the records that have them: the cheapest records to suppress.
        self.cheapest = np.zeros(values)
        self.cumulated = np.zeros(values, np.int64)
        self.cumulated_cost = np.zeros(values)
        self.monotone = np.zeros(len(costs), np.bool_)
        self.margins = np.zeros(len(costs))
        self.floors = np.full(self.totals.shape, -np.inf)
        for j, hierarchy in enumerate(encoding.hierarchies):
            for level, (cost, addition) in enumerate(zip(costs[j], additions[j], strict=True)):
                frequency = sample.frequencies[j][level]
                self.totals[j, level] = math.fsum(frequency * cost)
                addition[(addition < 0) & (addition > -1e-15)] = 0.0  # Rounding, where a share is 1.
                here = slice(self.starts[j, level], self.starts[j, level] + cost.size)
                order = np.argsort(addition, kind="stable")
                self.additions[here] = addition
                self.cheapest[here] = addition[order]
                self.cumulated[here] = np.cumsum(frequency[order])
                self.cumulated_cost[here] = np.cumsum(frequency[order] * addition[order])
            if any(np.any(addition < 0) for addition in additions[j]):
                continue
            self.floors[j] = np.minimum.accumulate(self.totals[j, ::-1])[::-1]
            self.monotone[j] = _monotone(hierarchy, costs[j], additions[j])
            # Rounding in the sums over values, here and in a score, twice over.
            largest = max(float(np.max(np.abs(numbers))) for numbers in (*costs[j], *additions[j]))
            steps = hierarchy.size + 4 * hierarchy.height + 10
            self.margins[j] = sample.records * largest * steps * 2.0**-50

    def least(self, levels: Levels, least: int) -> Floats:
        """Return the least cost of each attribute at or above `levels` with `least` records suppressed."""
        return _least(
            np.array(levels), least, self.floors, self.monotone, self.margins, self.cheapest, self.cumulated,
            self.cumulated_cost, self.starts,
        )  # fmt: skip


def _monotone(hierarchy: Hierarchy, costs: Sequence[Floats], additions: Sequence[Floats]) -> bool:
    """Return whether neither a kept nor a suppressed record costs less on the next level, up to rounding."""
    for level, parents in enumerate(hierarchy.maps):
        cost, total = costs[level], costs[level] + additions[level]
        coarser = costs[level + 1] + additions[level + 1]
        if np.any(costs[level + 1][parents] < cost) or np.any(coarser[parents] < total * (1.0 - 1e-15)):
            return False
    return True


@light_kernel
def reached(cumulated: Integers, low: int, high: int, least: int) -> int:
    """Return the first place from `low` to `high` at which `least` records are reached."""
    while low < high:
        middle = (low + high) // 2
        if cumulated[middle] >= least:
            high = middle
        else:
            low = middle + 1
    return low


@light_kernel
def _least(
    levels: Integers,
    least: int,
    floors: Floats,
    monotone: Mask,
    margins: Floats,
    cheapest: Floats,
    cumulated: Integers,
    cumulated_cost: Floats,
    starts: Integers,
) -> Floats:
    out = np.empty(levels.size)
    for j in range(levels.size):
        out[j] = floors[j, levels[j]]
        if least and monotone[j]:
            low = reached(cumulated, starts[j, levels[j]], starts[j, levels[j] + 1] - 1, least)
            added = cumulated_cost[low] - (cumulated[low] - least) * cheapest[low]
            out[j] += max(0.0, added - margins[j])
    return out
