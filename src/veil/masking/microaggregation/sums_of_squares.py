"""Sums of squares within and among the groups of a partition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veil.tables.columns import Floats, Groups


class SumsOfSquares(NamedTuple):
    """Squared deviations from the means of groups, and of those from the mean of all.

    Attributes
    ----------
    within : float
        SSE, of records from the mean of their group: the loss if means replace records.
    among : float
        SSA, of the means of groups from the mean of all, one for each record.
    total : float
        SST, of records from the mean of all: the sum of both.
    """

    within: float
    among: float
    total: float

    @property
    def loss(self) -> float:
        """L = SSE / SST, from 0 (nothing lost) to 1; 0 if SST is 0."""
        return self.within / self.total if self.total else 0.0


def sums_of_squares(points: Floats, groups: Groups) -> SumsOfSquares:
    """Add up squared deviations of points, one row a record.

    >>> sums_of_squares(np.array([[1.0], [3.0], [5.0], [7.0]]), np.array([0, 0, 1, 1]))
    SumsOfSquares(within=4.0, among=16.0, total=20.0)
    """
    means = means_of(points, groups)[groups]
    center = points.mean(axis=0)
    within, among, total = (
        float((gaps * gaps).sum()) for gaps in (points - means, means - center, points - center)
    )
    return SumsOfSquares(within, among, total)


def means_of(points: Floats, groups: Groups) -> Floats:
    """Return the mean of each group."""
    sizes = np.bincount(groups)
    return np.stack([np.bincount(groups, column) / sizes for column in points.T], axis=1)
