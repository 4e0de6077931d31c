"""Merging of groups that lack something with the nearest ones, until none lacks anything."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veil.base.arrays import Codes, Integers
from veil.masking.microaggregation.sums_of_squares import means_of
from veil.tables.columns import Floats, Groups


def join_groups(points: Floats, groups: Groups, lack: Callable[[Integers], float]) -> Groups:
    """Join the group that lacks most to the one with the nearest mean, repeatedly.

    `lack` returns how much the rows of a group lack: below 0 if nothing, as for all rows together.

    >>> ages = np.array([[20.0], [21.0], [40.0], [41.0]])
    >>> join_groups(ages, np.array([0, 0, 1, 2]), lambda rows: 2 - rows.size if rows.size < 2 else -1).tolist()
    [0, 0, 1, 1]
    """
    sizes = np.bincount(groups)
    means = means_of(points, groups)
    rows = np.split(np.argsort(groups, kind="stable"), np.cumsum(sizes)[:-1])
    lacking = np.array([lack(each) for each in rows], np.float64)
    while lacking.max() >= 0:
        worst = int(np.argmax(lacking))
        gaps = np.square(means - means[worst]).sum(axis=1)
        gaps[(sizes == 0) | (np.arange(sizes.size) == worst)] = np.inf
        other = int(np.argmin(gaps))
        keep, gone = min(worst, other), max(worst, other)
        rows[keep], rows[gone] = np.concatenate([rows[keep], rows[gone]]), rows[gone][:0]
        means[keep] = (sizes[keep] * means[keep] + sizes[gone] * means[gone]) / (sizes[keep] + sizes[gone])
        sizes[keep], sizes[gone] = sizes[keep] + sizes[gone], 0
        lacking[keep], lacking[gone] = lack(rows[keep]), -1.0
    joined = np.empty_like(groups)
    for number, group in enumerate(np.flatnonzero(sizes)):
        joined[rows[group]] = number
    return joined


def hold_people(points: Floats, groups: Groups, people: Codes, k: int) -> Groups:
    """Join groups until each holds k different people, given the owner of each row."""

    def lack(rows: Integers) -> float:
        missing = k - np.unique(people[rows]).size
        return float(missing) if missing > 0 else -1.0

    return join_groups(points, groups, lack)
