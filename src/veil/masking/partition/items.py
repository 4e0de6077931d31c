"""Items of a partition, and the parts they form, counted in records or in people.

Counts of people do not add up: a person with two items in a part counts once. So parts are sets of people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veil.base.arrays import Codes, Integers
from veil.base.compiled import kernel
from veil.classes import kernels
from veil.classes.encoding import Levels
from veil.classes.owner_sample import OwnerHistograms
from veil.classes.owners import ClassMembers, Persons
from veil.classes.table import ClassTable, Histogram
from veil.masking.partition.kernels import histogram


class Entries(NamedTuple):
    """Values of a further attribute by item: `values[e]` for `counts[e]` records, e from `starts[i]` on."""

    starts: Integers
    values: Codes
    counts: Integers
    domain: int


class PartClasses(ClassTable):
    """Classes outside of the lattice: their labels are not on a common level of the hierarchies."""

    def __init__(self, records: Integers, histograms: Sequence[Histogram]) -> None:
        object.__setattr__(self, "measures", (records,))
        object.__setattr__(self, "histograms", histograms)

    def __len__(self) -> int:
        return int(self.count.size)

    @property
    def keys(self) -> kernels.Words:
        raise Unlabelled

    @property
    def levels(self) -> Levels:
        raise Unlabelled


class Unlabelled(Exception):
    """A criterion asked for the labels of a class."""


@dataclass(frozen=True, eq=False)
class RecordItems:
    """Items counted in records: the number of each, and for each further attribute the values in it."""

    sizes: Integers
    entries: tuple[Entries, ...]

    add_up = True
    """Whether the size of a part is the sum of those of its items."""

    def parts(self, order: Integers, begins: Integers, ends: Integers, sizes: Integers) -> PartClasses:
        """Return parts of given sizes, whose items are in `order` from `begins[p]` to `ends[p]`."""
        histograms = (Histogram(*histogram(order, begins, ends, *each)) for each in self.entries)
        return PartClasses(sizes, tuple(histograms))


@dataclass(frozen=True, eq=False)
class ThingsOfItems:
    """The things (people, or pairs of person and value) of item i, each once: from `starts[i]` on."""

    starts: Integers
    things: Codes

    @staticmethod
    def of(things: Codes, item_of_row: Integers, items: int) -> ThingsOfItems:
        """Collect the things of each item, given the thing and the item of each row."""
        number = int(things.max()) + 1
        item, thing = np.divmod(np.unique(item_of_row * number + things), number)
        return ThingsOfItems(np.searchsorted(item, np.arange(items + 1)), thing.astype(np.int32))

    def in_parts(self, order: Integers, begins: Integers, ends: Integers) -> ClassMembers:
        """Count each thing once in each part."""
        thing, part = np.divmod(
            np.unique(_list_things(order, begins, ends, self.starts, self.things)), max(1, begins.size)
        )
        return ClassMembers(thing.astype(np.int32), part.astype(np.int32))


class OwnerItems:
    """Items counted in people: those of each, and for each further attribute the values of people in it."""

    add_up = False

    def __init__(self, persons: Persons, item_of_row: Integers, items: int) -> None:
        self.persons = persons
        self.owners = ThingsOfItems.of(persons.codes, item_of_row, items)
        self.pairs = tuple(ThingsOfItems.of(each, item_of_row, items) for each in persons.pairs)
        self.sizes = np.diff(self.owners.starts)

    def parts(self, order: Integers, begins: Integers, ends: Integers, sizes: Integers) -> PartClasses:
        """Return parts, whose items are in `order` from `begins[p]` to `ends[p]`; `sizes` are sums, and not used."""
        classes = self.owners.in_parts(order, begins, ends).classes
        counts = np.bincount(classes, minlength=begins.size).astype(np.int64)
        pairs = tuple(each.in_parts(order, begins, ends) for each in self.pairs)
        return PartClasses(counts, OwnerHistograms(pairs, counts, self.persons))


Items = RecordItems | OwnerItems


@kernel
def _list_things(
    order: Integers, begins: Integers, ends: Integers, starts: Integers, things: Codes
) -> Integers:
    """List the things of all parts, each as one number together with its part, once for each item."""
    room = 0
    for p in range(begins.size):
        for place in range(begins[p], ends[p]):
            room += starts[order[place] + 1] - starts[order[place]]
    pairs = np.empty(room, np.int64)
    filled = 0
    for p in range(begins.size):
        for place in range(begins[p], ends[p]):
            for e in range(starts[order[place]], starts[order[place] + 1]):
                pairs[filled] = np.int64(things[e]) * begins.size + p
                filled += 1
    return pairs
