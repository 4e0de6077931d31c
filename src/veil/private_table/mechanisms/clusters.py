"""Insensitive microaggregation: clusters that hardly depend on one record (Soria-Comas 2013, algorithm 6.1).

Clusters are cut off one after the other: the k records that are first in an order of all possible records.
Orders depend on bounds alone, so changing a record replaces at most one record in each cluster. Here they are
by the distance to a corner of the domain, each corner in turn; ties are decided by the values themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.private_table.mechanisms.columns import Numbers

Corner = tuple[int, ...]


def corners(columns: int) -> Iterator[Corner]:
    """Yield the corners of a domain, 0 for the lower and 1 for the upper bound of each column.

    The first one is low in all columns; each next one is the unused corner that differs from the last in most
    columns, or, among several, from the one before it, and so on.

    >>> list(corners(2))
    [(0, 0), (1, 1), (0, 1), (1, 0)]
    """
    unused = np.array(list(itertools.product((0, 1), repeat=columns)), np.int8)
    used = [unused[0]]
    yield tuple(unused[0].tolist())
    unused = unused[1:]
    while len(unused):
        best = np.arange(len(unused))
        for earlier in reversed(used):
            far = (unused[best] != earlier).sum(axis=1)
            best = best[far == far.max()]
            if len(best) == 1:
                break
        used.append(unused[best[0]])
        yield tuple(used[-1].tolist())
        unused = np.delete(unused, best[0], axis=0)


def clusters(columns: Sequence[Numbers], k: int) -> list[NDArray[np.int64]]:
    """Return the rows of each cluster: k each, and up to 2k - 1 in the last one."""
    left = np.arange(len(columns[0].steps))
    points, left_mask = _points(columns, left), np.ones(len(left), np.bool_)
    members = []
    number = len(left) // k - 1
    turns = itertools.islice(corners(len(columns)), max(1, number))
    for corner in itertools.islice(itertools.cycle(turns), number):
        places = _first(points, _distances(columns, corner, points, left_mask), k)
        members.append(left[places])
        left_mask[places] = False
        if left_mask.sum() < _WORTH_MOVING * len(left):
            left, points = left[left_mask], points[left_mask]
            left_mask = np.ones(len(left), np.bool_)
    return [*members, left[left_mask]]


_WORTH_MOVING = 0.75
"""The arrays are compacted when at most this share of their records is left."""


def _points(columns: Sequence[Numbers], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.column_stack([column.steps[rows] for column in columns])


def _first(points: NDArray[np.int64], distance: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    close = _closest(distance, k)
    order = np.lexsort([*points[close].T[::-1], distance[close]])
    return np.asarray(close[order[:k]], np.int64)


def _closest(distance: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the places of the k smallest distances, and of all equal to the last of them.

    A regular sample of many distances gives a rough upper bound, so that few are partitioned.
    """
    some = distance[:: max(1, len(distance) // _SAMPLE)]
    about = min(len(some) - 1, 3 * k * len(some) // (2 * len(distance)) + 8)
    near = np.flatnonzero(distance <= np.partition(some, about)[about])
    if len(near) < k:
        near = np.arange(len(distance))
    near_distances = distance[near]
    return np.asarray(near[near_distances <= np.partition(near_distances, k - 1)[k - 1]], np.int64)


_SAMPLE = 4096


def _distances(
    columns: Sequence[Numbers], corner: Corner, points: NDArray[np.int64], left_mask: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the squared distance of each point from a corner, scaled by reaches; infinite if not left."""
    edges = [
        each.bounds.highest if is_high else each.bounds.lowest
        for each, is_high in zip(columns, corner, strict=True)
    ]
    distances = np.empty(len(points))
    _measure(points, np.array(edges), np.array([each.reach for each in columns]), left_mask, distances)
    return distances


@kernel
def _measure(
    points: NDArray[np.int64],
    edges: NDArray[np.int64],
    reach: NDArray[np.int64],
    left_mask: NDArray[np.bool_],
    distances: NDArray[np.float64],
) -> None:
    """Compute squared distances to a corner, in parts of the ranges; infinite for rows in a cluster."""
    for row in range(points.shape[0]):
        if not left_mask[row]:
            distances[row] = np.inf
            continue
        total = 0.0
        for place in range(points.shape[1]):
            part = (points[row, place] - edges[place]) / reach[place]
            total += part * part
        distances[row] = total


def cluster_sums(columns: Sequence[Numbers], rows: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the sum of each cluster in each column, in steps."""
    return np.array([[int(column.steps[each].sum()) for column in columns] for each in rows], np.int64)
