"""Who is in which class, where a person may have several rows: what rides along with a class table.

People do not add up when classes merge, so a table that is to be judged by people carries who they are. There are two
ways to look at them. Whoever knows one row of a person sees the people of its class (`OwnersByClass`). Whoever knows all rows of
a person sees those people who have the same ones: a class is then a generalized row together with the rows that its
person has, the signature (`OwnersBySignature`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import kernel

EVERYBODY = np.iinfo(np.int64).max
"""More people than any class has."""

_BITS = 32
_COUNT = (1 << _BITS) - 1
"""A count beside which the number of a thing fits into a machine word."""

Numbers = NDArray[np.int32]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ClassMembers:
    """Which things (people, or people with one of their values) are in which classes; things in ascending order."""

    things: Numbers
    classes: Numbers

    @staticmethod
    def of_rows(things: Numbers, row_class: Numbers, classes: int) -> ClassMembers:
        """Count each thing once in each class that it has rows in."""
        rows = ClassMembers(np.empty_like(things), np.empty(things.size, np.int32))
        sort_by_thing(things, row_class, int(things.max()) + 1, rows.things, rows.classes)
        return rows.merge(np.arange(classes, dtype=np.int32), classes)

    def merge(self, groups: Numbers, number: int) -> ClassMembers:
        """Count each thing once in each group of classes."""
        room = ClassMembers(np.empty_like(self.things), np.empty_like(self.classes))
        counts, parts = np.empty(number, np.int64), np.zeros(groups.size, np.int64)
        filled = merge_entries(
            self.things, self.classes, groups, parts, EVERYBODY, counts, room.things, room.classes
        )
        return ClassMembers(room.things[:filled], room.classes[:filled])

    def copy(self) -> ClassMembers:
        """The same in memory of its own."""
        return ClassMembers(self.things.copy(), self.classes.copy())

    @property
    def nbytes(self) -> int:
        """Memory that the entries hold."""
        return int(self.things.nbytes + self.classes.nbytes)


def records_of(codes: Numbers, weights: Counts | None) -> Counts:
    """Count the records of each person."""
    if weights is None:
        return np.bincount(codes).astype(np.int64)
    counts = np.zeros(int(codes.max()) + 1, np.int64)
    np.add.at(counts, codes, weights)
    return counts


def are_rows(codes: Numbers, weights: Counts | None) -> bool:
    """Whether nobody has two records: people are rows then, and nothing has to be carried along."""
    return bool(records_of(codes, weights).max() <= 1)


class Persons:
    """Whom each row is about, and what of them an attacker may know: one row, or all rows.

    A pair is a person together with one of the values that a further attribute has in their rows; pairs are numbered by
    value. `attributes` are the codes and domain sizes of these, `weights` how many records each row stands for.
    """

    def __init__(
        self,
        codes: Numbers,
        attributes: Sequence[tuple[Numbers, int]] = (),
        weights: Counts | None = None,
        *,
        all_rows: bool = False,
    ) -> None:
        self.codes = codes
        self.all_rows = all_rows
        there = records_of(codes, weights)
        self.number = int(np.count_nonzero(there))
        self.most = np.sort(there)[::-1]
        """Records of each person, the most first."""
        self.pairs: list[Numbers] = []
        """For each attribute, the pair that each row shows."""
        self.values: list[Numbers] = []
        """For each attribute, the value of each pair."""
        self.owners: list[Numbers] = []
        """For each attribute, the person of each pair."""
        self.everybody = int(there.size)
        """More than the number of any person."""
        self.domains = [domain for _, domain in attributes]
        for column, _ in attributes:
            pairs, number = np.unique(column.astype(np.int64) * there.size + codes, return_inverse=True)
            self.pairs.append(number.astype(np.int32))
            self.values.append((pairs // there.size).astype(np.int32))
            self.owners.append((pairs % there.size).astype(np.int32))


@dataclass(frozen=True, slots=True, eq=False)
class OwnersByClass:
    """The people of each class.

    A class of `enough` people is large enough for whoever asks, and stays so whatever it is merged with: nobody needs to
    know any more who they are. So its people are not listed, and `counts` says that they are enough, not how many.
    """

    counts: Counts
    entries: ClassMembers
    shown: tuple[ClassMembers, ...]
    """For each further attribute, which value of whom is in which class: numbers of pairs, ordered by value."""
    enough: int = EVERYBODY

    @staticmethod
    def of_rows(persons: Persons, row_class: Numbers, classes: int) -> OwnersByClass:
        """Count everybody once in each class that they have rows in."""
        entries = ClassMembers.of_rows(persons.codes, row_class, classes)
        shown = tuple(ClassMembers.of_rows(each, row_class, classes) for each in persons.pairs)
        return OwnersByClass(np.bincount(entries.classes, minlength=classes).astype(np.int64), entries, shown)

    @property
    def visits(self) -> int:
        """Entries to visit in a roll-up."""
        return int(self.entries.things.size) + sum(int(each.things.size) for each in self.shown)

    @property
    def nbytes(self) -> int:
        """Memory that this holds."""
        return self.counts.nbytes + self.entries.nbytes + sum(each.nbytes for each in self.shown)

    def copy(self) -> OwnersByClass:
        """The same in memory of its own."""
        shown = tuple(each.copy() for each in self.shown)
        return OwnersByClass(self.counts.copy(), self.entries.copy(), shown, self.enough)

    def sufficient(self, enough: int) -> OwnersByClass:
        """List nobody of classes that have enough people."""
        few = self.counts[self.entries.classes] < enough
        left = ClassMembers(self.entries.things[few], self.entries.classes[few])
        return OwnersByClass(self.counts, left, (), enough)

    def room(self) -> Scratch:
        """Memory for any roll-up of this."""
        return Scratch(self.counts.size, self.entries.things.size)

    def merge(self, groups: Numbers, number: int, work: Scratch) -> OwnersByClass:
        """The people of classes that have been merged into so many groups. They live in `work`."""
        filled = merge_entries(
            self.entries.things, self.entries.classes, groups, self.counts, self.enough, work.counts[:number],
            work.things, work.classes,
        )  # fmt: skip
        listed = ClassMembers(work.things[:filled], work.classes[:filled])
        shown = tuple(each.merge(groups, number) for each in self.shown)
        return OwnersByClass(work.counts[:number], listed, shown, self.enough)

    def spread(self, rejected: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Tell which classes of rows are rejected, given which classes of people are."""
        return rejected

    def lost(self, rejected: NDArray[np.uint8]) -> int:
        """Count the people who have a row in a rejected class."""
        if self.enough < EVERYBODY:  # nobody else is listed, and nothing else is asked for
            return int(count_different(self.entries.things))
        return int(count_lost(self.entries.things, self.entries.classes, rejected))


class Scratch:
    """Memory for the people of one roll-up."""

    def __init__(self, classes: int, entries: int) -> None:
        self.counts = np.empty(classes, np.int64)
        self.things = np.empty(entries, np.int32)
        self.classes = np.empty(entries, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class OwnersBySignature:
    """The signature of each class, and the people of each signature.

    All people of a signature have the same number of rows in a class. So the rows of a class, divided by its people,
    tell how often it stands in the signature.

    Two signatures are the same if two sums of 64 random bits for each row are. They are drawn anew in each process, so
    that nobody can choose rows whose sums agree by design; by chance, two of a million people's do once in 10^26 times.
    The verifier compares the rows themselves.
    """

    signatures: Numbers
    people: Counts
    shown: tuple[ClassMembers, ...]
    """For each further attribute, which value of whom is in which signature: numbers of pairs, ordered by value."""
    salts: tuple[int, int]

    @staticmethod
    def of_rows(
        persons: Persons, row_class: Numbers, weights: Counts | None
    ) -> tuple[OwnersBySignature, Numbers]:
        """Return the signatures of rows, and the class of each: what it shows, divided by signature."""
        codes = persons.codes
        salts = (secrets.randbits(63), secrets.randbits(63))
        number = int(codes.max()) + 1
        times = np.ones(codes.size, np.int64) if weights is None else weights
        sums = np.zeros((2, number), np.uint64)
        add_up(row_class, codes, times, np.ones(number, np.int64), salts[0], salts[1], sums)
        of_person = np.empty(number, np.int32)
        types = number_pairs(sums[0], sums[1], of_person)
        there = np.bincount(codes, minlength=number) > 0  # in a part of a table, not everybody is
        people = np.bincount(of_person[there], minlength=types).astype(np.int64)
        where = np.empty(codes.size, np.int32)
        signature = of_person[codes]
        split = number_pairs(row_class.astype(np.uint64), signature.astype(np.uint64), where)
        signatures = np.empty(split, np.int32)
        signatures[where] = signature
        shown = tuple(ClassMembers.of_rows(each, signature, types) for each in persons.pairs)
        return OwnersBySignature(signatures, people, shown, salts), where

    @property
    def visits(self) -> int:
        """Further visits in a roll-up: each class is looked at twice."""
        return int(self.signatures.size) + sum(int(each.things.size) for each in self.shown)

    @property
    def nbytes(self) -> int:
        """Memory that this holds, but for numbers of pairs, which all tables share."""
        own = sum(each.classes.nbytes for each in self.shown)
        return int(self.signatures.nbytes + self.people.nbytes + own)

    def copy(self) -> OwnersBySignature:
        """The same, of which nothing lives in scratch memory."""
        return self

    def merge(self, groups: Numbers, counts: Counts) -> tuple[OwnersBySignature, Numbers]:
        """Return the signatures of classes that have been merged into groups by what they show.

        Also the class that each class, which had so many rows, goes to: its group, divided by signature.
        """
        sums = np.zeros((2, self.people.size), np.uint64)
        add_up(groups, self.signatures, counts, self.people, self.salts[0], self.salts[1], sums)
        becomes = np.empty(self.people.size, np.int32)
        types = number_pairs(sums[0], sums[1], becomes)
        people = np.zeros(types, np.int64)
        np.add.at(people, becomes, self.people)
        where = np.empty(groups.size, np.int32)
        signature = becomes[self.signatures]
        split = number_pairs(groups.astype(np.uint64), signature.astype(np.uint64), where)
        signatures = np.empty(split, np.int32)
        signatures[where] = signature
        # Everybody has one signature, so that nothing is counted twice.
        shown = tuple(ClassMembers(each.things, becomes[each.classes]) for each in self.shown)
        return OwnersBySignature(signatures, people, shown, self.salts), where

    def spread(self, rejected: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Tell which classes of rows are rejected, given which signatures are: all of a person's rows, or none."""
        return rejected[self.signatures]

    def lost(self, rejected: NDArray[np.uint8]) -> int:
        """Count the people of rejected signatures."""
        return int(self.people[rejected != 0].sum())


People = OwnersByClass | OwnersBySignature


@kernel
def merge_entries(
    things: Numbers,
    classes: Numbers,
    groups: Numbers,
    parts: Counts,
    enough: int,
    counts: Counts,
    out_things: Numbers,
    out_classes: Numbers,
) -> int:
    """Count each thing once in each group. Return the number of entries, which leave groups with enough things out.

    `parts` are the counts of the classes; those that have enough already are not listed among the entries.
    """
    # Which thing was last met in a group stands beside how many were, so that both are fetched at once.
    for g in range(counts.size):
        counts[g] = 0
    for c in range(groups.size):
        if parts[c] >= enough:
            counts[groups[c]] = max(counts[groups[c]], parts[c])
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
    if enough == EVERYBODY:
        return filled
    left = 0
    for e in range(filled):
        out_things[left] = out_things[e]
        out_classes[left] = out_classes[e]
        left += counts[np.uint32(out_classes[e])] < enough
    return left


@kernel
def sort_by_thing(
    things: Numbers, classes: Numbers, number: int, out_things: Numbers, out_classes: Numbers
) -> None:
    """Bring rows into the order of their things, by counting."""
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
def count_different(things: Numbers) -> int:
    """Count different things, which stand together."""
    found = 0
    for e in range(things.size):
        found += e == 0 or things[e] != things[e - 1]
    return found


@kernel
def count_lost(things: Numbers, classes: Numbers, rejected: NDArray[np.uint8]) -> int:
    """Count the things that are in a rejected class."""
    lost = 0
    last = -1
    for e in range(things.size):
        if rejected[classes[e]] and things[e] != last:
            last = things[e]
            lost += 1
    return lost


@kernel
def _mix(number: int, salt: int) -> np.uint64:
    """64 bits of which every one depends on every bit of the number (Steele, Lea and Flood 2014)."""
    z = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def add_up(
    groups: Numbers,
    owners: Numbers,
    counts: Counts,
    people: Counts,
    salt: int,
    other: int,
    sums: NDArray[np.uint64],
) -> None:
    """Add up random bits of the groups that each owner has, each as often as one of its people has it."""
    for i in range(groups.size):
        owner = owners[i]
        times = np.uint64(counts[i] // people[owner])
        sums[0, owner] += times * _mix(groups[i], salt)
        sums[1, owner] += times * _mix(groups[i], other)


@kernel
def number_pairs(first: NDArray[np.uint64], second: NDArray[np.uint64], numbers: Numbers) -> int:
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
            found = slots[slot]
            if found < 0:
                slots[slot] = count
                met[count] = i
                numbers[i] = count
                count += 1
                break
            if first[met[found]] == first[i] and second[met[found]] == second[i]:
                numbers[i] = found
                break
            slot = (slot + 1) & last
    return count
