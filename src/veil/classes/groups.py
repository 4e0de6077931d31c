"""Class tables of any groups of rows, which need not be the classes of a node."""

from __future__ import annotations

import numpy as np

from veil.base.arrays import Codes, Integers
from veil.classes.owners import BY_RECORD, ClassMembers, OwnersByClass, People, Persons, sort_by_thing
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, Histogram


def table_of_groups(
    sample: Sample, weights: Integers, rows: Integers, groups: Codes, number: int
) -> ClassTable:
    """Return the class table of `number` groups, given the group of each of some rows.

    `weights` are the records of all rows of the sample. The table has no labels, and counts all records: a
    research subset is not regarded. Every group has a row, and people whose every row is known are none.

    >>> from veil.classes.encoding import Encoding
    >>> from veil.classes.sample import SampleAttribute
    >>> flu = SampleAttribute("disease", np.array([0, 1, 1], np.int32), ("flu", "gout"))
    >>> from veil.hierarchies import Hierarchy
    >>> encoding = Encoding(("q",), (Hierarchy.from_rows([["a", "*"]]),))
    >>> sample = Sample(encoding, [np.zeros(3, np.int32)], (flu,))
    >>> table = table_of_groups(sample, np.ones(3, np.int64), np.array([0, 2, 1]), np.array([0, 0, 1], np.int32), 2)
    >>> table.count.tolist(), [each.tolist() for each in table.histograms[0]]
    ([2, 1], [[0, 1, 3], [0, 0, 1], [1, 1, 1]])
    """
    records = weights[rows]
    counts = np.bincount(groups, weights=records, minlength=number).astype(np.int64)
    histograms = tuple(
        _histogram(attribute.codes[rows], len(attribute.values), records, groups, counts)
        for attribute in sample.attributes
    )
    people: People = BY_RECORD
    if isinstance(sample.persons, Persons):
        entries = ClassMembers.of_rows(sample.persons.codes[rows], groups, number)
        pairs = tuple(ClassMembers.of_rows(each[rows], groups, number) for each in sample.persons.pairs)
        owners = np.bincount(entries.classes, minlength=number).astype(np.int64)
        people = OwnersByClass(owners, entries, pairs)
    return ClassTable((), (np.arange(number, dtype=np.uint64),), (counts,), histograms, people)


def _histogram(codes: Codes, domain: int, records: Integers, groups: Codes, counts: Integers) -> Histogram:
    """Return the histogram of groups of `counts` records, given code, records and group of each row."""
    values, order = np.empty_like(codes), np.empty(codes.size, np.int32)
    sort_by_thing(codes, np.arange(codes.size, dtype=np.int32), domain, values, order)
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=domain))])
    return Histogram(starts.astype(np.int64), order, records[order]).merge(groups, counts)
