"""Make noisy tables consistent, and draw records from them: post-processing, without a privacy loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veil.base.randomness import Randomness

Table = NDArray[np.float64]

_ROUNDS = 50


def nearest_counts(noisy: Table, total: float) -> Table:
    """Return the nonnegative counts with a given total that are nearest to noisy ones.

    >>> nearest_counts(np.array([5.0, 2.0, -3.0]), 6.0)
    array([4.5, 1.5, 0. ])
    """
    if not total:
        return np.zeros_like(noisy)
    falling = np.sort(noisy, axis=None)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    last = np.flatnonzero(falling > excess)[-1]
    return np.asarray(np.maximum(noisy - excess[last], 0), np.float64)


def fit(table: Table, rows: Table, columns: Table) -> Table:
    """Return a table with given margins and the associations of another (iterative proportional fitting).

    A little of the independent table is mixed in, so that all margins can be attained.
    """
    total = rows.sum()
    independent = np.outer(rows, columns) / max(total, 1)
    fitted: Table = table + 1e-6 * independent
    for _ in range(_ROUNDS):
        fitted *= (rows / np.maximum(fitted.sum(axis=1), 1e-300))[:, None]
        fitted *= columns / np.maximum(fitted.sum(axis=0), 1e-300)
    return fitted


def whole_counts(chances: Table, records: int, randomness: Randomness) -> NDArray[np.int64]:
    """Draw whole counts with a given sum, each its expected value rounded up or down.

    >>> whole_counts(np.array([0.5, 0.25, 0.25]), 8, Randomness.for_testing(1))
    array([4, 2, 2])
    """
    total = chances.sum()
    share = chances / total if total > 0 else np.full(len(chances), 1 / len(chances))
    # With one random offset for all, each interval of sums contains the count rounded down or up as integers.
    ends = np.floor(np.cumsum(share) * records + randomness.uniform(1)[0])
    ends[-1] = records
    return np.asarray(np.diff(np.minimum(ends, records), prepend=0), np.int64)


def draw_root(counts: Table, records: int, randomness: Randomness) -> NDArray[np.int64]:
    """Draw the cell of each record, in a random order."""
    cells = np.repeat(np.arange(len(counts)), whole_counts(counts, records, randomness))
    return cells[randomness.permutation(records)]


def draw_child(parent: NDArray[np.int64], table: Table, randomness: Randomness) -> NDArray[np.int64]:
    """Draw the cell of each record, given its cell in another column and the table of both."""
    cells = np.empty(len(parent), np.int64)
    order = np.argsort(parent, kind="stable")
    ends = np.searchsorted(parent[order], np.arange(len(table) + 1))
    for cell in np.unique(parent):
        rows = order[ends[cell] : ends[cell + 1]]
        cells[rows] = draw_root(table[cell], len(rows), randomness)
    return cells
