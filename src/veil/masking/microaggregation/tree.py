"""A k-d tree over records that shrinks as records are taken out: nearest and farthest without looking at all.

The tree gives exactly what a scan of all records would. A box of records is passed over only if its bound says
that none of them can be wanted, and bounds are computed with the operations of the distances, in the same order:
as rounding is monotone, no computed distance lies on the wrong side of the computed bound of its box. Of
records at equal distance the lowest row wins, so a box also knows its lowest row.

The tree is complete: node i has the children 2i + 1 and 2i + 2, and the records of a leaf stand together, column
by column, so that distances to all of them are one vectorized loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEAF = 32
"""Most records of a leaf."""

NOBODY = np.iinfo(np.int64).max


class Tree(NamedTuple):
    """Arrays of the tree; `left` counts the records below each node and `lowest` names the first of their rows."""

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
    """Build the tree of some rows, in ascending order: halved again and again across the widest column."""
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
        np.full(2 * leaves - 1, NOBODY, np.int64),
        np.empty((2 * leaves - 1, columns)),
        np.empty((2 * leaves - 1, columns)),
        numbers,
        weights,
    )
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
    for leaf in range(leaves):
        start, end = leaf * rows.size >> depth, (leaf + 1) * rows.size >> depth
        for place in range(end - start):
            row = order[start + place]
            tree.rows[leaf, place], tree.leaf[row], tree.place[row] = row, leaf, place
            for j in range(columns):
                tree.cells[leaf, j, place] = cells[j, row]
        tree.left[leaves - 1 + leaf] = end - start
        _settle(tree, leaves - 1 + leaf)
    for node in range(leaves - 2, -1, -1):
        tree.left[node] = tree.left[2 * node + 1] + tree.left[2 * node + 2]
        _settle(tree, node)
    return tree


@kernel
def _settle(tree: Tree, node: int) -> bool:
    """Fit the box and the lowest row of a node to what is below it; tell whether they changed."""
    columns = tree.low.shape[1]
    inner = tree.left.size // 2
    changed = False
    lowest = NOBODY
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
    """Take a record out."""
    leaf, place = tree.leaf[row], tree.place[row]
    node = tree.left.size // 2 + leaf
    last = tree.left[node] - 1
    moved = tree.rows[leaf, last]
    tree.rows[leaf, place], tree.place[moved] = moved, place
    for j in range(tree.cells.shape[1]):
        tree.cells[leaf, j, place] = tree.cells[leaf, j, last]
    tree.left[node] = last
    changed = _settle(tree, node)
    while node > 0:
        node = (node - 1) // 2
        tree.left[node] -= 1
        if changed:
            changed = _settle(tree, node)


@kernel
def _squares(tree: Tree, leaf: int, count: int, point: Floats, out: Floats) -> None:
    """Squared distances of the records of a leaf from a point."""
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
    """A squared distance below which no record of the node lies."""
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
    """A squared distance beyond which no record of the node lies."""
    bound = 0.0
    for j in range(tree.numbers):
        gap = max(tree.high[node, j] - point[j], point[j] - tree.low[node, j])
        bound += gap * gap
    for j in range(tree.numbers, point.size):
        if tree.low[node, j] != point[j] or tree.high[node, j] != point[j]:
            bound += tree.weights[j - tree.numbers]
    return bound


@kernel
def nearest(tree: Tree, point: Floats, found: Integers, squares: Floats) -> int:
    """Find as many nearest records as `found` has room for, in order; return how many there are."""
    wanted = min(found.size, tree.left[0])
    inner = tree.left.size // 2
    nodes = np.empty(128, np.int64)  # twice the depth of any tree that fits into memory
    bounds = np.empty(128)
    distances = np.empty(LEAF)
    nodes[0], bounds[0], waiting, count = 0, 0.0, 1, 0
    while waiting and wanted:
        waiting -= 1
        node = nodes[waiting]
        if count == wanted and (
            bounds[waiting] > squares[count - 1]
            or (bounds[waiting] == squares[count - 1] and tree.lowest[node] > found[count - 1])
        ):
            continue
        if node < inner:
            near, far = 2 * node + 1, 2 * node + 2
            near_bound, far_bound = _nearest_bound(tree, near, point), _nearest_bound(tree, far, point)
            if near_bound > far_bound:
                near, far, near_bound, far_bound = far, near, far_bound, near_bound
            if tree.left[far]:
                nodes[waiting], bounds[waiting] = far, far_bound
                waiting += 1
            if tree.left[near]:
                nodes[waiting], bounds[waiting] = near, near_bound
                waiting += 1
            continue
        _squares(tree, node - inner, tree.left[node], point, distances)
        for place in range(tree.left[node]):
            square, row = distances[place], tree.rows[node - inner, place]
            if count == wanted and (
                square > squares[count - 1] or (square == squares[count - 1] and row > found[count - 1])
            ):
                continue
            at = count if count < wanted else count - 1
            while at > 0 and (
                square < squares[at - 1] or (square == squares[at - 1] and row < found[at - 1])
            ):
                squares[at], found[at] = squares[at - 1], found[at - 1]
                at -= 1
            squares[at], found[at] = square, row
            count = min(count + 1, wanted)
    return count


@kernel
def farthest(tree: Tree, point: Floats) -> int:
    """Find the farthest record."""
    inner = tree.left.size // 2
    nodes = np.empty(128, np.int64)
    bounds = np.empty(128)
    distances = np.empty(LEAF)
    nodes[0], bounds[0], waiting = 0, np.inf, 1
    best, found = -1.0, NOBODY
    while waiting:
        waiting -= 1
        node = nodes[waiting]
        if bounds[waiting] < best or (bounds[waiting] == best and tree.lowest[node] > found):
            continue
        if node < inner:
            far, near = 2 * node + 1, 2 * node + 2
            far_bound, near_bound = _farthest_bound(tree, far, point), _farthest_bound(tree, near, point)
            if far_bound < near_bound:
                far, near, far_bound, near_bound = near, far, near_bound, far_bound
            if tree.left[near]:
                nodes[waiting], bounds[waiting] = near, near_bound
                waiting += 1
            if tree.left[far]:
                nodes[waiting], bounds[waiting] = far, far_bound
                waiting += 1
            continue
        _squares(tree, node - inner, tree.left[node], point, distances)
        for place in range(tree.left[node]):
            square, row = distances[place], tree.rows[node - inner, place]
            if square > best or (square == best and row < found):
                best, found = square, row
    return found
