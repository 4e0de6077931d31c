"""The classes of a release as boxes: for each column, the values that the label covers.

A hierarchy is a tree, so its values can be put in an order in which the values of each label are neighbours. Each
label is then an interval of places, a class is a box, and two intervals of a column are nested or disjoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Integers, Mask
from veil.hierarchies import Hierarchy
from veil.outcome.outcome import Outcome
from veil.tables.columns import number_rows


@dataclass(frozen=True, eq=False)
class LabelTree:
    """The labels of a hierarchy as intervals of places.

    Attributes
    ----------
    place : array
        Place of each value.
    starts : tuple by level, of arrays
        The first places of the labels of a level, in ascending order, and the number of values at the end.
    low, high : tuple by level, of arrays by label
        Interval of each label, `high` not included. A text that stands for several labels of a column gets the
        smallest interval around all of them: a reader cannot tell these labels apart.
    unclear : tuple by level, of masks by label
        Which texts stand for several labels that cover different values.
    """

    place: Codes
    starts: tuple[Codes, ...]
    low: tuple[Codes, ...]
    high: tuple[Codes, ...]
    unclear: tuple[Mask, ...]

    @staticmethod
    def of(hierarchy: Hierarchy) -> LabelTree:
        """Return the intervals of a hierarchy.

        >>> tree = LabelTree.of(Hierarchy.from_rows([["1", "odd", "*"], ["2", "even", "*"], ["3", "odd", "*"]]))
        >>> tree.place.tolist(), tree.low[1].tolist(), tree.high[1].tolist(), tree.starts[1].tolist()
        ([0, 2, 1], [0, 2], [2, 3], [0, 2, 3])
        """
        maps = [hierarchy.label_map(level) for level in range(hierarchy.height + 1)]
        place = np.empty(maps[0].size, np.int32)
        place[np.lexsort(maps)] = np.arange(place.size, dtype=np.int32)
        lows, highs, starts = [], [], []
        intervals: dict[str | None, set[tuple[int, int]]] = {}
        for map_, labels in zip(maps, hierarchy.labels, strict=True):
            low = np.full(len(labels), place.size, np.int32)
            high = np.zeros(len(labels), np.int32)
            np.minimum.at(low, map_, place)
            np.maximum.at(high, map_, place + 1)
            lows.append(low)
            highs.append(high)
            starts.append(np.append(np.sort(low), np.int32(place.size)).astype(np.int32))
            for label, *interval in zip(labels, low.tolist(), high.tolist(), strict=True):
                intervals.setdefault(label, set()).add((interval[0], interval[1]))
        unclear = [
            np.array([len(intervals[label]) > 1 for label in labels], np.bool_) for labels in hierarchy.labels
        ]
        for low, high, labels in zip(lows, highs, hierarchy.labels, strict=True):
            low[:] = [min(interval[0] for interval in intervals[label]) for label in labels]
            high[:] = [max(interval[1] for interval in intervals[label]) for label in labels]
        return LabelTree(place, tuple(starts), tuple(lows), tuple(highs), tuple(unclear))


@dataclass(frozen=True, eq=False)
class Boxes:
    """The classes of a release as an attacker sees them.

    Attributes
    ----------
    trees : tuple of LabelTree
        The labels of each column.
    low, high : array of classes x columns
        The interval of places of each label.
    sizes, records : array
        Number of people and of records of each class.
    part : array
        The first part of the outcome with records of the class.
    clear : array of bool
        Whether the labels of a class tell which values they cover.
    row_class : array
        Class of each row; -1 if it is suppressed.
    places : array of rows x columns
        Place of the true value of each cell: what the attacker does not see.
    weights : array
        Number of records of each row.
    """

    trees: tuple[LabelTree, ...]
    low: Codes
    high: Codes
    sizes: Integers
    records: Integers
    part: Integers
    clear: Mask
    row_class: Integers
    places: Codes
    weights: Integers

    @staticmethod
    def of(outcome: Outcome) -> Boxes:
        """Return the classes of an outcome that a plan has made in memory."""
        prepared = outcome.searched
        trees = tuple(LabelTree.of(hierarchy) for hierarchy in prepared.encoding.hierarchies)
        rows, columns = prepared.rows.weights.rows, len(trees)
        places = np.empty((rows, columns), np.int32)
        low, high = np.zeros((rows, columns), np.int32), np.zeros((rows, columns), np.int32)
        clear, part_of = np.ones(rows, np.bool_), np.zeros(rows, np.int64)
        visible_mask = np.zeros(rows, np.bool_)
        for number, part in enumerate(outcome.parts):
            visible_mask[part.rows], part_of[part.rows] = True, number
        for j, (tree, codes, hierarchy) in enumerate(
            zip(trees, prepared.codes, prepared.encoding.hierarchies, strict=True)
        ):
            places[:, j] = tree.place[codes]
            for part in outcome.parts:
                level = part.levels[j]
                labels = hierarchy.label_map(level)[codes[part.rows]]
                low[part.rows, j], high[part.rows, j] = tree.low[level][labels], tree.high[level][labels]
                clear[part.rows] &= ~tree.unclear[level][labels]
        visible = np.flatnonzero(visible_mask)
        weights, owners = prepared.rows.weights.array, prepared.rows.owners
        classes = _number_boxes(low[visible], high[visible], trees)
        count = int(classes.max(initial=-1)) + 1
        first = np.zeros(count, np.int64)
        first[classes[::-1]] = visible[::-1]
        records = np.bincount(classes, weights=weights[visible], minlength=count).astype(np.int64)
        sizes = records
        if owners.codes is not None:
            pairs = np.unique(np.stack([classes, owners.codes[visible].astype(np.int64)]), axis=1)
            sizes = np.bincount(pairs[0], minlength=count).astype(np.int64)
        part_of_class = np.full(count, len(outcome.parts), np.int64)
        np.minimum.at(part_of_class, classes, part_of[visible])
        clear_mask = np.ones(count, np.bool_)
        np.logical_and.at(clear_mask, classes, clear[visible])
        row_class = np.full(rows, -1, np.int64)
        row_class[visible] = classes
        return Boxes(
            trees, low[first], high[first], sizes, records, part_of_class, clear_mask, row_class, places, weights
        )  # fmt: skip


def _number_boxes(low: Codes, high: Codes, trees: Sequence[LabelTree]) -> NDArray[np.int64]:
    """Return the number of the box of each row, in order of first appearance."""
    numbers = np.zeros(len(low), np.int64)
    for j, tree in enumerate(trees):
        values = tree.place.size + 1
        interval = number_rows(low[:, j].astype(np.int64) * values + high[:, j])
        numbers = number_rows(numbers * (int(interval.max(initial=0)) + 1) + interval).astype(np.int64)
    return numbers
