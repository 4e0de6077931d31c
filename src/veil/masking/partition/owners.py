"""Who is in the parts of a partition, where people may have several rows.

People do not add up: somebody with two items in a part is one person there. So parts are judged by who they are.
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
    """Which things (people, or people with one of their values) item i holds: those from `starts[i]` on, each once."""

    starts: Integers
    things: NDArray[np.int32]

    @staticmethod
    def of(things: NDArray[np.int32], item_of_row: Integers, items: int) -> OwnerItems:
        """Read what items hold, given the thing and the item of each row."""
        number = int(things.max()) + 1
        item, thing = np.divmod(np.unique(item_of_row * number + things), number)
        return OwnerItems(np.searchsorted(item, np.arange(items + 1)), thing.astype(np.int32))

    def in_parts(self, order: Integers, begins: Integers, ends: Integers) -> ClassMembers:
        """Count each thing once in each part."""
        thing, part = np.divmod(
            np.unique(_listed(order, begins, ends, self.starts, self.things)), max(1, begins.size)
        )
        return ClassMembers(thing.astype(np.int32), part.astype(np.int32))


@dataclass(frozen=True, eq=False)
class HeldByItems:
    """The people of each item, and for each further attribute which value of whom it holds."""

    persons: Persons
    whom: OwnerItems
    shown: tuple[OwnerItems, ...]

    @staticmethod
    def of(persons: Persons, item_of_row: Integers, items: int) -> HeldByItems:
        """Read who is in which item."""
        return HeldByItems(
            persons,
            OwnerItems.of(persons.codes, item_of_row, items),
            tuple(OwnerItems.of(each, item_of_row, items) for each in persons.pairs),
        )

    @property
    def people(self) -> Integers:
        """Number of people of each item."""
        return np.diff(self.whom.starts)

    def in_parts(self, order: Integers, begins: Integers, ends: Integers) -> OwnersByClass:
        """Return the people of parts, whose items stand in `order` from `begins[p]` to `ends[p]`."""
        entries = self.whom.in_parts(order, begins, ends)
        counts = np.bincount(entries.classes, minlength=begins.size).astype(np.int64)
        return OwnersByClass(
            counts, entries, tuple(each.in_parts(order, begins, ends) for each in self.shown)
        )


@kernel
def _listed(
    order: Integers, begins: Integers, ends: Integers, starts: Integers, things: NDArray[np.int32]
) -> Integers:
    """List the things of all parts, each as one number together with its part, as often as items hold it."""
    room = 0
    for p in range(begins.size):
        for place in range(begins[p], ends[p]):
            room += starts[order[place] + 1] - starts[order[place]]
    found = np.empty(room, np.int64)
    filled = 0
    for p in range(begins.size):
        for place in range(begins[p], ends[p]):
            for e in range(starts[order[place]], starts[order[place] + 1]):
                found[filled] = np.int64(things[e]) * begins.size + p
                filled += 1
    return found
