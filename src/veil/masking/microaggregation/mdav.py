"""Maximum distance to average vector (MDAV), with groups of fixed and of variable size.

Domingo-Ferrer and Torra (2005); Solanas and Martínez-Ballesté (2006). The costly part, finding the nearest
and the farthest remaining record, uses a tree that is rebuilt whenever half of it is gone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veil.base.arrays import Integers
from veil.base.compiled import kernel
from veil.masking.microaggregation.records import Coordinates
from veil.masking.microaggregation.tree import LEAF, build, farthest, remove, search
from veil.tables.columns import Floats, Groups


def maximum_distance_to_average_vector(records: Coordinates, k: int) -> Groups:
    """Group the record farthest from the average with its k - 1 nearest, then that farthest from it; repeat.

    With 2k to 3k - 1 records left, one more group is made around the farthest from their average; the rest is
    the last. The second record is searched after the first group is removed, with the same result unless all
    others are equally far.

    >>> records = Coordinates(np.array([[1.0, 2, 3, 10, 11, 12]]), 1, np.empty(0))
    >>> maximum_distance_to_average_vector(records, 3).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    return _mdav(records, k)


@kernel
def _mdav(records: Coordinates, k: int) -> Groups:
    cells, numbers, weights = records
    rows = cells.shape[1]
    groups = np.full(rows, -1, np.int64)
    left, group = rows, 0
    totals = _totals(records)
    average = np.empty(cells.shape[0])
    near = np.empty(k, np.int64)
    squares = np.empty(k)
    tree = build(cells, numbers, weights, np.arange(rows))
    built = rows
    order, reach, reference = np.empty(0, np.int64), np.empty(0), np.empty(0)
    examined = rows
    while left >= 2 * k:
        pair = 2 if left >= 3 * k else 1
        if left < built // 2 and built > LEAF:
            tree = build(cells, numbers, weights, np.flatnonzero(groups < 0))
            built = left
        # Find the record farthest from the average of those left.
        _average(totals, left, average)
        if examined >= left:
            order, reach = _by_distance(records, average, np.flatnonzero(groups < 0))
            reference, examined = average.copy(), 0
        center, steps = _farthest_from(records, average, order, reach, reference, groups)
        examined += steps
        # Make a group around it, and another around the record farthest from it.
        for turn in range(pair):
            if turn:
                center = farthest(tree, cells[:, center].copy())
            # The center is in its group even if k others coincide with it.
            groups[center] = group
            remove(tree, center)
            _take_out(records, center, totals)
            search(tree, cells[:, center].copy(), False, near[: k - 1], squares[: k - 1])
            for row in near[: k - 1]:
                groups[row] = group
                remove(tree, row)
                _take_out(records, row, totals)
            left -= k
            group += 1
    for row in range(rows):
        if groups[row] < 0:
            groups[row] = group
    return groups


def variable_maximum_distance_to_average_vector(records: Coordinates, k: int, gamma: float) -> Groups:
    """Group the record farthest from the average with its k - 1 nearest; groups grow to at most 2k - 1.

    The record without a group that is nearest to any of the group joins it if that distance is less than
    gamma times its distance from the nearest other record without a group. The last records, fewer than k, go
    to the groups with the nearest averages. A larger gamma gives larger groups; with 0 none grows.

    >>> records = Coordinates(np.array([[1.0, 2, 3, 10, 11, 12, 13]]), 1, np.empty(0))
    >>> variable_maximum_distance_to_average_vector(records, 3, gamma=0.2).tolist()
    [0, 0, 0, 1, 1, 1, 1]
    """
    groups = _variable(records, k, gamma)
    alone = np.flatnonzero(groups < 0)
    if alone.size:
        averages = averages_of(records, groups)
        for row in alone.tolist():
            groups[row] = _nearest_average(records, row, averages)
    return groups


def averages_of(records: Coordinates, groups: Groups) -> Floats:
    """Return means of the numbers and most frequent codes of each group, without rows of group -1."""
    group_mask = groups >= 0
    sizes = np.bincount(groups[group_mask])
    columns = [
        np.bincount(groups[group_mask], values[group_mask]) / sizes
        for values in records.cells[: records.numbers]
    ]
    for codes in records.cells[records.numbers :, group_mask].astype(np.int64):
        width = codes.max(initial=0) + 1
        pairs, counts = np.unique(groups[group_mask] * width + codes, return_counts=True)
        # Stable, so that the first of equally frequent codes stays first.
        order = np.lexsort((-counts, pairs // width))
        first = np.searchsorted(pairs // width, np.arange(sizes.size))
        columns.append((pairs % width)[order][first].astype(np.float64))
    return np.ascontiguousarray(columns, np.float64)


@kernel
def _nearest_average(records: Coordinates, row: int, averages: Floats) -> int:
    best, closest = np.inf, 0
    for group in range(averages.shape[1]):
        distance = square(averages, records.numbers, records.weights, group, records.cells[:, row])
        if distance < best:
            best, closest = distance, group
    return closest


@kernel
def _variable(records: Coordinates, k: int, gamma: float) -> Groups:
    cells, numbers, weights = records
    rows = cells.shape[1]
    groups = np.full(rows, -1, np.int64)
    left, group = rows, 0
    totals = _totals(records)
    average = np.empty(cells.shape[0])
    _average(totals, rows, average)
    # Order the records by their distance from the average.
    reach = np.empty(rows)
    for row in range(rows):
        reach[row] = square(cells, numbers, weights, row, average)
    order = np.argsort(-reach, kind="mergesort")
    tree = build(cells, numbers, weights, np.arange(rows))
    built = rows
    members = np.empty(2 * k - 1, np.int64)
    near = np.empty(2 * k - 1, np.int64)  # the nearest record without a group, for each member
    squares = np.empty(2 * k - 1)
    two, two_squares = np.empty(2, np.int64), np.empty(2)
    at = 0
    while left >= k:
        if left < built // 2 and built > LEAF:
            tree = build(cells, numbers, weights, np.flatnonzero(groups < 0))
            built = left
        while groups[order[at]] >= 0:
            at += 1
        # The farthest record without a group, with its k - 1 nearest.
        members[0] = order[at]
        remove(tree, members[0])
        search(tree, cells[:, members[0]].copy(), False, members[1:k], squares[1:k])
        for i in range(1, k):
            remove(tree, members[i])
        size = k
        near[:] = -1
        # Let the group grow.
        while size < 2 * k - 1 and tree.left[0] > 0 and gamma > 0:
            joining = -1
            for i in range(size):
                if near[i] < 0:
                    search(tree, cells[:, members[i]].copy(), False, near[i : i + 1], squares[i : i + 1])
                if joining < 0 or (squares[i], near[i]) < (squares[joining], near[joining]):
                    joining = i
            row, inside = near[joining], squares[joining]
            outside = np.inf
            for i in range(search(tree, cells[:, row].copy(), False, two, two_squares)):
                if two[i] != row:
                    outside = min(outside, two_squares[i])
            if not np.sqrt(inside) < gamma * np.sqrt(outside):
                break
            remove(tree, row)
            members[size] = row
            for i in range(size):
                if near[i] == row:
                    near[i] = -1
            size += 1
        for i in range(size):
            groups[members[i]] = group
        left -= size
        group += 1
    return groups


@kernel
def square(cells: Floats, numbers: int, weights: Floats, row: int, point: Floats) -> float:
    """Return the squared distance of a record from a point, summed in the order of the columns."""
    total = 0.0
    for j in range(numbers):
        total += (cells[j, row] - point[j]) * (cells[j, row] - point[j])
    for j in range(numbers, point.size):
        total += weights[j - numbers] if cells[j, row] != point[j] else 0.0
    return total


@kernel
def _by_distance(records: Coordinates, point: Floats, rows: Integers) -> tuple[Integers, Floats]:
    """Return rows and their squared distances from a point, the farthest first, equally far ones in order."""
    cells, numbers, weights = records
    reach = np.empty(rows.size)
    for i in range(rows.size):
        reach[i] = square(cells, numbers, weights, rows[i], point)
    order = np.argsort(-reach, kind="mergesort")
    return rows[order], reach[order]


@kernel
def _farthest_from(
    records: Coordinates, point: Floats, order: Integers, reach: Floats, reference: Floats, groups: Groups
) -> tuple[int, int]:
    """Find the record without a group that is farthest from a point, and how many were examined for it.

    The point is close to the reference that the rows are ordered by. No record is farther from the point than
    from the reference plus the distance of the two, so the search ends early; the slack is far above rounding
    and underflow, and the distances that decide are those of a full scan.
    """
    cells, numbers, weights = records
    moved = np.sqrt(square(reference.reshape(-1, 1), numbers, weights, 0, point))
    best, farthest_row = -1.0, -1
    for i in range(order.size):
        if farthest_row >= 0 and (np.sqrt(reach[i]) + moved) * (1 + 1e-9) + 1e-150 < np.sqrt(best):
            return farthest_row, i
        row = int(order[i])
        if groups[row] < 0:
            distance = square(cells, numbers, weights, row, point)
            if distance > best or (distance == best and row < farthest_row):
                best, farthest_row = distance, row
            if moved == 0:  # the rows are already in this order
                return farthest_row, i + 1
    return farthest_row, order.size


class Totals(NamedTuple):
    """Sums of the numbers, their rounding errors, and counts of all codes, column by column from `starts` on."""

    total: Floats
    error: Floats
    counts: Integers
    starts: Integers


@kernel
def _totals(records: Coordinates) -> Totals:
    """Add up all records."""
    cells, numbers, _ = records
    columns, rows = cells.shape
    total, error = np.zeros(numbers), np.zeros(numbers)
    starts = np.zeros(columns - numbers + 1, np.int64)
    for j in range(numbers, columns):
        starts[j - numbers + 1] = starts[j - numbers] + np.int64(cells[j].max()) + 1
    counts = np.zeros(starts[-1], np.int64)
    for row in range(rows):
        for j in range(numbers):
            _add(total, error, j, cells[j, row])
        for j in range(numbers, columns):
            counts[starts[j - numbers] + np.int64(cells[j, row])] += 1
    return Totals(total, error, counts, starts)


@kernel
def _add(total: Floats, error: Floats, j: int, value: float) -> None:
    """Add to a sum of twice the precision, so that removed records leave no trace."""
    old = total[j]
    new = old + value
    part = new - old
    low = error[j] + ((old - (new - part)) + (value - part))
    total[j] = new + low
    error[j] = low - (total[j] - new)


@kernel
def _take_out(records: Coordinates, row: int, totals: Totals) -> None:
    cells, numbers, _ = records
    for j in range(numbers):
        _add(totals.total, totals.error, j, -cells[j, row])
    for j in range(numbers, cells.shape[0]):
        totals.counts[totals.starts[j - numbers] + np.int64(cells[j, row])] -= 1


@kernel
def _average(totals: Totals, left: int, out: Floats) -> None:
    """Compute means of the numbers and most frequent codes; the first of equally frequent ones."""
    total, _, counts, starts = totals
    numbers = total.size
    for j in range(numbers):
        out[j] = total[j] / left
    for j in range(numbers, out.size):
        out[j] = np.argmax(counts[starts[j - numbers] : starts[j - numbers + 1]])
