"""Figures to compare any ways of anonymizing a table by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veil.quality.aggregate import geometric_mean


def quality(
    sizes: NDArray[np.int64], covered: Sequence[float], domains: Sequence[float]
) -> dict[str, float | int]:
    """Measure a release, so that it can stand beside others: the numbers that the quality models of a search use.

    `sizes` are the records of each class, `covered` the mean share of its domain that a cell of each column
    covers, and `domains` the number of values in each domain. Loss is that of `veil.quality.Loss` without
    suppression: (covered - 1/D) / (1 - 1/D) for each column, 0 for the original table and 1 for one without
    information, and over the columns the geometric mean of one plus that, less one. What a label covers is
    counted in values: a label of a hierarchy, those below it; an interval, those of the column within its limits; a
    set, its members. So an interval costs as much as the label of a hierarchy of the same values.

    >>> quality(np.array([2, 4]), [0.625], [4])
    {'classes': 2, 'average class size': 3.0, 'discernibility': 20, 'loss': 0.5}
    """
    losses = [
        max(0.0, (share - 1 / domain) / (1 - 1 / domain)) if domain > 1 else 0.0
        for share, domain in zip(covered, domains, strict=True)
    ]
    return {
        "classes": int(sizes.size),
        "average class size": float(sizes.sum() / max(1, sizes.size)),
        "discernibility": int((sizes * sizes).sum()),
        "loss": geometric_mean(losses),
    }
