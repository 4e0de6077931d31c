"""k-Ward: Ward's hierarchical clustering, which joins no groups that are large enough, applied recursively.

Domingo-Ferrer and Mateo-Sanz (2002). Joining two groups costs its increase of the sum of squares within
groups: n m / (n + m) times the squared distance of their means.
"""

from __future__ import annotations

import numpy as np

from veil.base.arrays import Integers
from veil.base.compiled import kernel
from veil.masking.microaggregation.records import Coordinates
from veil.tables.columns import Floats, Groups


def k_ward(records: Coordinates, k: int) -> Groups:
    """Split the records by k-Ward, and again every group of 2k or more.

    Each split starts with the two records farthest from each other, each with its k - 1 nearest, and every
    other record alone; the cheapest two groups are joined, unless both have k records, until all have. Takes
    quadratic time.

    >>> records = Coordinates(np.array([[1.0, 2, 3, 10, 11, 12]]), 1, np.empty(0))
    >>> k_ward(records, 3).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    points = records.coordinates()
    groups = np.zeros(records.rows, np.int64)
    waiting, count = [np.arange(records.rows)], 0
    while waiting:
        rows = waiting.pop()
        if rows.size < 2 * k:
            groups[rows] = count
            count += 1
            continue
        parts = _split(points[rows], k)
        # Reversed, as it is a stack: groups are numbered by their first rows.
        waiting += [rows[parts == part] for part in np.unique(parts)[::-1]]
    return groups


@kernel
def joining_cost(size: int, mean: Floats, other_size: int, other_mean: Floats) -> float:
    """Return the increase in the within-group sum of squares if two groups are joined.

    >>> float(joining_cost(1, np.array([2.0]), 2, np.array([14.0])))
    96.0
    """
    squares = 0.0
    for j in range(mean.size):
        squares += (mean[j] - other_mean[j]) * (mean[j] - other_mean[j])
    return size * other_size / (size + other_size) * squares


@kernel
def _split(points: Floats, k: int) -> Groups:
    """Return for each point the first point of its group."""
    rows = points.shape[0]
    sizes = np.ones(rows, np.int64)
    sums = points.copy()
    group = np.arange(rows)
    first, second = _farthest_pair(points)
    for center, other in ((first, second), (second, first)):
        # Neither gets the other's center or members.
        gaps = np.empty(rows)
        for row in range(rows):
            gaps[row] = np.inf if sizes[row] != 1 or row == other else _gap(points, row, center)
        gaps[center] = -1.0
        members = np.sort(np.argsort(gaps, kind="mergesort")[:k])
        for row in members[1:]:
            sums[members[0]] += sums[row]
            sizes[row] = 0
        sizes[members[0]] = k
        group[members] = members[0]
    return _join(sums, sizes, group, k)


@kernel
def _gap(points: Floats, row: int, other: int) -> float:
    squares = 0.0
    for j in range(points.shape[1]):
        squares += (points[row, j] - points[other, j]) * (points[row, j] - points[other, j])
    return squares


@kernel
def _farthest_pair(points: Floats) -> tuple[int, int]:
    first, second, most = 0, 1, -1.0
    for row in range(points.shape[0]):
        for other in range(row + 1, points.shape[0]):
            gap = _gap(points, row, other)
            if gap > most:
                first, second, most = row, other, gap
    return first, second


@kernel
def _join(sums: Floats, sizes: Integers, group: Groups, k: int) -> Groups:
    """Join groups, the cheapest two first, until every one has k records."""
    rows = sizes.size
    means = sums.copy()
    alive = np.flatnonzero(sizes > 0)
    small = 0
    for at in alive:
        means[at] = sums[at] / sizes[at]
        small += sizes[at] < k
    best = np.full(rows, np.inf)  # cost of joining a group to its cheapest partner
    partner = np.full(rows, -1, np.int64)
    for group_at in range(rows):
        if sizes[group_at]:
            _choose(group_at, alive, sizes, means, k, best, partner)
    while small:
        keep = alive[0]
        for at in alive:
            if best[at] < best[keep]:
                keep = at
        gone = partner[keep]
        keep, gone = min(keep, gone), max(keep, gone)
        small -= (sizes[keep] < k) + (sizes[gone] < k) - (sizes[keep] + sizes[gone] < k)
        sizes[keep] += sizes[gone]
        sums[keep] += sums[gone]
        means[keep] = sums[keep] / sizes[keep]
        sizes[gone] = 0
        group[group == gone] = keep
        alive = alive[alive != gone]
        for at in alive:
            if at == keep or partner[at] == keep or partner[at] == gone:
                _choose(at, alive, sizes, means, k, best, partner)
            elif sizes[at] < k or sizes[keep] < k:
                cost = joining_cost(sizes[at], means[at], sizes[keep], means[keep])
                if cost < best[at] or (cost == best[at] and keep < partner[at]):
                    best[at], partner[at] = cost, keep
    return group


@kernel
def _choose(
    at: int, alive: Integers, sizes: Integers, means: Floats, k: int, best: Floats, partner: Integers
) -> None:
    """Find the cheapest partner of a group; the first of equally cheap ones."""
    best[at], partner[at] = np.inf, -1
    for other in alive:
        if other != at and (sizes[other] < k or sizes[at] < k):
            cost = joining_cost(sizes[at], means[at], sizes[other], means[other])
            if cost < best[at]:
                best[at], partner[at] = cost, other
