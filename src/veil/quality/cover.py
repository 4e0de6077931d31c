"""Coverage of the labels of a class: one number for each attribute and value, combined by class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from veil.base.arrays import Floats, Integers, Mask
from veil.base.compiled import kernel
from veil.classes import kernels
from veil.classes.encoding import Encoding
from veil.classes.table import ClassTable
from veil.hierarchies.hierarchy import Hierarchy

Fields = tuple[Integers, Integers]


class CoverLookup(NamedTuple):
    """The arrays of a cover, for kernels: `layout` is that of the encoding."""

    layout: Integers
    starts: Integers
    uniform: Mask
    numbers: Floats


class Cover:
    """A number for each value of each attribute on each level, at its place by `Encoding.value_starts`.

    On many levels (the original values, the root) all values of an attribute have the same number. Such an
    attribute need not be looked up class by class; `uniform` marks these levels.
    """

    def __init__(self, encoding: Encoding) -> None:
        self.layout = encoding.layout
        self.starts = encoding.value_starts
        self.numbers = np.zeros(encoding.value_count)
        self.uniform = np.ones(encoding.cardinalities.shape, np.bool_)

    @property
    def lookup(self) -> CoverLookup:
        """The arrays of this cover."""
        return CoverLookup(self.layout, self.starts, self.uniform, self.numbers)

    def set(self, attribute: int, level: int, numbers: Floats) -> None:
        """Set the numbers of all values of one attribute on one level."""
        start = self.starts[attribute, level]
        self.numbers[start : start + numbers.size] = numbers
        self.uniform[attribute, level] = bool(np.all(numbers == numbers[0]))

    def of_classes(self, table: ClassTable) -> Floats:
        """Return the number of each attribute (row) in each class (column)."""
        numbers = np.empty((len(self.layout), len(table)))
        codes = np.empty(len(table), np.int32)
        for j, (word, shift, mask) in enumerate(self.layout.tolist()):
            kernels.unpack(table.keys[word], shift, mask, codes)
            numbers[j] = self.numbers[self.starts[j, table.levels[j]] + codes]
        return numbers


def domain_rows(hierarchy: Hierarchy) -> tuple[Floats, ...]:
    """Return the number of rows of the hierarchy's table that each label of each level covers."""
    rows = float(hierarchy.listed.sum())
    return tuple(np.rint(shares * rows) for shares in hierarchy.materialized_shares)


@kernel
def fields(levels: Integers, cover: CoverLookup) -> Fields:
    """Return the attributes to look up, as (word, shift, mask, start), and the places of all others."""
    starts = cover.starts
    attributes = levels.size
    varying = np.empty((attributes, 4), np.int64)
    fixed = np.empty(attributes, np.int64)
    v = f = 0
    for j in range(attributes):
        start = starts[j, levels[j]]
        if cover.uniform[j, levels[j]]:
            fixed[f] = start
            f += 1
        else:
            varying[v, :3] = cover.layout[j]
            varying[v, 3] = start
            v += 1
    return varying[:v], fixed[:f]


@kernel
def sum_of_fixed(fixed: Integers, cover: CoverLookup) -> float:
    """Return the sum of the numbers that are the same in all classes."""
    total = 0.0
    for f in range(fixed.size):
        total += cover.numbers[fixed[f]]
    return total


@kernel
def place(keys: kernels.Words, i: int, field: Integers) -> int:
    """Return the place of the number of a class's value of one attribute."""
    word = keys[field[0]][i]
    where: int = field[3] + np.int64((word >> np.uint64(field[1])) & np.uint64(field[2]))
    return where
