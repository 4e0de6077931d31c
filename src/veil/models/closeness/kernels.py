"""The kernels of t-closeness: distances of all classes of a node, in integers.

Shares are never divided out. With N records in the table and c in a class, n and f of them with some value,
f/c - n/N is (f*N - c*n) / (N*c), so every distance is an integer over K*c with a K that all classes share.
`limits` holds three numbers (a, b, d): a class of c records may have a sum of at most a*c + b*c // d.

Histograms are stored value by value, so one pass over their entries visits all values of a class, in any
order of values. The intermediate results of a class are in its row of `state`, its slot; a row begins with
the size of the class, its sum and its cost. Classes that are set aside, and in the end those that are not
bad, share the last row, which is never read. `closeness.bound` explains costs and potentials.

Rows are addressed by unsigned numbers, which avoids a check, and unpredictable choices do not branch: both
matter at a few nanoseconds an entry.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veil.base.arrays import Codes, Integers, Marks
from veil.base.compiled import kernel, light_kernel
from veil.classes.kernels import Entries

Groups = tuple[Codes, Codes, Integers, Integers]
"""Groups of values: `order`, `parents`, `masses` and `weights` of `judge_groups`."""

Line = tuple[Integers, Integers, Codes]
"""Values in their order: `cumulated`, `sums` and `near` of `judge_ordered`."""

Met = tuple[Codes, Integers, Integers]
"""For each level and place: a class with records in a group, how many; and the end of each group's places."""


class ClosenessTask(NamedTuple):
    """The classes of a node to judge: their sizes, which to set aside, marks for bad ones; and what to judge by."""

    sizes: Integers
    aside: Marks
    bad: Marks
    records: int
    limits: Integers


@light_kernel
def mark_exhausted(left: Integers) -> Marks:
    """Mark the classes of which nothing is left."""
    marks = np.empty(left.size, np.uint8)
    for i in range(left.size):
        marks[i] = left[i] == 0
    return marks


@light_kernel
def reject_judged(exhausted: Marks, bad: Marks, rejected: Marks) -> tuple[Marks, bool]:
    """Reject bad classes; return a mask of the decided ones (rejected or judged), and whether all are."""
    decided = np.empty(bad.size, np.uint8)
    undecided = False
    for i in range(bad.size):
        rejected[i] |= bad[i]
        decided[i] = rejected[i] | (1 - exhausted[i])
        undecided |= decided[i] == 0
    return decided, not undecided


@kernel
def judge_groups(
    entries: Entries, task: ClosenessTask, foresee: bool, groups: Groups
) -> tuple[Codes, Integers, Met]:
    """Mark bad classes by the weighted sum of their excesses over groups of values.

    On level l, `masses[l, g]` of the `records` have a value in group g = `parents[l, value]`, and groups
    count `weights[l]` times. On level 0 each value is a group. `order` is an order of values in which every
    group of every level is contiguous. The classes met in a group are collected and, at its end, passed on to
    the group above.
    """
    starts, classes, counts = entries
    order, parents, masses, weights = groups
    records = task.records
    slots, state = open_rows(task.aside, task.sizes, 3)
    levels, count = weights.size, state.shape[0]
    together = np.zeros((levels, count), np.int64)  # records of each class in the present group
    met = np.empty((levels, count + 1), np.int32)  # the classes that have any
    many = np.zeros(levels, np.int64)
    # For groups above the values: the classes with records in them, and how many.
    history = np.empty((levels, classes.size if foresee and levels > 1 else 0), np.int32)
    tallies = np.empty(history.shape, np.int64)
    ends = np.zeros((levels, order.size + 1), np.int64)
    closed = np.zeros(levels, np.int64)
    for k in range(order.size):
        # The value itself, on level 0.
        value = order[k]
        mass, weight = masses[0, value], weights[0]
        for e in range(starts[value], starts[value + 1]):
            s = np.uint32(slots[np.uint32(classes[e])])
            excess = records * counts[e] - state[s, 0] * mass
            state[s, 1] += weight * max(excess, 0)
            state[s, 2] += weight * mass if excess > 0 else 0
            if levels > 1:
                met[1, many[1]] = s
                many[1] += together[1, s] == 0
                together[1, s] += counts[e]
        # The groups that end with this value, from level to level.
        for l in range(1, levels):
            group = parents[l, value]
            if k + 1 < order.size and parents[l, order[k + 1]] == group:
                break
            mass, weight = masses[l, group], weights[l]
            for j in range(many[l]):
                s = np.uint32(met[l, j])
                here = together[l, s]
                together[l, s] = 0
                excess = records * here - state[s, 0] * mass
                state[s, 1] += weight * max(excess, 0)
                state[s, 2] += weight * mass if excess > 0 else 0
                if l + 1 < levels:
                    met[l + 1, many[l + 1]] = met[l, j]
                    many[l + 1] += together[l + 1, s] == 0
                    together[l + 1, s] += here
                if foresee:
                    history[l, ends[l, closed[l]] + j] = met[l, j]
                    tallies[l, ends[l, closed[l]] + j] = here
            ends[l, closed[l] + 1] = ends[l, closed[l]] + many[l]
            closed[l] += 1
            many[l] = 0
    mark_bad(task, slots, state[:, 1])
    return slots, state, (history, tallies, ends)


@kernel
def potentials_of_groups(
    entries: Entries, slots: Codes, state: Integers, met: Met, records: int, allowance: float, groups: Groups
) -> Codes:
    """Return the potential of each entry, by the groups in excess among the records that can be kept.

    Sum and cost in `state` become those of this choice of groups.
    """
    starts, classes, counts = entries
    history, tallies, ends = met
    order, parents, masses, weights = groups
    levels = weights.size
    whole = float(records) * weights.sum()
    bars = fewer(state[:, 0], state[:, 1], state[:, 2], whole, allowance)
    state[:, 1:] = 0
    potentials = np.empty(classes.size, np.int32)
    # Weights of the groups in excess, on this level and higher ones.
    above = np.zeros((levels + 1, state.shape[0]), np.int32)
    closed = np.zeros(levels, np.int64)
    for k in range(order.size):
        value = order[k]
        # The groups that begin with this value, from the highest level on.
        for l in range(levels - 1, 0, -1):
            if k == 0 or parents[l, order[k - 1]] != parents[l, value]:
                mass, weight = masses[l, parents[l, value]], weights[l]
                for j in range(ends[l, closed[l]], ends[l, closed[l] + 1]):
                    s = np.uint32(history[l, j])
                    extra = weight if records * tallies[l, j] > bars[s] * mass else 0
                    state[s, 1] += extra * (records * tallies[l, j] - state[s, 0] * mass)
                    state[s, 2] += extra * mass
                    above[l, s] = above[l + 1, s] + extra
                closed[l] += 1
        # The value itself.
        mass, weight = masses[0, value], weights[0]
        for e in range(starts[value], starts[value + 1]):
            s = np.uint32(slots[np.uint32(classes[e])])
            extra = weight if records * counts[e] > bars[s] * mass else 0
            state[s, 1] += extra * (records * counts[e] - state[s, 0] * mass)
            state[s, 2] += extra * mass
            potentials[e] = above[1, s] + extra
    return potentials


@kernel
def fewer(sizes: Integers, totals: Integers, costs: Integers, whole: float, allowance: float) -> Integers:
    """Bound how many records of each class can be kept, if every record can go by itself.

    A class of c records has f of them in a group with the share m/N of the table. If n are kept, they have at
    most min(f, n*m/N) in common with the table there. Summed up over groups and weights and times N, that
    must be at least n * (`whole` - `allowance`), where `whole` is the sum for each of n records that match
    the table. The sum is concave in n. From n = c downwards it falls at least as fast as the masses of the
    groups in excess (the cost of the class): one step of Newton's method.
    """
    kept_counts = sizes.copy()
    for s in range(sizes.size):
        slope = whole - allowance - costs[s]
        if slope > 0.0:
            shared = (whole - costs[s]) * sizes[s] - totals[s]
            kept_counts[s] = int(min(float(sizes[s]), max(0.0, shared / slope)))
    return kept_counts


@kernel
def mark_bad(task: ClosenessTask, slots: Codes, totals: Integers) -> bool:
    """Mark the classes whose sum is too large, and remove the other slots. Return whether any is bad."""
    none = totals.size - 1
    any_bad = False
    for i in range(slots.size):
        if slots[i] < none:
            if totals[slots[i]] > limit_of(task.limits, task.sizes[i]):
                task.bad[i] = 1
                any_bad = True
            else:
                slots[i] = none
    return any_bad


@kernel
def judge_ordered(
    entries: Entries, task: ClosenessTask, foresee: bool, line: Line
) -> tuple[Codes, Integers, Codes]:
    """Mark bad classes by the sum, over all values, of the difference of cumulated counts.

    `cumulated[v]` records of the table have value v or a smaller one; `sums[v]` adds those up before v. A
    class is left alone as soon as its sum is too large, unless potentials of entries are required.
    """
    starts, classes, counts = entries
    sizes, bad, records = task.sizes, task.bad, task.records
    near = line[2]
    # Size, sum, cost, N times the records so far, next value, `sums` there, balance of signs, limit
    slots, state = open_rows(task.aside, sizes, 8)
    steps = np.empty(state.shape[0])
    none = state.shape[0] - 1
    if none == 0:
        return slots, state, np.empty(0, np.int32)
    for i in range(sizes.size):
        if slots[i] < none:
            state[slots[i], 7] = limit_of(task.limits, sizes[i])
            steps[slots[i]] = (near.size - 4) / (float(records) * max(1, sizes[i]))
    # Account for the stretch before each entry of a class.
    potentials = np.empty(classes.size if foresee else 0, np.int32)
    domain = starts.size - 1
    for value in range(domain):
        for e in range(starts[value], starts[value + 1]):
            slot = slots[np.uint32(classes[e])]
            if slot == none:
                continue
            s = np.uint32(slot)
            _account(state, s, value, steps[s], line)
            if foresee:
                potentials[e] = -state[s, 6]
            elif state[s, 1] > state[s, 7]:
                bad[classes[e]] = 1
                slots[classes[e]] = none
            state[s, 3] += records * counts[e]
    # Account for the stretch after the last entry, and decide.
    for i in range(sizes.size):
        if slots[i] < none:
            s = np.uint32(slots[i])
            _account(state, s, domain, steps[s], line)
            state[s, 2] -= records * state[s, 6]
            if state[s, 1] > state[s, 7]:
                bad[i] = 1
            else:
                slots[i] = none
    return slots, state, potentials


@kernel
def set_aside_acceptable(entries: Entries, task: ClosenessTask, block: int, least: int, line: Line) -> None:
    """Set aside classes of at least `least` records that are acceptable even with all values blurred.

    In a block of values, the cumulated count f of a class is only known to be between those before and after
    it. With the mean of both for all of the block, differences are off by at most half of that range. So the
    sum is at most that with means plus that error: a few steps a class, for any number of values.
    """
    starts, classes, counts = entries
    sizes, records = task.sizes, task.records
    near = line[2]
    # Open a row for each large class.
    small = task.aside.copy()
    for i in range(sizes.size):
        small[i] |= sizes[i] < least
    slots, state = open_rows(small, 2 * sizes, 7)  # all doubled, because of the means
    domain, none = starts.size - 1, state.shape[0] - 1
    steps = np.empty(none)
    for k in range(none):
        steps[k] = (near.size - 4) / (float(records) * state[k, 0])
    together = np.zeros(
        sizes.size, np.int64
    )  # for all classes: selecting those that matter would take longer
    met = np.empty(sizes.size + 1, np.int32)
    # Count the records of each class in a block, then account for the stretch before it and the block.
    for first in range(0, domain, block):
        last = min(first + block, domain)
        many = 0
        for e in range(starts[first], starts[last]):
            c = np.uint32(classes[e])
            met[many] = classes[e]
            many += together[c] == 0
            together[c] += counts[e]
        for j in range(many):
            c = np.uint32(met[j])
            here = records * together[c]
            together[c] = 0
            if slots[c] == none:
                continue
            s = np.uint32(slots[c])
            if state[s, 4] < first:
                _account(state, s, first, steps[s], line)
            state[s, 3] += here
            _account(state, s, last, steps[s], line)
            state[s, 1] += here * (last - first)
            state[s, 3] += here
    # Account for the rest, and set aside the classes whose sum is small enough.
    for i in range(sizes.size):
        if slots[i] < none:
            s = np.uint32(slots[i])
            _account(state, s, domain, steps[s], line)
            task.aside[i] = state[s, 1] <= 2 * limit_of(task.limits, sizes[i])


@kernel
def _account(state: Integers, s: np.uint32, end: int, step: float, line: Line) -> None:
    """Add the differences of a class from its next value up to `end`, with nothing of the class in between.

    Its cumulated count f stays the same there and the table's grows, so f*N - c*cumulated[v] is not negative
    up to some value and negative from there on. Both sums are differences of `sums`. The value is found by
    bisection; `near` bounds it for each share of records, in steps.
    """
    cumulated, sums, near = line
    size, level, start = state[s, 0], state[s, 3], state[s, 4]
    at = np.uint64(np.int64(level * step))
    cut = min(max(np.int64(near[at]), start), end)
    top = min(max(np.int64(near[at + np.uint64(3)]), start), end)
    while cut < top:
        middle = (cut + top) >> 1
        if size * cumulated[np.uint64(middle)] <= level:
            cut = middle + 1
        else:
            top = middle
    balance = 2 * cut - start - end
    reached = sums[np.uint64(end)]
    weighted = 2 * sums[np.uint64(cut)] - state[s, 5] - reached
    state[s, 1] += level * balance - size * weighted
    state[s, 2] += weighted
    state[s, 4] = end
    state[s, 5] = reached
    state[s, 6] += balance


@kernel
def limit_of(limits: Integers, size: int) -> int:
    """Return the largest sum that a class of this size may have."""
    limit: int = limits[0] * size + limits[1] * size // limits[2]
    return limit


@kernel
def open_rows(aside: Marks, sizes: Integers, width: int) -> tuple[Codes, Integers]:
    """Assign a slot to each class that is not set aside, and a row that begins with its size."""
    slots = np.empty(sizes.size, np.int32)
    count = 0
    for i in range(sizes.size):
        slots[i] = count
        count += 1 - aside[i]
    state = np.zeros((count + 1, width), np.int64)
    for i in range(sizes.size):
        if aside[i]:
            slots[i] = count
        else:
            state[slots[i], 0] = sizes[i]
    return slots, state
