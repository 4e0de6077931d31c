"""Genetic refinement: a population of partitions that starts from a given one and keeps its best.

A partition is coded as the group of each record, as in Solanas et al., "Multivariate microaggregation based
on genetic algorithms" (2006). A child takes the records on one side of a cut from one parent and the others
from the other. The cut is across the first principal component, so that few groups are torn apart; groups
left too small are shared out, those of 2k or more are split. Then some records try the group of a near one:
they move there if sizes allow it, or change places with it, and stay if that does not raise the sum of
squares. A child that is better than the worst of the population replaces it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Integers
from veil.base.compiled import kernel
from veil.base.randomness import Randomness
from veil.masking.microaggregation.tree import build, search
from veil.masking.microaggregation.univariate import principal_component
from veil.tables.columns import Floats, Groups

NEIGHBOURS = 10
"""Near records whose groups a record may try."""


def genetic(
    points: Floats, groups: Groups, k: int, generations: int, population: int, randomness: Randomness
) -> Groups:
    """Search for a partition with a smaller sum of squares within groups, which keep at least k records.

    >>> points = np.array([[1.0], [2.0], [9.0], [10.0]])
    >>> start = np.array([0, 1, 0, 1])
    >>> groups = genetic(points, start, 2, generations=50, population=4, randomness=Randomness.for_testing(1))
    >>> groups[0] == groups[1] != groups[2] == groups[3]
    np.True_
    """
    along = np.argsort(principal_component(points - points.mean(axis=0)), kind="stable")
    place = np.empty(along.size, np.int64)
    place[along] = np.arange(along.size)
    state = randomness.bits(1).copy()
    best = _evolve(points, groups, k, generations, population, place, _neighbours(points), state)
    # Number the groups without gaps.
    return np.unique(best, return_inverse=True)[1].astype(np.int64)


@kernel
def _evolve(
    points: Floats,
    start: Groups,
    k: int,
    generations: int,
    population: int,
    place: Integers,
    near: Integers,
    state: NDArray[np.uint64],
) -> Groups:
    rows, columns = points.shape
    count = max(start.max() + 1, rows // k)
    people = np.empty((population, rows), np.int64)
    cost = np.empty(population)
    sums, sizes = np.empty((count, columns)), np.empty(count, np.int64)
    child = np.empty(rows, np.int64)
    for one in range(population):
        people[one] = start
        _tally(points, people[one], sums, sizes)
        if one:  # the first stays unchanged, so the best is never worse
            _mutate(points, people[one], sums, sizes, k, near, state)
        cost[one] = _squares_within(points, people[one], sums, sizes)
    for _ in range(generations * population):
        mother, father = _fitter(cost, state), _fitter(cost, state)
        cut = _below(state, rows)
        for row in range(rows):
            child[row] = people[mother, row] if place[row] < cut else people[father, row]
        _tally(points, child, sums, sizes)
        _share_out(points, child, sums, sizes, k)
        _split(points, child, sums, sizes, k)
        _mutate(points, child, sums, sizes, k, near, state)
        _tally(points, child, sums, sizes)  # anew, without rounding errors
        within = _squares_within(points, child, sums, sizes)
        worst = np.argmax(cost)
        if within < cost[worst]:
            people[worst], cost[worst] = child, within
    best: Groups = people[np.argmin(cost)]
    return best


@kernel
def _tally(points: Floats, groups: Groups, sums: Floats, sizes: Integers) -> None:
    sums[:] = 0.0
    sizes[:] = 0
    for row in range(groups.size):
        sizes[groups[row]] += 1
        sums[groups[row]] += points[row]


@kernel
def _squares_within(points: Floats, groups: Groups, sums: Floats, sizes: Integers) -> float:
    total = 0.0
    for row in range(groups.size):
        total += _square(points[row], sums[groups[row]], sizes[groups[row]])
    return total


@kernel
def _square(point: Floats, sums: Floats, size: int) -> float:
    """Return the squared distance of a point from the mean of a group."""
    total = 0.0
    for j in range(point.size):
        gap = point[j] - sums[j] / size
        total += gap * gap
    return total


@kernel
def _share_out(points: Floats, groups: Groups, sums: Floats, sizes: Integers, k: int) -> None:
    """Move the records of groups that are too small to the nearest large enough group."""
    if not ((sizes > 0) & (sizes < k)).any():
        return
    large = np.flatnonzero(sizes >= k)
    if large.size == 0:
        groups[:] = 0
        _tally(points, groups, sums, sizes)
        return
    for row in range(groups.size):
        old = groups[row]
        if sizes[old] < k:
            best, closest = np.inf, large[0]
            for group in large:
                square = _square(points[row], sums[group], sizes[group])
                if square < best:
                    best, closest = square, group
            groups[row] = closest
    _tally(points, groups, sums, sizes)


@kernel
def _split(points: Floats, groups: Groups, sums: Floats, sizes: Integers, k: int) -> None:
    """Move the record farthest from the mean and its k - 1 nearest out of each group of 2k or more."""
    unused = np.flatnonzero(sizes == 0)
    used = 0
    for group in np.flatnonzero(sizes >= 2 * k):
        while sizes[group] >= 2 * k and used < unused.size:
            rows = np.flatnonzero(groups == group)
            gaps = np.array([_square(points[row], sums[group], sizes[group]) for row in rows])
            center = rows[np.argmax(gaps)]
            gaps = np.array([_square(points[row], points[center], 1) for row in rows])
            gaps[rows == center] = -1.0
            for row in rows[np.argsort(gaps, kind="mergesort")[:k]]:
                _move(points[row], row, groups, unused[used], sums, sizes)
            used += 1


@kernel
def _mutate(
    points: Floats,
    groups: Groups,
    sums: Floats,
    sizes: Integers,
    k: int,
    near: Integers,
    state: NDArray[np.uint64],
) -> None:
    """Let a tenth of the records, but at least ten, try the group of a near record."""
    for _ in range(max(10, groups.size // 10)):
        row = _below(state, groups.size)
        other = near[row, _below(state, near.shape[1])]
        home, guest = groups[row], groups[other]
        if home == guest:
            continue
        change = _leaving(points[row], sums[home], sizes[home])
        if sizes[home] > k:
            change += _joining(points[row], sums[guest], sizes[guest])
            if change <= 0:
                _move(points[row], row, groups, guest, sums, sizes)
            continue
        change += _leaving(points[other], sums[guest], sizes[guest])
        _move(points[row], row, groups, guest, sums, sizes)
        _move(points[other], other, groups, home, sums, sizes)
        # After the exchange, an arrival has added what leaving would remove.
        change -= _leaving(points[row], sums[guest], sizes[guest])
        change -= _leaving(points[other], sums[home], sizes[home])
        if change > 0:
            _move(points[row], row, groups, home, sums, sizes)
            _move(points[other], other, groups, guest, sums, sizes)


@kernel
def _leaving(point: Floats, sums: Floats, size: int) -> float:
    """Return the change (below 0) of the sum of squares of a group if one of its records leaves."""
    return -size / (size - 1) * _square(point, sums, size) if size > 1 else 0.0


@kernel
def _joining(point: Floats, sums: Floats, size: int) -> float:
    """Return the change of the sum of squares of a group if a record joins."""
    return size / (size + 1) * _square(point, sums, size)


@kernel
def _move(point: Floats, row: int, groups: Groups, to: int, sums: Floats, sizes: Integers) -> None:
    home = groups[row]
    for j in range(point.size):
        sums[home, j] -= point[j]
        sums[to, j] += point[j]
    sizes[home] -= 1
    sizes[to] += 1
    groups[row] = to


@kernel
def _fitter(cost: Floats, state: NDArray[np.uint64]) -> int:
    """Return the better of two partitions drawn at random."""
    one, other = _below(state, cost.size), _below(state, cost.size)
    return one if cost[one] <= cost[other] else other


@kernel
def _below(state: NDArray[np.uint64], limit: int) -> int:
    """Draw a number below a limit (splitmix64); privacy does not depend on these draws."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return int(mixed % np.uint64(limit))


@kernel
def _neighbours(points: Floats) -> Integers:
    """Return near records of each record, without itself unless it has no others."""
    rows = points.shape[0]
    cells = np.ascontiguousarray(points.T)
    tree = build(cells, points.shape[1], np.empty(0), np.arange(rows))
    count = min(NEIGHBOURS + 1, rows)
    near = np.zeros((rows, max(1, count - 1)), np.int64)
    candidates, squares = np.empty(count, np.int64), np.empty(count)
    for row in range(rows):
        search(tree, points[row].copy(), False, candidates, squares)
        filled = 0
        for other in candidates:
            if other != row and filled < near.shape[1]:
                near[row, filled] = other
                filled += 1
    return near
