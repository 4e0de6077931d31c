"""A k-d tree over records that shrinks as records are removed, for nearest and farthest neighbours.

The tree gives exactly the result of a scan of all records. A box of records is skipped only if its bound
excludes all of them, and bounds are computed with the operations of the distances, in the same order: as
rounding is monotone, no computed distance is on the wrong side of the computed bound of its box. Among
records at equal distance the lowest row wins, so a box also has its lowest row.

The tree is complete: node i has the children 2i + 1 and 2i + 2, and the records of a leaf are contiguous,
column by column, so that distances to all of them are one vectorized loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veil.base.arrays import Floats, Integers
from veil.base.compiled import kernel

LEAF = 32
"""Most records in a leaf."""

NO_ROW = np.iinfo(np.int64).max


class Tree(NamedTuple):
    """Arrays of the tree; `left` counts the records below each node, `lowest` is the first of their rows."""

    cells: Floats  # (leaves, columns, places in a leaf)
    rows: Integers  # (leaves, places in a leaf)
    leaf: Integers  # leaf of each row
    place: Integers  # place of each row in its leaf
    left: Integers  # (nodes)
    lowest: Integers  # (nodes)
    low: Floats  # (nodes, columns)
    high: Floats  # (nodes, columns)
    numbers: int
    weights: Floats


@kernel
def build(cells: Floats, numbers: int, weights: Floats, rows: Integers) -> Tree:
    """Build the tree of some rows, in ascending order, by halving them across the widest column."""
    columns = cells.shape[0]
    depth = 0
    while rows.size > LEAF << depth:
        depth += 1
    leaves = 1 << depth
    tree = Tree(
        np.empty((leaves, columns, LEAF)),
        np.empty((leaves, LEAF), np.int64),
        np.empty(cells.shape[1], np.int64),
        np.empty(cells.shape[1], np.int64),
        np.zeros(2 * leaves - 1, np.int64),
        np.full(2 * leaves - 1, NO_ROW, np.int64),
        np.empty((2 * leaves - 1, columns)),
        np.empty((2 * leaves - 1, columns)),
        numbers,
        weights,
    )
    # Sort the rows of each part of each level by its widest column.
    order = rows.copy()
    for level in range(depth):
        for part in range(1 << level):
            start, end = part * rows.size >> level, (part + 1) * rows.size >> level
            mine = order[start:end].copy()
            widest, width = 0, -1.0
            for j in range(columns):
                least = most = cells[j, mine[0]]
                for row in mine:
                    least, most = min(least, cells[j, row]), max(most, cells[j, row])
                apart = (most - least) ** 2 if j < numbers else weights[j - numbers] * (most > least)
                if apart > width:
                    widest, width = j, apart
            order[start:end] = mine[np.argsort(cells[widest][mine], kind="mergesort")]
    # Fill the leaves, and fit all boxes from the leaves to the root.
    for leaf in range(leaves):
        start, end = leaf * rows.size >> depth, (leaf + 1) * rows.size >> depth
        for place in range(end - start):
            row = order[start + place]
            tree.rows[leaf, place], tree.leaf[row], tree.place[row] = row, leaf, place
            for j in range(columns):
                tree.cells[leaf, j, place] = cells[j, row]
        tree.left[leaves - 1 + leaf] = end - start
        _fit_box(tree, leaves - 1 + leaf)
    for node in range(leaves - 2, -1, -1):
        tree.left[node] = tree.left[2 * node + 1] + tree.left[2 * node + 2]
        _fit_box(tree, node)
    return tree


@kernel
def _fit_box(tree: Tree, node: int) -> bool:
    """Fit the box and the lowest row of a node to its records; return whether they changed."""
    columns = tree.low.shape[1]
    inner = tree.left.size // 2
    changed = False
    lowest = NO_ROW
    if node >= inner:
        for place in range(tree.left[node]):
            lowest = min(lowest, tree.rows[node - inner, place])
    else:
        lowest = min(tree.lowest[2 * node + 1], tree.lowest[2 * node + 2])
    if lowest != tree.lowest[node]:
        tree.lowest[node] = lowest
        changed = True
    for j in range(columns):
        least, most = np.inf, -np.inf
        if node >= inner:
            for place in range(tree.left[node]):
                value = tree.cells[node - inner, j, place]
                least, most = min(least, value), max(most, value)
        else:
            for child in (2 * node + 1, 2 * node + 2):
                if tree.left[child]:
                    least, most = min(least, tree.low[child, j]), max(most, tree.high[child, j])
        if least != tree.low[node, j] or most != tree.high[node, j]:
            tree.low[node, j], tree.high[node, j] = least, most
            changed = True
    return changed


@kernel
def remove(tree: Tree, row: int) -> None:
    """Remove a record."""
    leaf, place = tree.leaf[row], tree.place[row]
    node = tree.left.size // 2 + leaf
    last = tree.left[node] - 1
    moved = tree.rows[leaf, last]
    tree.rows[leaf, place], tree.place[moved] = moved, place
    for j in range(tree.cells.shape[1]):
        tree.cells[leaf, j, place] = tree.cells[leaf, j, last]
    tree.left[node] = last
    changed = _fit_box(tree, node)
    while node > 0:
        node = (node - 1) // 2
        tree.left[node] -= 1
        if changed:
            changed = _fit_box(tree, node)


@kernel
def _squares(tree: Tree, leaf: int, count: int, point: Floats, out: Floats) -> None:
    """Compute the squared distances of the records of a leaf from a point."""
    for place in range(count):
        out[place] = 0.0
    for j in range(tree.numbers):
        value = point[j]
        column = tree.cells[leaf, j]
        for place in range(count):
            out[place] += (column[place] - value) * (column[place] - value)
    for j in range(tree.numbers, point.size):
        value, weight = point[j], tree.weights[j - tree.numbers]
        column = tree.cells[leaf, j]
        for place in range(count):
            out[place] += weight if column[place] != value else 0.0


@kernel
def _nearest_bound(tree: Tree, node: int, point: Floats) -> float:
    """Return a squared distance below which no record of the node is."""
    bound = 0.0
    for j in range(tree.numbers):
        gap = max(tree.low[node, j] - point[j], point[j] - tree.high[node, j], 0.0)
        bound += gap * gap
    for j in range(tree.numbers, point.size):
        if point[j] < tree.low[node, j] or point[j] > tree.high[node, j]:
            bound += tree.weights[j - tree.numbers]
    return bound


@kernel
def _farthest_bound(tree: Tree, node: int, point: Floats) -> float:
    """Return a squared distance beyond which no record of the node is."""
    bound = 0.0
    for j in range(tree.numbers):
        gap = max(tree.high[node, j] - point[j], point[j] - tree.low[node, j])
        bound += gap * gap
    for j in range(tree.numbers, point.size):
        if tree.low[node, j] != point[j] or tree.high[node, j] != point[j]:
            bound += tree.weights[j - tree.numbers]
    return bound


@kernel
def farthest(tree: Tree, point: Floats) -> int:
    """Find the farthest record."""
    rows, squares = np.full(1, NO_ROW), np.empty(1)
    search(tree, point, True, rows, squares)
    return int(rows[0])


@kernel
def search(tree: Tree, point: Floats, far: bool, rows: Integers, squares: Floats) -> int:
    """Find the nearest records in order, as many as `rows` has room for; return how many there are.

    If `far`, find the farthest ones: distances and bounds are then taken negative.
    """
    number = min(rows.size, tree.left[0])
    inner = tree.left.size // 2
    sign = -1.0 if far else 1.0
    nodes = np.empty(128, np.int64)  # a stack of twice the depth of any tree that fits into memory
    bounds = np.empty(128)
    distances = np.empty(LEAF)
    nodes[0], bounds[0], waiting, count = 0, -np.inf, 1, 0
    while waiting and number:
        # Skip a box in which no record comes before the last one found.
        waiting -= 1
        node = nodes[waiting]
        if count == number and (
            bounds[waiting] > squares[count - 1]
            or (bounds[waiting] == squares[count - 1] and tree.lowest[node] > rows[count - 1])
        ):
            continue
        # Visit the child first whose bound is better.
        if node < inner:
            one, other = 2 * node + 1, 2 * node + 2
            if far:
                one_bound, other_bound = (
                    -_farthest_bound(tree, one, point),
                    -_farthest_bound(tree, other, point),
                )
            else:
                one_bound, other_bound = _nearest_bound(tree, one, point), _nearest_bound(tree, other, point)
            if one_bound > other_bound:
                one, other, one_bound, other_bound = other, one, other_bound, one_bound
            if tree.left[other]:
                nodes[waiting], bounds[waiting] = other, other_bound
                waiting += 1
            if tree.left[one]:
                nodes[waiting], bounds[waiting] = one, one_bound
                waiting += 1
            continue
        # Insert the records of a leaf into the sorted result.
        _squares(tree, node - inner, tree.left[node], point, distances)
        for place in range(tree.left[node]):
            square, row = sign * distances[place], tree.rows[node - inner, place]
            if count == number and (
                square > squares[count - 1] or (square == squares[count - 1] and row > rows[count - 1])
            ):
                continue
            at = count if count < number else count - 1
            while at > 0 and (square < squares[at - 1] or (square == squares[at - 1] and row < rows[at - 1])):
                squares[at], rows[at] = squares[at - 1], rows[at - 1]
                at -= 1
            squares[at], rows[at] = square, row
            count = min(count + 1, number)
    return count
