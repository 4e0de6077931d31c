"""Partitions of ordered records into runs."""

from __future__ import annotations

import numpy as np

from veil.base.arrays import Integers
from veil.base.compiled import kernel
from veil.tables.columns import Floats, Groups


def fixed_size(order: Integers, k: int) -> Groups:
    """Cut rows in their order into runs of k; the last run has the remainder as well.

    >>> fixed_size(np.array([4, 0, 1, 3, 2]), 2).tolist()
    [0, 1, 1, 1, 0]
    """
    place = np.arange(order.size) // k
    return _at(order, np.minimum(place, max(0, order.size // k - 1)))


def from_both_ends(order: Integers, k: int) -> Groups:
    """Cut runs of k from both ends of the ordered rows, in turns; the remainder stays in the middle.

    Soria-Comas (2013), Algorithm 7.1: while at least 3k rows are left the first and the last k, then, if at
    least 2k are, the first k.

    >>> from_both_ends(np.arange(7), 2).tolist()
    [0, 0, 2, 2, 2, 1, 1]
    """
    rows = order.size
    pairs = max(0, (rows - k) // (2 * k))
    first = pairs + (rows - 2 * pairs * k >= 2 * k)
    place = np.arange(rows)
    groups = np.full(rows, pairs + first, np.int64)
    groups[: first * k] = 2 * (place[: first * k] // k)
    groups[rows - pairs * k :] = 2 * (place[: pairs * k][::-1] // k) + 1
    return _at(order, groups)


def shortest_path(order: Integers, coordinates: Floats, k: int) -> Groups:
    """Cut rows in their order into runs of k to 2k - 1 with the least sum of squares, in O(kn).

    For one column in its order this is optimal among all partitions (Hansen and Mukherjee 2003): the groups
    of an optimal one are runs, and a run of 2k or more is better off in two. For several columns it is
    optimal among those that keep to the order (Domingo-Ferrer et al. 2006).

    >>> values = np.array([1.0, 2, 9, 10, 11])
    >>> shortest_path(np.arange(5), values[:, None], 2).tolist()
    [0, 0, 1, 1, 1]
    """
    ends = _shortest_path(np.ascontiguousarray(coordinates[order], np.float64), k)
    return _at(order, np.searchsorted(ends, np.arange(order.size), side="right"))


def principal_component(standardized: Floats) -> Floats:
    """Return the place of each record along the first principal component of its columns.

    The sign is chosen so that the largest part is positive.

    >>> principal_component(np.array([[-1.0, -2.0], [1.0, 2.0]])).round(3).tolist()
    [-2.236, 2.236]
    """
    _, directions = np.linalg.eigh(standardized.T @ standardized)
    first = directions[:, -1]
    return np.asarray(standardized @ (first * np.sign(first[np.argmax(np.abs(first))])), np.float64)


@kernel
def _shortest_path(points: Floats, k: int) -> Integers:
    """Return the end of each run of the best cut."""
    rows, columns = points.shape
    best = np.full(rows + 1, np.inf)
    before = np.zeros(rows + 1, np.int64)
    best[0] = 0.0
    mean = np.empty(columns)
    for end in range(k, rows + 1):
        # Extend the run backwards, and its sum of squares by Welford's method, without cancellation.
        mean[:] = 0.0
        within = 0.0
        for start in range(end - 1, max(-1, end - 2 * k), -1):
            size = end - start
            for j in range(columns):
                gap = points[start, j] - mean[j]
                mean[j] += gap / size
                within += gap * (points[start, j] - mean[j])
            if size >= k and best[start] + within < best[end]:
                best[end], before[end] = best[start] + within, start
    ends = np.empty(rows // k, np.int64)
    count, end = 0, rows
    while end > 0:
        ends[count] = end
        count, end = count + 1, int(before[end])
    return ends[:count][::-1].copy()


def _at(order: Integers, groups: Integers) -> Groups:
    """Return the group of each row, given those of the places in an order."""
    group_of_row = np.empty(order.size, np.int64)
    group_of_row[order] = groups
    return group_of_row
