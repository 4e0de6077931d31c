"""Kernels of top-down specialization: the parts of classes if labels are replaced by their children."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.masking.partition.kernels import by_node


@kernel
def divide(
    ranks: NDArray[np.int32],
    weights: NDArray[np.int64],
    order: NDArray[np.int64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    column: int,
    nodes: NDArray[np.int32],
    part: NDArray[np.int32],
    parts: NDArray[np.int64],
) -> None:
    """Divide classes by the nodes above their ranks in one column."""
    tally = np.zeros(nodes.size, np.int64)
    met = np.empty(nodes.size, np.int32)
    for p in range(begins.size):
        parts[p], _ = by_node(ranks, weights, order, begins[p], ends[p], column, nodes, tally, met)
        for place in range(begins[p], ends[p]):
            part[place] = tally[nodes[ranks[order[place], column]]] - 1
        for g in range(parts[p]):
            tally[met[g]] = 0


@kernel
def smallest_part(
    ranks: NDArray[np.int32],
    weights: NDArray[np.int64],
    order: NDArray[np.int64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    column: int,
    nodes: NDArray[np.int32],
    levels: NDArray[np.int64],
    least: NDArray[np.int64],
) -> None:
    """Find the smallest part of each class if its label in one column is replaced by the children."""
    tally = np.zeros(nodes.shape[1], np.int64)
    met = np.empty(nodes.shape[1], np.int32)
    for p in range(begins.size):
        level = levels[ranks[order[begins[p]], column]]
        if level == 0:
            least[p, column] = 0
            continue
        number, least[p, column] = by_node(
            ranks, weights, order, begins[p], ends[p], column, nodes[level - 1], tally, met
        )
        for g in range(number):
            tally[met[g]] = 0


@kernel
def least_of_steps(
    ranks: NDArray[np.int32],
    order: NDArray[np.int64],
    begins: NDArray[np.int64],
    smallest_parts: NDArray[np.int64],
    starts: NDArray[np.int64],
    step_of: NDArray[np.int64],
    least: NDArray[np.int64],
) -> None:
    """Lower `least` to the smallest part of any class after each step."""
    for p in range(begins.size):
        item = order[begins[p]]
        for j in range(ranks.shape[1]):
            step = step_of[starts[j] + ranks[item, j]]
            if step >= 0:
                least[step] = min(least[step], smallest_parts[p, j])
