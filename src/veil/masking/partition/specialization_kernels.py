"""Kernels of top-down specialization: the parts of classes if labels are replaced by their children."""

from __future__ import annotations

import numpy as np

from veil.base.arrays import Integers
from veil.base.compiled import kernel
from veil.masking.partition.kernels import ItemOrder, Ranks, by_children, by_node


@kernel
def divide(
    items: ItemOrder,
    begins: Integers,
    ends: Integers,
    column: int,
    nodes: Ranks,
    part: Ranks,
    parts: Integers,
) -> None:
    """Divide classes by the nodes above their ranks in one column."""
    tally = np.zeros(nodes.size, np.int64)
    met = np.empty(nodes.size, np.int32)
    for p in range(begins.size):
        parts[p] = by_children(items, begins[p], ends[p], column, nodes, 0, tally, met, part)


@kernel
def smallest_part(
    items: ItemOrder,
    begins: Integers,
    ends: Integers,
    column: int,
    nodes: Ranks,
    levels: Integers,
    least: Integers,
) -> None:
    """Find the smallest part of each class if its label in one column is replaced by the children."""
    tally = np.zeros(nodes.shape[1], np.int64)
    met = np.empty(nodes.shape[1], np.int32)
    for p in range(begins.size):
        level = levels[items.ranks[items.order[begins[p]], column]]
        if level == 0:
            least[p, column] = 0
            continue
        number, least[p, column] = by_node(items, begins[p], ends[p], column, nodes[level - 1], tally, met)
        for g in range(number):
            tally[met[g]] = 0


@kernel
def least_of_steps(
    items: ItemOrder,
    begins: Integers,
    smallest_parts: Integers,
    starts: Integers,
    step_of: Integers,
    least: Integers,
) -> None:
    """Lower `least` to the smallest part of any class after each step."""
    for p in range(begins.size):
        item = items.order[begins[p]]
        for j in range(items.ranks.shape[1]):
            step = step_of[starts[j] + items.ranks[item, j]]
            if step >= 0:
                least[step] = min(least[step], smallest_parts[p, j])
