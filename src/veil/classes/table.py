"""Class tables: the distinct generalized rows of a table, with counts of their records."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from veil.base.arrays import Codes, Integers, Mask
from veil.classes import kernels
from veil.classes.encoding import Encoding, Levels
from veil.classes.owners import BY_RECORD, OwnersBySignature, People, Persons, RecordPersons
from veil.tables.rows import Weights

_NOTHING = np.empty(0, np.int32)


class Histogram(NamedTuple):
    """Counts of each value of one further attribute in each class, value by value.

    Value v occurs `counts[e]` times in class `classes[e]`, for the entries e from `starts[v]` to
    `starts[v + 1]`. Only values that occur are stored.
    """

    starts: Integers
    classes: Codes
    counts: Integers

    @property
    def domain(self) -> int:
        """Number of different values in the whole input."""
        return int(self.starts.size - 1)

    @classmethod
    def room_for(cls, other: Histogram) -> Histogram:
        """Return memory for as many entries as another histogram has, and one more."""
        entries = other.classes.size + 1
        return cls(np.empty_like(other.starts), np.empty(entries, np.int32), np.empty(entries, np.int64))

    def used_entries(self) -> Histogram:
        """Return the entries that are in use."""
        end = int(self.starts[-1])
        return Histogram(self.starts, self.classes[:end], self.counts[:end])

    def copy(self) -> Histogram:
        """Return a copy in memory of its own."""
        return Histogram(self.starts.copy(), self.classes.copy(), self.counts.copy())

    def merge(self, groups: Codes, sizes: Integers) -> Histogram:
        """Return the histogram after classes were merged into groups of `sizes` records."""
        merged = Histogram.room_for(self)
        kernels.merge_histogram(groups, sizes, 0, self, merged)
        return merged.used_entries().copy()


@dataclass(frozen=True, slots=True, eq=False)
class ClassTable:
    """The equivalence classes of one node of the lattice, in order of first appearance in the data.

    `measures` add up when classes merge: the relevant records (those of the research subset if there is
    one), then all records if there is a subset, then the sum of squared multiplicities of original rows.
    """

    levels: Levels
    keys: kernels.Words
    measures: kernels.Measures
    histograms: Sequence[Histogram]
    people: People = BY_RECORD
    """The owners in the classes."""

    def __len__(self) -> int:
        return int(self.keys[0].size)

    @property
    def count(self) -> Integers:
        """Relevant records of each class."""
        return self.measures[0]

    @property
    def squares(self) -> Integers:
        """Sum, over the original rows in each class, of the squared number of records with that row."""
        return self.measures[1]

    @property
    def population(self) -> Integers:
        """All records of each class, whether or not they are in the research subset."""
        return self.measures[-1] if len(self.measures) == 3 else self.measures[0]

    @property
    def visits(self) -> int:
        """Classes and entries of histograms to visit in a roll-up."""
        return len(self) + self.people.visits + sum(each.classes.size for each in self.histograms)

    @property
    def nbytes(self) -> int:
        """Memory that the table holds."""
        plain = sum(array.nbytes for array in (*self.keys, *self.measures))
        return (
            plain
            + self.people.nbytes
            + sum(h.starts.nbytes + h.classes.nbytes + h.counts.nbytes for h in self.histograms)
        )


class Workspace(threading.local):
    """Scratch memory of one thread for any roll-up of one table."""

    def __init__(
        self,
        rows: int,
        words: int,
        measures: int,
        values: int,
        histograms: Sequence[Histogram] = (),
        people: People = BY_RECORD,
    ) -> None:
        slots = 2
        while slots < 2 * rows:
            slots *= 2
        self.slots = np.empty(slots, np.int32)
        self.keys = tuple(np.empty(rows + 1, np.uint64) for _ in range(words))
        self.measures = tuple(np.empty(rows, np.int64) for _ in range(measures))
        self.histograms = tuple(Histogram.room_for(histogram) for histogram in histograms)
        self.people = people.room()
        self.groups = np.empty(rows, np.int32)
        self.rejected = np.empty(rows, np.uint8)
        self.value_counts = np.empty(values, np.int64)
        self.tally = np.empty(5, np.int64)
        self.left = np.empty(rows, np.int64)
        self.sums = np.empty(rows, np.int64)
        self.parts = np.empty(rows, np.int64)


def collapse(
    encoding: Encoding,
    codes: list[Codes],
    further: list[tuple[Codes, int]],
    subset: Mask | None,
    *,
    weights: Weights,
    squares: bool,
    persons: Persons | RecordPersons,
) -> tuple[ClassTable, Codes]:
    """Turn rows into the class table of the bottom node. Also return the class of every row.

    `further` are the codes and domain sizes of attributes that need histograms, `weights` the number of
    records of each row, and `persons` its owner.
    """
    rows = codes[0].size
    words = tuple(np.zeros(rows, np.uint64) for _ in range(encoding.words))
    for j, column in enumerate(codes):
        word, shift, _ = encoding.layout[j]
        kernels.pack(column, int(shift), words[word])
    records = weights.array
    relevant = records if subset is None else records * subset
    added = (relevant,) if subset is None else (relevant, records)
    work = Workspace(rows, encoding.words, len(added), 0)
    bottom = np.zeros(len(codes), np.int64)
    count = kernels.group(
        words, added, bottom, bottom, encoding.layout, encoding.offsets, encoding.changes,
        encoding.cardinalities, work.slots, work.keys, work.measures, work.groups,
    )  # fmt: skip
    counts, *population = (measure[:count].copy() for measure in work.measures)
    keys = tuple(word[:count].copy() for word in work.keys)
    row_class = work.groups
    people, where = persons.in_classes(row_class, count, weights)
    if where is not row_class:  # classes of equal labels are split
        member = np.empty(int(where.max()) + 1, np.int32)  # any row of each class
        member[where] = np.arange(rows, dtype=np.int32)
        keys, row_class = tuple(word[row_class[member]] for word in keys), where
        counts = np.zeros(member.size, np.int64)
        np.add.at(counts, row_class, records)
    measures: tuple[Integers, ...] = (counts,)
    if squares or subset is not None:
        measures += (counts * counts,)
    measures += tuple(population)
    histograms = tuple(
        _by_value(column, domain, relevant).merge(row_class, counts) for column, domain in further
    )
    return ClassTable(tuple(bottom.tolist()), keys, measures, histograms, people), row_class


def _by_value(codes: Codes, domain: int, relevant: Integers) -> Histogram:
    """Return the histogram of single rows, each a class of its own."""
    order = np.argsort(codes, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=domain))])
    return Histogram(starts.astype(np.int64), order, relevant[order])


def roll_up(
    encoding: Encoding,
    table: ClassTable,
    levels: Levels,
    work: Workspace,
    *,
    groups: bool = False,
    smallest: int = 0,
) -> ClassTable:
    """Derive the class table of a more general node. Its memory is `work`, until the next roll-up.

    With `groups`, `work.groups` is the new class of each class. Histograms omit classes of fewer than
    `smallest` records.
    """
    where = work.groups if groups or table.histograms or table.people.reads_groups else _NOTHING
    count = kernels.group(
        table.keys, table.measures, np.array(table.levels), np.array(levels), encoding.layout, encoding.offsets,
        encoding.changes, encoding.cardinalities, work.slots, work.keys, work.measures, where,
    )  # fmt: skip
    if isinstance(table.people, OwnersBySignature):
        return _split_by_signature(table, table.people, levels, work)
    return ClassTable(
        levels,
        tuple(word[:count] for word in work.keys),
        tuple(measure[:count] for measure in work.measures),
        _LazyHistograms(table.histograms, count, work, smallest) if table.histograms else (),
        table.people.merge(work.groups[: len(table)], count, work.people),
    )


def _split_by_signature(
    table: ClassTable, people: OwnersBySignature, levels: Levels, work: Workspace
) -> ClassTable:
    """Split the groups of equal labels by the signatures of the owners."""
    groups = work.groups[: len(table)]
    signatures, where = people.split(groups, table.count)
    count = signatures.signatures.size
    keys = tuple(np.empty(count, np.uint64) for _ in work.keys)
    for word, group_word in zip(keys, work.keys, strict=True):
        word[where] = group_word[groups]
    measures = tuple(np.zeros(count, np.int64) for _ in table.measures)
    for sums, measure in zip(measures, table.measures, strict=True):
        np.add.at(sums, where, measure)
    groups[:] = where
    histograms = tuple(each.merge(where, measures[0]) for each in table.histograms)
    return ClassTable(levels, keys, measures, histograms, signatures)


class _LazyHistograms(Sequence[Histogram]):
    """The histograms of a roll-up, each computed when first read, as many are never read."""

    def __init__(self, sources: Sequence[Histogram], classes: int, work: Workspace, smallest: int) -> None:
        # These attributes of the workspace differ from thread to thread.
        self.groups, self.sizes, self.rooms = work.groups, work.measures[0][:classes], work.histograms
        self.sources, self.smallest = sources, smallest
        self._histograms: dict[int, Histogram] = {}

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, i: Any) -> Any:
        if i not in self._histograms:
            kernels.merge_histogram(self.groups, self.sizes, self.smallest, self.sources[i], self.rooms[i])
            self._histograms[i] = self.rooms[i].used_entries()
        return self._histograms[i]


def keep(table: ClassTable) -> ClassTable:
    """Copy a table out of scratch memory."""
    keys = tuple(word.copy() for word in table.keys)
    histograms = tuple(histogram.copy() for histogram in table.histograms)
    measures = tuple(measure.copy() for measure in table.measures)
    return ClassTable(table.levels, keys, measures, histograms, table.people.copy())
