"""The people in the parts of a partition, if they may have several rows.

Counts of people do not add up: a person with two items in a part counts once. So parts are sets of people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.classes.owners import ClassMembers, OwnersByClass, Persons

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OwnerItems:
    """The things (people, or pairs of person and value) of item i, each once: from `starts[i]` on."""

    starts: Integers
    things: NDArray[np.int32]

    @staticmethod
    def of(things: NDArray[np.int32], item_of_row: Integers, items: int) -> OwnerItems:
        """Collect the things of each item, given the thing and the item of each row."""
        number = int(things.max()) + 1
        item, thing = np.divmod(np.unique(item_of_row * number + things), number)
        return OwnerItems(np.searchsorted(item, np.arange(items + 1)), thing.astype(np.int32))

    def in_parts(self, order: Integers, begins: Integers, ends: Integers) -> ClassMembers:
        """Count each thing once in each part."""
        thing, part = np.divmod(
            np.unique(_list_things(order, begins, ends, self.starts, self.things)), max(1, begins.size)
        )
        return ClassMembers(thing.astype(np.int32), part.astype(np.int32))


@dataclass(frozen=True, eq=False)
class ItemOwners:
    """The people of each item, and for each further attribute the values of people in it."""

    persons: Persons
    whom: OwnerItems
    shown: tuple[OwnerItems, ...]

    @staticmethod
    def of(persons: Persons, item_of_row: Integers, items: int) -> ItemOwners:
        """Collect the people of each item."""
        return ItemOwners(
            persons,
            OwnerItems.of(persons.codes, item_of_row, items),
            tuple(OwnerItems.of(each, item_of_row, items) for each in persons.pairs),
        )

    @property
    def people(self) -> Integers:
        """The number of people of each item."""
        return np.diff(self.whom.starts)

    def in_parts(self, order: Integers, begins: Integers, ends: Integers) -> OwnersByClass:
        """Return the people of parts, whose items are in `order` from `begins[p]` to `ends[p]`."""
        entries = self.whom.in_parts(order, begins, ends)
        counts = np.bincount(entries.classes, minlength=begins.size).astype(np.int64)
        return OwnersByClass(
            counts, entries, tuple(each.in_parts(order, begins, ends) for each in self.shown)
        )


@kernel
def _list_things(
    order: Integers, begins: Integers, ends: Integers, starts: Integers, things: NDArray[np.int32]
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
