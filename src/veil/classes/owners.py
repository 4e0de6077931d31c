"""The owners in each class of a class table, where an owner may have several rows.

Numbers of owners do not add up when classes merge, so a table that is counted in owners lists them. An
attacker who knows one row of an owner sees the owners of its class (`OwnersByClass`). An attacker who knows
all rows of an owner sees the owners with the same rows: a class is then a generalized row together with the
signature of its owner, which is all rows of the owner (`OwnersBySignature`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Integers, Marks
from veil.base.compiled import kernel
from veil.tables.rows import Owners, Weights

NO_LIMIT = np.iinfo(np.int64).max
"""A number above the size of any class."""

_BITS = 32
_COUNT = (1 << _BITS) - 1
"""Mask of a count that shares a machine word with the number of a thing."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassMembers:
    """The classes of things (owners, or pairs of owner and value), in ascending order of things."""

    things: Codes
    classes: Codes

    @staticmethod
    def of_rows(things: Codes, row_class: Codes, classes: int) -> ClassMembers:
        """Count each thing once in each class that it has rows in."""
        rows = ClassMembers(np.empty_like(things), np.empty(things.size, np.int32))
        sort_by_thing(things, row_class, int(things.max()) + 1, rows.things, rows.classes)
        return rows.merge(np.arange(classes, dtype=np.int32), classes)

    def merge(self, groups: Codes, number: int) -> ClassMembers:
        """Count each thing once in each group of classes."""
        room = ClassMembers(np.empty_like(self.things), np.empty_like(self.classes))
        counts, parts = np.empty(number, np.int64), np.zeros(groups.size, np.int64)
        filled = merge_entries(
            self.things, self.classes, groups, parts, NO_LIMIT, counts, room.things, room.classes
        )
        return ClassMembers(room.things[:filled], room.classes[:filled])

    def copy(self) -> ClassMembers:
        """Return a copy in memory of its own."""
        return ClassMembers(self.things.copy(), self.classes.copy())

    @property
    def nbytes(self) -> int:
        """Memory that the entries hold."""
        return int(self.things.nbytes + self.classes.nbytes)


class RecordPersons:
    """The owners of rows, each of which has one record."""

    are_records = True

    def most_records(self, number: int) -> int:
        """Return the largest number of records that so many owners have."""
        return number

    def several_values(self, attribute: int) -> int:
        """Count the owners with several values of a further attribute."""
        return 0

    def in_classes(self, row_class: Codes, classes: int, weights: Weights) -> tuple[People, Codes]:
        """Return the owners of classes, and the class of each row: the given one."""
        return BY_RECORD, row_class


class Persons:
    """The owner of each row, and whether an attacker may know one row of an owner or all.

    A pair is an owner together with one of the values that a further attribute has in their rows; pairs are
    numbered by value. `attributes` are codes and domain sizes of these, `weights` the records of each row.
    """

    are_records = False

    def __init__(
        self, owners: Owners, weights: Weights, attributes: Sequence[tuple[Codes, int]] = ()
    ) -> None:
        self.codes = codes = owners.array
        self.all_rows = owners.know_all_rows
        record_counts = weights.count_by(codes)
        self.number = int(np.count_nonzero(record_counts))
        self.most = np.sort(record_counts)[::-1]
        """Records of each owner, in descending order."""
        self.pairs: list[Codes] = []
        """For each attribute, the pair of each row."""
        self.pair_values: list[Codes] = []
        """For each attribute, the value of each pair."""
        self.pair_owners: list[Codes] = []
        """For each attribute, the owner of each pair."""
        self.code_bound = int(record_counts.size)
        """A number above the code of any owner."""
        self.domains = [domain for _, domain in attributes]
        for column, _ in attributes:
            pairs, number = np.unique(
                column.astype(np.int64) * record_counts.size + codes, return_inverse=True
            )
            self.pairs.append(number.astype(np.int32))
            self.pair_values.append((pairs // record_counts.size).astype(np.int32))
            self.pair_owners.append((pairs % record_counts.size).astype(np.int32))

    def most_records(self, number: int) -> int:
        """Return the largest number of records that so many owners have."""
        return int(self.most[:number].sum())

    def several_values(self, attribute: int) -> int:
        """Count the owners with several values of a further attribute."""
        return int(np.count_nonzero(np.bincount(self.pair_owners[attribute]) > 1))

    def in_classes(self, row_class: Codes, classes: int, weights: Weights) -> tuple[People, Codes]:
        """Return the owners of classes, and the class of each row, split by signature if all rows are known."""
        if self.all_rows:
            return OwnersBySignature.of_rows(self, row_class, weights)
        return OwnersByClass.of_rows(self, row_class, classes), row_class


class OwnersByRecord:
    """The owners of classes in which every record has an owner of its own: the records are counted already."""

    visits = nbytes = 0
    reads_groups = False
    """Whether a roll-up has to know the new class of each class."""

    def room(self) -> Scratch:
        """Return no memory."""
        return Scratch(0, 0)

    def copy(self) -> OwnersByRecord:
        """Return this: there is nothing to copy."""
        return self

    def merge(self, groups: Codes, number: int, work: Scratch) -> OwnersByRecord:
        """Return this: so it is in any classes."""
        return self


BY_RECORD = OwnersByRecord()


@dataclass(frozen=True, slots=True, eq=False)
class OwnersByClass:
    """The owners of each class.

    A class of `enough` owners is large enough for all models, and stays so in any union. Its owners are
    therefore not listed, and its entry of `counts` is at least `enough`, but not exact.
    """

    counts: Integers
    entries: ClassMembers
    pairs: tuple[ClassMembers, ...]
    """For each further attribute, the classes of its pairs."""
    enough: int = NO_LIMIT
    reads_groups: ClassVar[bool] = True

    @staticmethod
    def of_rows(persons: Persons, row_class: Codes, classes: int) -> OwnersByClass:
        """Count each owner once in each class that has a row of theirs."""
        entries = ClassMembers.of_rows(persons.codes, row_class, classes)
        pairs = tuple(ClassMembers.of_rows(each, row_class, classes) for each in persons.pairs)
        return OwnersByClass(np.bincount(entries.classes, minlength=classes).astype(np.int64), entries, pairs)

    @property
    def visits(self) -> int:
        """Entries to visit in a roll-up."""
        return int(self.entries.things.size) + sum(int(each.things.size) for each in self.pairs)

    @property
    def nbytes(self) -> int:
        """Memory that this holds."""
        return self.counts.nbytes + self.entries.nbytes + sum(each.nbytes for each in self.pairs)

    def copy(self) -> OwnersByClass:
        """Return a copy in memory of its own."""
        pairs = tuple(each.copy() for each in self.pairs)
        return OwnersByClass(self.counts.copy(), self.entries.copy(), pairs, self.enough)

    def sufficient(self, enough: int) -> OwnersByClass:
        """Return the same without the owners of classes that have enough."""
        few = self.counts[self.entries.classes] < enough
        left = ClassMembers(self.entries.things[few], self.entries.classes[few])
        return OwnersByClass(self.counts, left, (), enough)

    def room(self) -> Scratch:
        """Return memory for any roll-up."""
        return Scratch(self.counts.size, self.entries.things.size)

    def merge(self, groups: Codes, number: int, work: Scratch) -> OwnersByClass:
        """Return the owners of `number` groups that classes were merged into. Their memory is `work`."""
        filled = merge_entries(
            self.entries.things, self.entries.classes, groups, self.counts, self.enough, work.counts[:number],
            work.things, work.classes,
        )  # fmt: skip
        entries = ClassMembers(work.things[:filled], work.classes[:filled])
        pairs = tuple(each.merge(groups, number) for each in self.pairs)
        return OwnersByClass(work.counts[:number], entries, pairs, self.enough)

    def spread(self, rejected: Marks) -> Marks:
        """Return which classes of rows are rejected, given which classes of owners are."""
        return rejected

    def rejected_owners(self, rejected: Marks) -> int:
        """Count the owners of a row in a rejected class."""
        if self.enough < NO_LIMIT:  # exactly the owners of classes that are too small are listed
            return int(count_different(self.entries.things))
        return int(count_rejected(self.entries.things, self.entries.classes, rejected))


class Scratch:
    """Memory for the owners of one roll-up."""

    def __init__(self, classes: int, entries: int) -> None:
        self.counts = np.empty(classes, np.int64)
        self.things = np.empty(entries, np.int32)
        self.classes = np.empty(entries, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class OwnersBySignature:
    """The signature of each class, and the number of owners of each signature.

    All owners with a signature have the same number of rows in a class: the rows of the class divided by its
    owners.

    Two signatures count as the same if two sums of 64 random bits for each row are equal. The bits are drawn
    anew in each process, so that rows cannot be constructed whose sums agree; by chance, two of a million
    owners' sums agree once in 10^26 times. The verifier compares the rows themselves.
    """

    signatures: Codes
    people: Integers
    pairs: tuple[ClassMembers, ...]
    """For each further attribute, the signatures of its pairs."""
    salts: tuple[int, int]
    reads_groups: ClassVar[bool] = True

    @staticmethod
    def of_rows(persons: Persons, row_class: Codes, weights: Weights) -> tuple[OwnersBySignature, Codes]:
        """Return the signatures, and the class of each row: classes of equal labels, split by signature."""
        codes = persons.codes
        salts = (secrets.randbits(63), secrets.randbits(63))
        number = int(codes.max()) + 1
        sums = np.zeros((2, number), np.uint64)
        add_up(row_class, codes, weights.array, np.ones(number, np.int64), salts[0], salts[1], sums)
        of_person = np.empty(number, np.int32)
        types = number_pairs(sums[0], sums[1], of_person)
        there = np.bincount(codes, minlength=number) > 0  # a part of a table lacks some owners
        people = np.bincount(of_person[there], minlength=types).astype(np.int64)
        signature = of_person[codes]
        where, signatures = _split_classes(row_class, signature)
        pairs = tuple(ClassMembers.of_rows(each, signature, types) for each in persons.pairs)
        return OwnersBySignature(signatures, people, pairs, salts), where

    @property
    def visits(self) -> int:
        """Further visits in a roll-up: each class is visited twice."""
        return int(self.signatures.size) + sum(int(each.things.size) for each in self.pairs)

    @property
    def nbytes(self) -> int:
        """Memory that this holds, without the pairs, which all tables share."""
        own = sum(each.classes.nbytes for each in self.pairs)
        return int(self.signatures.nbytes + self.people.nbytes + own)

    def room(self) -> Scratch:
        """Return no memory: `split` takes its own."""
        return Scratch(0, 0)

    def copy(self) -> OwnersBySignature:
        """Return this: nothing of it is in scratch memory."""
        return self

    def split(self, groups: Codes, counts: Integers) -> tuple[OwnersBySignature, Codes]:
        """Return the signatures after classes of `counts` rows were merged into groups of equal labels.

        Also return the new class of each class: its group, split by signature.
        """
        sums = np.zeros((2, self.people.size), np.uint64)
        add_up(groups, self.signatures, counts, self.people, self.salts[0], self.salts[1], sums)
        becomes = np.empty(self.people.size, np.int32)
        types = number_pairs(sums[0], sums[1], becomes)
        people = np.zeros(types, np.int64)
        np.add.at(people, becomes, self.people)
        where, signatures = _split_classes(groups, becomes[self.signatures])
        # Each owner has one signature, so no pair is counted twice.
        pairs = tuple(ClassMembers(each.things, becomes[each.classes]) for each in self.pairs)
        return OwnersBySignature(signatures, people, pairs, self.salts), where

    def spread(self, rejected: Marks) -> Marks:
        """Return which classes of rows are rejected, given which signatures are."""
        return rejected[self.signatures]

    def rejected_owners(self, rejected: Marks) -> int:
        """Count the owners of rejected signatures."""
        return int(self.people[rejected != 0].sum())


People = OwnersByRecord | OwnersByClass | OwnersBySignature


def _split_classes(classes: Codes, signature: Codes) -> tuple[Codes, Codes]:
    """Return the new class of each item, given its class and signature, and the signature of each new class."""
    where = np.empty(classes.size, np.int32)
    split = number_pairs(classes.astype(np.uint64), signature.astype(np.uint64), where)
    signatures = np.empty(split, np.int32)
    signatures[where] = signature
    return where, signatures


@kernel
def merge_entries(
    things: Codes,
    classes: Codes,
    groups: Codes,
    parts: Integers,
    enough: int,
    counts: Integers,
    out_things: Codes,
    out_classes: Codes,
) -> int:
    """Count each thing once in each group. Return the number of entries: those of groups with too few things.

    `parts` are the counts of the classes; the entries list no things of classes that already have enough.
    """
    # Begin with the classes that have enough things already.
    for g in range(counts.size):
        counts[g] = 0
    for c in range(groups.size):
        if parts[c] >= enough:
            counts[groups[c]] = max(counts[groups[c]], parts[c])
    # Count new things. The last thing of a group shares a machine word with its count: one fetch for both.
    filled = 0
    for e in range(things.size):
        g = groups[np.uint32(classes[e])]
        met = counts[g]
        number, thing = met & _COUNT, np.int64(things[e]) + 1
        if number < enough and met >> _BITS != thing:
            counts[g] = (thing << _BITS) | (number + 1)
            out_things[filled] = things[e]
            out_classes[filled] = g
            filled += 1
    for g in range(counts.size):
        counts[g] &= _COUNT
    if enough == NO_LIMIT:
        return filled
    # Drop the entries of groups that now have enough things.
    left = 0
    for e in range(filled):
        out_things[left] = out_things[e]
        out_classes[left] = out_classes[e]
        left += counts[np.uint32(out_classes[e])] < enough
    return left


@kernel
def sort_by_thing(things: Codes, classes: Codes, number: int, out_things: Codes, out_classes: Codes) -> None:
    """Sort rows by their things (counting sort)."""
    starts = np.zeros(number + 1, np.int64)
    for i in range(things.size):
        starts[things[i] + 1] += 1
    for t in range(number):
        starts[t + 1] += starts[t]
    for i in range(things.size):
        at = starts[things[i]]
        starts[things[i]] += 1
        out_things[at] = things[i]
        out_classes[at] = classes[i]


@kernel
def count_different(things: Codes) -> int:
    """Count different things; equal ones are adjacent."""
    count = 0
    for e in range(things.size):
        count += e == 0 or things[e] != things[e - 1]
    return count


@kernel
def count_rejected(things: Codes, classes: Codes, rejected: Marks) -> int:
    """Count the things that are in a rejected class."""
    count = 0
    last = -1
    for e in range(things.size):
        if rejected[classes[e]] and things[e] != last:
            last = things[e]
            count += 1
    return count


@kernel
def _mix(number: int, salt: int) -> np.uint64:
    """Return 64 bits, each of which depends on every bit of the number (Steele, Lea and Flood 2014)."""
    z = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def add_up(
    groups: Codes,
    owners: Codes,
    counts: Integers,
    people: Integers,
    salt: int,
    other: int,
    sums: NDArray[np.uint64],
) -> None:
    """Add up the random bits of the groups of each signature, each as often as one of its owners has it."""
    for i in range(groups.size):
        owner = owners[i]
        times = np.uint64(counts[i] // people[owner])
        sums[0, owner] += times * _mix(groups[i], salt)
        sums[1, owner] += times * _mix(groups[i], other)


@kernel
def number_pairs(first: NDArray[np.uint64], second: NDArray[np.uint64], numbers: Codes) -> int:
    """Number different pairs in order of first appearance. Return how many there are."""
    bits = 1
    while (1 << bits) < 2 * first.size:
        bits += 1
    last = np.int64((1 << bits) - 1)
    down = np.uint64(64 - bits)
    slots = np.full(last + 1, -1, np.int32)
    met = np.empty(first.size, np.int32)  # where each number was first met
    count = 0
    for i in range(first.size):
        mixed = first[i] * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(32)) ^ second[i]) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64(mixed >> down)
        while True:
            number = slots[slot]
            if number < 0:
                slots[slot] = count
                met[count] = i
                numbers[i] = count
                count += 1
                break
            if first[met[number]] == first[i] and second[met[number]] == second[i]:
                numbers[i] = number
                break
            slot = (slot + 1) & last
    return count
