"""The classes of every subset of the quasi-identifiers, each rolled up from a finer one.

Leaving out a column merges classes. The classes of a subset are computed from those of the subset with one
column more: the missing one with the fewest values, which is nearly the smallest table to start from. The
subsets form a tree, of which only the tables on the path from the root are in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.published.matching import pack_rows
from veil.risk.grouping import Grouped

Words = NDArray[np.uint64]
Subset = frozenset[int]


@dataclass(frozen=True, eq=False)
class Projection:
    """The classes of some columns.

    `members` is for each class a class of the whole table that it contains; the only one if the class has one
    record.
    """

    columns: tuple[int, ...]
    keys: Words
    sizes: NDArray[np.int64]
    members: NDArray[np.int32]
    blank: int
    """The class that is blank in all of these columns, or -1."""


def subset_count(columns: int, largest: int) -> int:
    """Return the number of non-empty subsets of at most `largest` columns.

    >>> subset_count(8, 8), subset_count(20, 3)
    (255, 1350)
    """
    return sum(math.comb(columns, size) for size in range(1, min(columns, largest) + 1))


def projections(grouped: Grouped, largest: int | None = None) -> Iterator[Projection]:
    """Yield the classes of every subset of the columns that has at most `largest` of them."""
    columns = len(grouped.names)
    values = [int(each) for each in grouped.codes.max(axis=0, initial=-1)]
    order = sorted(range(columns), key=lambda j: (values[j], j))  # few values first
    words, _, fields = pack_rows(grouped.codes, np.ones(grouped.codes.shape, np.bool_))
    work = _Work(words, fields, grouped)
    whole = Projection(tuple(range(columns)), words, grouped.sizes, np.arange(len(words), dtype=np.int32), -1)
    if largest is None or largest >= columns:
        yield from _below(whole, set(order), order, work)
        return
    for subset in combinations(order, largest):
        yield from _below(work.project(whole, subset), set(subset), order, work)


def _below(table: Projection, columns: set[int], order: list[int], work: _Work) -> Iterator[Projection]:
    """Yield a table and all below it, each without a further column before the first one that is missing."""
    yield Projection(table.columns, table.keys, table.sizes, table.members, work.blank(table))
    if len(columns) == 1:
        return
    for column in order:
        if column not in columns:
            return
        fewer = columns - {column}
        yield from _below(work.project(table, tuple(fewer)), fewer, order, work)


class _Work:
    """Memory for the hash table, and the bits of each column."""

    def __init__(self, words: Words, fields: Words, grouped: Grouped) -> None:
        self.fields = fields
        self.slots = np.empty(2 << max(1, len(words)).bit_length(), np.int32)
        # All blank cells of a column have the same code, which is that of any of them.
        rows = [np.flatnonzero(column)[:1].tolist() for column in grouped.blank.T]
        self.blanks: list[int | None] = [each[0] if each else None for each in rows]
        self.words = words

    def mask(self, columns: tuple[int, ...]) -> Words:
        bits: Words = np.bitwise_or.reduce(self.fields[list(columns)], axis=0)
        return bits

    def project(self, table: Projection, columns: tuple[int, ...]) -> Projection:
        rows = table.sizes.size
        keys = np.empty_like(table.keys)
        sizes, members = np.empty(rows, np.int64), np.empty(rows, np.int32)
        count = _project(
            table.keys, table.sizes, table.members, self.mask(columns), self.slots, keys, sizes, members
        )
        return Projection(
            tuple(sorted(columns)), keys[:count].copy(), sizes[:count].copy(), members[:count].copy(), -1
        )

    def blank(self, table: Projection) -> int:
        key = np.zeros(self.words.shape[1], np.uint64)
        for column in table.columns:
            row = self.blanks[column]
            if row is None:
                return -1
            key |= self.words[row] & self.fields[column]
        positions = np.flatnonzero((table.keys == key).all(axis=1))
        return int(positions[0]) if positions.size else -1


@kernel
def _project(
    keys: Words,
    sizes: NDArray[np.int64],
    members: NDArray[np.int32],
    mask: Words,
    slots: NDArray[np.int32],
    out_keys: Words,
    out_sizes: NDArray[np.int64],
    out_members: NDArray[np.int32],
) -> int:
    """Mask the bits of each key and add up the sizes of equal keys. Return the number of different keys."""
    words = mask.size
    bits = 1
    while (1 << bits) < 2 * sizes.size:
        bits += 1
    last = np.int64((1 << bits) - 1)
    down = np.uint64(64 - bits)
    slots[: last + 1] = -1
    count = 0
    for i in range(sizes.size):
        # Hash the masked key.
        mixed = np.uint64(0)
        for w in range(words):
            mixed = (mixed ^ (keys[i, w] & mask[w])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        slot = np.int64((mixed * np.uint64(0x9E3779B97F4A7C15)) >> down)
        while True:
            group = np.int64(slots[slot])
            if group < 0:
                slots[slot] = count
                for w in range(words):
                    out_keys[count, w] = keys[i, w] & mask[w]
                out_sizes[count] = sizes[i]
                out_members[count] = members[i]
                count += 1
                break
            same = True
            for w in range(words):
                same &= out_keys[group, w] == (keys[i, w] & mask[w])
            if same:
                out_sizes[group] += sizes[i]
                break
            slot = (slot + 1) & last
    return count
