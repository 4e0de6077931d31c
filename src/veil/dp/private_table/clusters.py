"""Clusters that one changed record can hardly change: insensitive microaggregation (Soria-Comas 2013, algorithm 6.1).

Clusters are cut off one after the other: the k records that are first in an order of all possible records. Orders depend
on bounds alone, so that changing a record replaces at most one record in each cluster. Here they are by the distance to a
corner of the domain, each corner in turn; ties are decided by the values themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from veil.dp.private_table.columns import Numbers

Corner = tuple[int, ...]


def corners(columns: int) -> Iterator[Corner]:
    """Yield the corners of a domain, 0 for the lower and 1 for the upper bound of each column.

    First all that are low; then always the unused one that differs from the last in most columns, or, among several, from
    the one before it, and so on.

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
    """Return the rows of each cluster: k of them, in the last one up to 2k - 1."""
    left = np.arange(len(columns[0].steps))
    found = []
    wanted = len(left) // k - 1
    for corner in itertools.islice(
        itertools.cycle(itertools.islice(corners(len(columns)), max(1, wanted))), wanted
    ):
        rows = nearest(columns, corner, k, left)
        left = np.setdiff1d(left, rows, assume_unique=True)
        found.append(rows)
    return [*found, left]


def nearest(columns: Sequence[Numbers], corner: Corner, k: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the k rows, of some, that are nearest to a corner, from near to far; ties by their values."""
    distance = np.zeros(len(rows))
    for column, is_high in zip(columns, corner, strict=True):
        edge = column.bounds.highest if is_high else column.bounds.lowest
        distance += ((column.steps[rows] - edge) / column.reach) ** 2
    close = distance <= np.partition(distance, k - 1)[k - 1]  # k, and what is as far as the last of them
    rows, distance = rows[close], distance[close]
    order = np.lexsort([*(column.steps[rows] for column in reversed(columns)), distance])
    return rows[order[:k]]


def cluster_sums(columns: Sequence[Numbers], rows: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the sum of each cluster in each column, in steps."""
    return np.array([[int(column.steps[each].sum()) for column in columns] for each in rows], np.int64)
