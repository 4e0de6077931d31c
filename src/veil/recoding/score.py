"""The score that a quality model gives to a recoding by rows: that of the model itself, for the classes as they read."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Mask
from veil.base.distinct import distinct_rows
from veil.classes import kernels
from veil.classes.groups import table_of_groups
from veil.hierarchies import Hierarchy
from veil.plan.prepare import Prepared
from veil.quality.base import ClassSums, Node


def score_of_classes(prepared: Prepared, levels: NDArray[np.uint8], suppressed: Mask) -> Fraction:
    """Return the score of a recoding by the quality model of its plan, if that judges classes."""
    sample, weights = prepared.sample, prepared.rows.weights.array
    columns = [
        text_numbers(hierarchy)[levels[:, j], codes] * ~suppressed  # suppressed rows are one group
        for j, (hierarchy, codes) in enumerate(
            zip(prepared.encoding.hierarchies, prepared.codes, strict=True)
        )
    ]
    first, groups = distinct_rows([suppressed, *columns], suppressed.size)
    rows = np.arange(suppressed.size)
    table = table_of_groups(sample, weights, rows, groups.astype(np.int32), first.size)
    rejected = suppressed[first].astype(np.uint8)
    sums = np.zeros(5, np.int64)
    kernels.tally(table.count, rejected, sums)
    node = Node((0,) * len(columns), table, rejected, ClassSums(*sums.tolist()), sample.workspace())
    return Fraction(prepared.plan.quality.bind(sample).score(node)[0])


def text_numbers(hierarchy: Hierarchy) -> Codes:
    """Return a number for the text of the label of each value (columns) on each level (rows)."""
    numbers: dict[str | None, int] = {}
    by_level = [
        np.array([numbers.setdefault(text, len(numbers)) for text in labels], np.int32)
        for labels in hierarchy.labels
    ]
    return np.stack([by_label[hierarchy.label_map(level)] for level, by_label in enumerate(by_level)])
