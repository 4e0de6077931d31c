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
    records = len(columns[0].steps)
    left = np.ones(records, np.bool_)
    found = []
    turns: list[_Turn] = []
    fresh = corners(len(columns))
    for number in range(records // k - 1):
        if len(turns) == number and (corner := next(fresh, None)) is not None:
            turns.append(_Turn(columns, corner))
        rows = turns[number % len(turns)].first(k, left)
        left[rows] = False
        found.append(rows)
    return [*found, np.flatnonzero(left)]


class _Turn:
    """All records in the order of their distance to a corner."""

    def __init__(self, columns: Sequence[Numbers], corner: Corner) -> None:
        distance = np.zeros(len(columns[0].steps))
        for column, is_high in zip(columns, corner, strict=True):
            edge = column.bounds.highest if is_high else column.bounds.lowest
            distance += ((column.steps - edge) / column.reach) ** 2
        self._order = np.lexsort([*(column.steps for column in reversed(columns)), distance])

    def first(self, k: int, left: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the first k that are left, and forget those that are gone."""
        self._order = self._order[left[self._order]]
        return self._order[:k]


def cluster_sums(columns: Sequence[Numbers], rows: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the sum of each cluster in each column, in steps."""
    return np.array([[int(column.steps[each].sum()) for column in columns] for each in rows], np.int64)
