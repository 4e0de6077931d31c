"""Kernels of all partitioning methods: arranging the parts of a cut, and counting their values.

A partition is an order of the items (distinct rows, or rows) in which those of each class are contiguous.
`part` is, for each place of that order, the part of its class to which a proposed cut moves the item. Work on
different classes touches different places, so threads need no locks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veil.base.arrays import Codes, Integers
from veil.base.compiled import kernel

Ranks = Codes


class ItemOrder(NamedTuple):
    """The ranks and the weight of each item, and the items in the order of a partition."""

    ranks: Ranks
    weights: Integers
    order: Integers


@kernel
def arrange(
    items: ItemOrder,
    part: Ranks,
    begins: Integers,
    ends: Integers,
    firsts: Integers,
    arranged: Integers,
    part_begins: Integers,
    part_ends: Integers,
    records: Integers,
) -> None:
    """Arrange the items of each class part by part, in `arranged`; items of a part stay in order.

    The parts of class p are numbered from `firsts[p]` on. They receive their places and their records.
    """
    order = items.order
    for p in range(begins.size):
        # Count the items and the records of each part.
        first = firsts[p]
        stop = firsts[p + 1]
        part_ends[first:stop] = 0
        records[first:stop] = 0
        for place in range(begins[p], ends[p]):
            g = first + part[place]
            part_ends[g] += 1
            records[g] += items.weights[order[place]]
        # Let each part begin where the one before it ends, and fill them.
        here = begins[p]
        for g in range(first, stop):
            part_begins[g] = here
            here += part_ends[g]
            part_ends[g] = part_begins[g]
        for place in range(begins[p], ends[p]):
            g = first + part[place]
            arranged[part_ends[g]] = order[place]
            part_ends[g] += 1


@kernel
def copy_order(order: Integers, arranged: Integers, begins: Integers, ends: Integers) -> None:
    """Copy the new order of some classes."""
    for p in range(begins.size):
        for place in range(begins[p], ends[p]):
            order[place] = arranged[place]


@kernel
def histogram(
    order: Integers,
    begins: Integers,
    ends: Integers,
    starts: Integers,
    values: Ranks,
    counts: Integers,
    domain: int,
) -> tuple[Integers, Ranks, Integers]:
    """Count the values of a further attribute in each class, and store the counts value by value.

    Item i has the value `values[e]` for `counts[e]` of its records, for the entries e from `starts[i]` on.
    """
    room = 0
    for p in range(begins.size):
        for place in range(begins[p], ends[p]):
            room += starts[order[place] + 1] - starts[order[place]]
    newest = np.full(domain, -1, np.int64)  # the newest entry of each value
    found_classes = np.empty(room, np.int32)
    found_values = np.empty(room, np.int32)
    found_counts = np.empty(room, np.int64)
    out_starts = np.zeros(domain + 1, np.int64)
    # Count class by class.
    filled = 0
    for p in range(begins.size):
        first = filled
        for place in range(begins[p], ends[p]):
            item = order[place]
            for e in range(starts[item], starts[item + 1]):
                value = values[e]
                if newest[value] >= first:
                    found_counts[newest[value]] += counts[e]
                else:
                    newest[value] = filled
                    found_classes[filled] = p
                    found_values[filled] = value
                    found_counts[filled] = counts[e]
                    out_starts[value + 1] += 1
                    filled += 1
    # Sort the entries by value.
    for value in range(domain):
        out_starts[value + 1] += out_starts[value]
    next_place = out_starts[:domain].copy()
    out_classes = np.empty(filled, np.int32)
    out_counts = np.empty(filled, np.int64)
    for e in range(filled):
        place = next_place[found_values[e]]
        next_place[found_values[e]] += 1
        out_classes[place] = found_classes[e]
        out_counts[place] = found_counts[e]
    return out_starts, out_classes, out_counts


@kernel
def occurring(
    ranks: Ranks, order: Integers, begins: Integers, ends: Integers, column: int, size: int
) -> tuple[Integers, Ranks]:
    """List the ranks of a column in each class, in order; also return where those of each class start."""
    newest = np.full(size, -1, np.int64)  # the newest class with each rank
    starts = np.zeros(begins.size + 1, np.int64)
    present = np.empty(order.size, np.int32)
    filled = 0
    for p in range(begins.size):
        for place in range(begins[p], ends[p]):
            rank = ranks[order[place], column]
            if newest[rank] != p:
                newest[rank] = p
                present[filled] = rank
                filled += 1
        present[starts[p] : filled].sort()
        starts[p + 1] = filled
    return starts, present[:filled]


@kernel
def same_sets(starts: Integers, members: Ranks) -> tuple[Integers, Integers]:
    """Number distinct sets in order of first appearance; also return the first class with each."""
    classes = starts.size - 1
    bits = 1
    while (1 << bits) < 2 * classes:
        bits += 1
    last = (1 << bits) - 1
    slots = np.full(1 << bits, -1, np.int64)
    numbers = np.empty(classes, np.int64)
    firsts = np.empty(classes, np.int64)
    count = 0
    for p in range(classes):
        mixed = np.uint64(0)
        for e in range(starts[p], starts[p + 1]):
            mixed = (mixed ^ np.uint64(members[e] + 1)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        slot = np.int64(mixed & np.uint64(last))
        while slots[slot] >= 0:
            other = firsts[slots[slot]]
            same = starts[other + 1] - starts[other] == starts[p + 1] - starts[p]
            for e in range(starts[p + 1] - starts[p]):
                if not same:
                    break
                same = members[starts[p] + e] == members[starts[other] + e]
            if same:
                break
            slot = (slot + 1) & last
        if slots[slot] < 0:
            slots[slot] = count
            firsts[count] = p
            count += 1
        numbers[p] = slots[slot]
    return numbers, firsts[:count]


@kernel
def by_node(
    items: ItemOrder, begin: int, end: int, column: int, nodes: Ranks, tally: Integers, met: Ranks
) -> tuple[int, int]:
    """Count the records of a class by node, for the nodes above the ranks of one column.

    Return how many nodes there are, and the records of the smallest. `met` lists them in order, and `tally`
    (all zero before) holds one more than the place of each in that list: to be cleared by the caller.
    """
    number = 0
    for place in range(begin, end):
        item = items.order[place]
        node = nodes[items.ranks[item, column]]
        if tally[node] == 0:
            met[number] = node
            number += 1
        tally[node] += items.weights[item]
    met[:number].sort()
    least = tally[met[0]]
    for g in range(number):
        least = min(least, tally[met[g]])
        tally[met[g]] = g + 1
    return number, least


@kernel
def by_children(
    items: ItemOrder,
    begin: int,
    end: int,
    j: int,
    nodes: Ranks,
    smallest: int,
    tally: Integers,
    met: Ranks,
    part: Ranks,
) -> int:
    """Divide a class by the nodes above its ranks, unless a part is smaller than `smallest`.

    Return the number of parts, or 0. `tally` (all zero) and `met` are memory for all nodes.
    """
    number, least = by_node(items, begin, end, j, nodes, tally, met)
    if least >= smallest:
        for place in range(begin, end):
            part[place] = tally[nodes[items.ranks[items.order[place], j]]] - 1
    for g in range(number):
        tally[met[g]] = 0
    return number if least >= smallest else 0
