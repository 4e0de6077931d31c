"""Figures for comparing releases of any anonymization method."""

from __future__ import annotations

from collections.abc import Sequence

from veil.base.arrays import Integers
from veil.quality.aggregate import geometric_mean


def quality(sizes: Integers, covered: Sequence[float], domains: Sequence[float]) -> dict[str, float | int]:
    """Return figures of a release that can be compared with others, by the quality models of a search.

    `sizes` are the records of each class, `covered` the mean share of its domain that a cell of each column
    covers, and `domains` the number of values in each domain. Loss is that of `veil.quality.Loss` without
    suppression: (covered - 1/D) / (1 - 1/D) for each column, 0 for the original table and 1 for one without
    information, and over the columns the geometric mean of one plus that, less one. A label covers values:
    those below it in a hierarchy; those of the column within an interval; the members of a set. So an
    interval costs as much as the label of a hierarchy of the same values.

    >>> import numpy as np
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
