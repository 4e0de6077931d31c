"""Counts of the records of each bucket in each group, such that no group differs from the whole by more than
t.

The values of a confidential attribute, in their order, make t + 1 buckets of equal size. Every group takes
more than its share of one bucket and less of all others, within a factor t. Soria-Comas (2013), section 7.2.

Two differences from the text: bucket limits are rounded half up, as the printed ceiling would make the last
bucket too small. And if the numbers of records do not divide evenly, the printed counts need more records of
some buckets than there are; they are changed, as little as a shortest path allows, until they fit.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from veil.base.arrays import Integers
from veil.errors import NoSolutionError


def bucket_sizes(records: int, t: int) -> Integers:
    """Cut records into t + 1 buckets.

    >>> bucket_sizes(50, 2).tolist()
    [17, 16, 17]
    """
    buckets = t + 1
    return np.diff((2 * np.arange(buckets + 1) * records + buckets) // (2 * buckets))


def group_sizes(records: int, groups: int) -> Integers:
    """Cut records into groups that differ by one at most.

    >>> group_sizes(50, 9).tolist()
    [6, 6, 5, 6, 5, 6, 5, 6, 5]
    """
    return np.diff(-(-np.arange(groups + 1) * records // groups))


def counts_as_published(records: int, t: int, times: int) -> Integers:
    """Return the printed counts of each bucket in each group; `times` groups emphasize each bucket, in turns.

    >>> counts_as_published(12, 2, 1).tolist()
    [[2, 1, 1], [1, 2, 1], [1, 1, 2]]
    """
    sizes, supply = group_sizes(records, (t + 1) * times), bucket_sizes(records, t)
    counts = -(-sizes[:, None] * supply // (records * t))
    emphasized = np.arange(sizes.size) % (t + 1)
    counts[np.arange(sizes.size), emphasized] = 0
    counts[np.arange(sizes.size), emphasized] = sizes - counts.sum(axis=1)
    return counts


def fitting_counts(records: int, t: int, times: int) -> Integers:
    """Return counts that use up every bucket and keep every share within a factor t of the whole.

    They are the published ones if these fit. If there are none, a `NoSolutionError` is raised: a unit of
    excess is passed on from bucket to bucket through any group with room for it, and where that ends the
    groups cannot take less of what is short.

    >>> fitting_counts(50, 2, 3).sum(axis=0).tolist(), bucket_sizes(50, 2).tolist()
    ([17, 16, 17], [17, 16, 17])
    """
    sizes, supply = group_sizes(records, (t + 1) * times), bucket_sizes(records, t)
    low = -(-sizes[:, None] * supply // (records * t))
    high = sizes[:, None] * supply * t // records
    counts = np.clip(counts_as_published(records, t, times), low, high)
    for group in range(sizes.size):
        while (missing := int(sizes[group] - counts[group].sum())) != 0:
            # From the bucket with the most supply left, or the most overdrawn one.
            room = counts[group] < high[group] if missing > 0 else counts[group] > low[group]
            left = (supply - counts.sum(axis=0)) * np.sign(missing)
            if not room.any():
                raise _impossible(records, t, times)
            counts[group, np.argmax(np.where(room, left, np.iinfo(np.int64).min))] += np.sign(missing)
    while (left := supply - counts.sum(axis=0)).any():
        path = _path(counts, low, high, left)
        if path is None:
            raise _impossible(records, t, times)
        for group, source, target in path:
            counts[group, source] -= 1
            counts[group, target] += 1
    return counts


def _path(
    counts: Integers, low: Integers, high: Integers, left: Integers
) -> list[tuple[int, int, int]] | None:
    """Find the shortest way to pass one record on from an overdrawn bucket to one with records left."""
    start = int(np.argmin(left))
    come_from: dict[int, tuple[int, int, int]] = {}
    waiting = deque([start])
    while waiting:
        source = waiting.popleft()
        for target in range(left.size):
            through = np.flatnonzero(
                (counts[:, source] > low[:, source]) & (counts[:, target] < high[:, target])
            )
            if target == start or target in come_from or not through.size:
                continue
            come_from[target] = (int(through[0]), source, target)
            if left[target] > 0:
                path = []
                at = target
                while at != start:
                    path.append(come_from[at])
                    at = come_from[at][1]
                return path[::-1]
            waiting.append(target)
    return None


def _impossible(records: int, t: int, times: int) -> NoSolutionError:
    return NoSolutionError(
        f"{records} records cannot be put into {(t + 1) * times} groups whose {t + 1} buckets are all within a factor "
        f"{t} of the whole. Choose a larger `k`, and so fewer groups"
    )
