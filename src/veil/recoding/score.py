"""The score that a quality model gives to a recoding by rows: that of the model itself, for the classes as they read."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Mask
from veil.base.distinct import distinct_rows
from veil.classes import kernels
from veil.classes.groups import table_of_groups
from veil.plan.prepare import Prepared
from veil.quality.base import ClassSums, Node


def score_of_classes(prepared: Prepared, levels: NDArray[np.uint8], suppressed: Mask) -> Fraction:
    """Return the score of a recoding by the quality model of its plan, if that judges classes."""
    sample, weights = prepared.sample, prepared.rows.weights.array
    columns = [
        _texts(prepared, j, levels[:, j])
        * (~suppressed)  # suppressed rows are one group, that of the mark below
        for j in range(len(prepared.codes))
    ]
    first, groups = distinct_rows([suppressed, *columns], suppressed.size)
    rows = np.arange(suppressed.size)
    table = table_of_groups(sample, weights, rows, groups.astype(np.int32), first.size)
    rejected = suppressed[first].astype(np.uint8)
    sums = np.zeros(5, np.int64)
    kernels.tally(table.count, rejected, sums)
    node = Node((0,) * len(columns), table, rejected, ClassSums(*sums.tolist()), sample.workspace())
    return Fraction(prepared.plan.quality.bind(sample).score(node)[0])


def _texts(prepared: Prepared, column: int, levels: NDArray[np.uint8]) -> Codes:
    """Return a number for the label of each row: the same for the same text."""
    hierarchy, codes = prepared.encoding.hierarchies[column], prepared.codes[column]
    numbers: dict[str | None, int] = {}
    by_level = [
        np.array([numbers.setdefault(text, len(numbers)) for text in labels], np.int32)[
            hierarchy.label_map(level)
        ]
        for level, labels in enumerate(hierarchy.labels)
    ]
    result: Codes = np.stack(by_level)[levels, codes]
    return result
