"""The people of a published table, counted by plain group-bys: nothing from the engine.

Whose row a row is does not stand in the table. Whoever made it knows, and so does the verifier.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.tables.columns import encode_values
from veil.tables.spelling import Person, encode_people

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class People:
    """Whose row each row of a table is, and whether an attacker may know all rows of a person or only one."""

    codes: NDArray[np.int32]
    all_rows: bool = False

    @staticmethod
    def of(table: pa.Table, column: str, *, all_rows: bool = False) -> People:
        """Read the column that tells people apart."""
        return People(encode_people(table[column], column)[1], all_rows)

    @staticmethod
    def shown_by(
        table: pa.Table, column: str | None, treatment: str | None, *, all_rows: bool
    ) -> People | None:
        """Read the people of a table that shows whose its rows are, by pseudonyms; None if it does not."""
        if column is None or column not in table.column_names or treatment in (None, "remove", "mask"):
            return None
        return People.of(table, Person(column, "as written"), all_rows=all_rows)

    @property
    def number(self) -> int:
        """How many people have a row."""
        return int(np.unique(self.codes).size)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> People:
        """The people of some rows, by number or as a mask."""
        return People(self.codes[rows], self.all_rows)

    def signatures(self, classes: NDArray[np.int32], weights: Integers | None) -> NDArray[np.int32]:
        """Number the rows so that people have the same number if they have the same classes, each equally often.

        >>> People(np.array([0, 0, 1, 2, 2])).signatures(np.array([4, 4, 4, 4, 4]), None).tolist()
        [0, 0, 1, 0, 0]
        """
        person, number, times = _counted(self.codes, classes, weights)
        there, first = np.unique(person, return_index=True)
        pairs = np.stack([number, times], axis=1).ravel()
        lists = pa.LargeListArray.from_arrays(2 * np.append(first, person.size), pa.array(pairs))
        _, found = encode_values(pa.chunked_array([lists]))
        return found[np.searchsorted(there, self.codes)]

    def sizes(self, classes: NDArray[np.int32]) -> Integers:
        """Count the different people of each class.

        >>> People(np.array([0, 0, 1])).sizes(np.array([0, 0, 0])).tolist()
        [2]
        """
        return np.bincount(_counted(classes, self.codes, None)[0], minlength=0).astype(np.int64)

    def lost(self, suppressed: NDArray[np.bool_]) -> int:
        """Count the people of whom a row is suppressed."""
        return int(np.unique(self.codes[suppressed]).size)

    def pairs(self, values: NDArray[np.int32] | Integers) -> tuple[Integers, Integers]:
        """Return the different pairs of a person and a value: the people, and the values."""
        person, value, _ = _counted(self.codes, values, None)
        return person, value


def _counted(
    first: NDArray[np.int32], second: NDArray[np.int32] | Integers, weights: Integers | None
) -> tuple[Integers, Integers, Integers]:
    """Return the different pairs of numbers, in order, and how often each occurs."""
    width = int(second.max(initial=0)) + 1
    mixed = first.astype(np.int64) * width + second
    pairs, places = np.unique(mixed, return_inverse=True)
    times = np.zeros(pairs.size, np.int64)
    np.add.at(times, places, 1 if weights is None else weights)
    return pairs // width, pairs % width, times


def worst_counts(classes: Integers, counts: Integers, sizes: Integers) -> Integers:
    """Return counts that those of every view are at least as even as; classes stand together.

    Class by class, the value that most people show has all of them, the next one as many as are left, and so on.

    >>> worst_counts(np.array([0, 0, 0]), np.array([1, 3, 2]), np.array([4])).tolist()
    [0, 3, 1]
    """
    order = np.lexsort((-counts, classes))
    sums = np.cumsum(counts[order])
    first = np.flatnonzero(np.diff(classes[order], prepend=-1))
    before = np.repeat(sums[first] - counts[order][first], np.diff(first, append=order.size))
    room = sizes[classes[order]] - (sums - before - counts[order])
    made = np.empty_like(counts)
    made[order] = np.clip(room, 0, counts[order])
    return made
