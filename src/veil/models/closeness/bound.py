"""Upper bounds on the records of a rejected class that can be kept, for every way to split the class.

The records of a class C that a more specific node keeps are a union of acceptable classes, which is
acceptable itself, as distances are convex.

A distance is the greatest of several linear functions of a class's counts f. Each of them gives a potential
to every value and has a cost, both the same for all classes: the sum of f*N*potential over the values, less
size*cost, is at most the distance of a class (times K and its size). So records of C can be kept together
only if their gains, N*potential - cost - t*K each, add up to at most 0. The gains of all records of C add up
to its excess. While that is above 0, records must go; fewest go if those of greatest gain go first.

Any function gives a bound; the tightness varies. The greatest one for C itself is good, that for the records
that can be kept is better: values of which C has too little may be too frequent among fewer records.

Between some more specific node and this one, records that share a class there (a part of C) stay together.
Then whole parts must go, those with the greatest gain for a record first.
"""

from __future__ import annotations

import numpy as np

from veil.base.arrays import Codes, Integers
from veil.base.compiled import kernel
from veil.classes.kernels import Entries
from veil.models.closeness.kernels import (
    ClosenessTask,
    Groups,
    Line,
    fewer,
    judge_groups,
    judge_ordered,
    mark_bad,
    open_rows,
    potentials_of_groups,
)

Parts = tuple[Entries, Integers, Codes]
"""Classes of a more specific node: entries, sizes, and the class here that contains each."""

Bounds = tuple[float, float, int]
"""t*K; the amount by which gains are raised; and the size below which no class is acceptable."""

STEPS = 16
"""Gains are not sorted, only put into so many equal ranges."""

PAD = 1e-12
"""The amount by which gains are raised, relative to the numbers in them: far more than rounding errors."""


@kernel
def foresee_groups(
    entries: Entries, task: ClosenessTask, bounds: Bounds, groups: Groups, parts: Parts, left: Integers
) -> None:
    """Do as `judge_groups`, and lower `left` to the records that can be kept of bad classes."""
    slots, state, met = judge_groups(entries, task, True, groups)
    if state.shape[0] > 1 and task.bad.any():
        potentials = potentials_of_groups(entries, slots, state, met, task.records, bounds[0], groups)
        _keep_of_entries(entries, task, slots, state, potentials, parts, bounds, left)


@kernel
def foresee_cells(task: ClosenessTask, bounds: Bounds, groups: Groups, parts: Parts, left: Integers) -> None:
    """Do as `foresee_groups`, with a cell for each group and class: faster, if there are few."""
    (starts, classes, counts), part_sizes, owners = parts
    _, parents, masses, weights = groups
    records = task.records
    slots, state = open_rows(task.aside, task.sizes, 1)
    row_sizes = state[:, 0].copy()
    if row_sizes.size == 1:
        return
    # Count the records of each class in each group, and judge.
    levels, domain = parents.shape
    cells = np.zeros((levels, domain, row_sizes.size), np.int64)
    part_slots = slots[owners]
    for value in range(domain):
        here = cells[0, value]
        for e in range(starts[value], starts[value + 1]):
            here[np.uint32(part_slots[np.uint32(classes[e])])] += counts[e]
    for l in range(1, levels):
        for value in range(domain):
            cells[l, parents[l, value]] += cells[0, value]
    totals, costs = _choose(cells, row_sizes, row_sizes, records, masses, weights, False)
    if not mark_bad(task, slots, totals):
        return
    # Choose the groups again by what can be kept, and add up the potentials of each part.
    part_slots = slots[owners]
    bars = fewer(row_sizes, totals, costs, float(records) * weights.sum(), bounds[0])
    totals, costs = _choose(cells, row_sizes, bars, records, masses, weights, True)
    potentials = cells[0]
    weighed = np.zeros(part_sizes.size, np.int64)
    for value in range(domain):
        here = potentials[value]
        for l in range(1, levels):
            here += cells[l, parents[l, value]]
        for e in range(starts[value], starts[value + 1]):
            j = np.uint32(classes[e])
            weighed[j] += counts[e] * here[np.uint32(part_slots[j])]
    keep_parts(task, slots, totals, costs, weighed, part_slots, part_sizes, bounds, left)


@kernel
def _choose(
    cells: Integers,
    sizes: Integers,
    bars: Integers,
    records: int,
    masses: Integers,
    weights: Integers,
    replace: bool,
) -> tuple[Integers, Integers]:
    """Choose the groups of a class with more records than the table has among as many as the bar.

    Return the sum and the cost of this choice for each class. With `replace`, weights of the chosen groups
    replace the counts of records.
    """
    totals, costs = np.zeros(sizes.size, np.int64), np.zeros(sizes.size, np.int64)
    for l in range(weights.size):
        for group in range(masses.shape[1]):
            mass, here = masses[l, group], cells[l, group]
            for s in range(sizes.size if mass > 0 else 0):
                counted = weights[l] if records * here[s] > bars[s] * mass else 0
                totals[s] += counted * (records * here[s] - sizes[s] * mass)
                costs[s] += counted * mass
                if replace:
                    here[s] = counted
    return totals, costs


@kernel
def foresee_ordered(
    entries: Entries, task: ClosenessTask, bounds: Bounds, line: Line, parts: Parts, left: Integers
) -> None:
    """Do as `judge_ordered`, and lower `left` to the records that can be kept of bad classes."""
    slots, state, potentials = judge_ordered(entries, task, True, line)
    if state.shape[0] > 1 and task.bad.any():
        _keep_of_entries(entries, task, slots, state, potentials, parts, bounds, left)


@kernel
def _keep_of_entries(
    entries: Entries,
    task: ClosenessTask,
    slots: Codes,
    state: Integers,
    potentials: Codes,
    parts: Parts,
    bounds: Bounds,
    left: Integers,
) -> None:
    """Do as `keep_parts`, given the potential of each entry."""
    starts, classes, _ = entries
    (part_starts, part_classes, part_counts), part_sizes, owners = parts
    part_slots = slots[owners]
    current = np.zeros(state.shape[0], np.int64)
    weighed = np.zeros(part_sizes.size, np.int64)
    for value in range(starts.size - 1):
        for e in range(starts[value], starts[value + 1]):
            current[np.uint32(slots[np.uint32(classes[e])])] = potentials[e]
        for e in range(part_starts[value], part_starts[value + 1]):
            j = np.uint32(part_classes[e])
            weighed[j] += part_counts[e] * current[np.uint32(part_slots[j])]
    totals, costs = state[:, 1].copy(), state[:, 2].copy()
    keep_parts(task, slots, totals, costs, weighed, part_slots, part_sizes, bounds, left)


@kernel
def keep_parts(
    task: ClosenessTask,
    slots: Codes,
    totals: Integers,
    costs: Integers,
    weighed: Integers,
    part_slots: Codes,
    part_sizes: Integers,
    bounds: Bounds,
    left: Integers,
) -> None:
    """Lower `left` to the records that can be kept of each class that has a slot, by whole parts.

    `weighed` are the potentials of all records of a part together. The parts with the greatest gain for a
    record go until the excess of their class is gone.
    """
    allowance, pad, smallest = bounds
    sizes, records = task.sizes, task.records
    none = totals.size - 1
    part_numbers = np.empty(part_sizes.size + 1, np.int32)  # of classes that have a slot
    many = 0
    for part in range(part_sizes.size):
        part_numbers[many] = part
        many += part_slots[part] != none
    # The gain of each part, for a record.
    gains = np.empty(many)
    largest = np.zeros(none + 1)
    for k in range(many):
        j = np.uint32(part_numbers[k])
        s = np.uint32(part_slots[j])
        gain = float(records) * weighed[j] / max(1, part_sizes[j]) - costs[s] - allowance + pad
        gains[k] = max(0.0, gain)
        largest[s] = max(largest[s], gains[k])
    # Sort the parts of each class into ranges of gains.
    per_gain = STEPS / np.maximum(largest, pad)
    waiting = np.zeros((none + 1, STEPS), np.int64)
    worth = np.zeros((none + 1, STEPS))
    peaks = np.zeros((none + 1, STEPS))
    for k in range(many):
        j = np.uint32(part_numbers[k])
        s = np.uint32(part_slots[j])
        gain, size = gains[k], part_sizes[j]
        step = min(int(gain * per_gain[s]), STEPS - 1)
        waiting[s, step] += size if gain > 0.0 else 0
        worth[s, step] += gain * size
        peaks[s, step] = max(peaks[s, step], gain)
    worth *= 1.0 + part_sizes.size * 2.0**-52  # the rounding error of the sums
    # Remove parts, from the range of the greatest gains on, until the excess is gone.
    for i in range(sizes.size):
        s = np.uint32(slots[i])
        if s == none:
            continue
        excess = totals[s] - (allowance + pad) * sizes[i]
        gone = 0.0
        for step in range(STEPS - 1, -1, -1):
            if excess <= worth[s, step]:
                gone += max(0.0, excess) / max(peaks[s, step], pad)
                break
            gone += waiting[s, step]
            excess -= worth[s, step]
        most = sizes[i] - max(1, int(np.ceil(gone - 1e-6)))
        left[i] = min(left[i], most if most >= smallest else 0)
