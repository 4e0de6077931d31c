"""Rows: a table with the weight and the owner of each row.

A row is one record, or as many as its weight. It is about one person, its owner: every record about another one, or
as the codes of owners define. Only this file distinguishes the cases. It holds data and totals; people
are counted in classes by `veil.published.owners` and, with other code, by `veil.classes.owners`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import plural
from veil.tables.columns import count_codes, freeze
from veil.tables.spelling import encode_people

Integers = NDArray[np.int64]
Selection = NDArray[np.int64] | NDArray[np.bool_]
"""Some rows, by their numbers or as a mask."""

Knows = Literal["one row", "all rows"]
"""What an attacker may know of an owner."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The number of records of each of some rows: `counts`, or one each.

    >>> Weights(3).total, Weights(2, np.array([4, 1])).total
    (3, 5)
    """

    rows: int
    counts: Integers | None = None

    @property
    def are_one(self) -> bool:
        """Whether every row is one record."""
        return self.counts is None

    @functools.cached_property
    def total(self) -> int:
        """Number of records."""
        return self.rows if self.counts is None else int(self.counts.sum())

    @property
    def array(self) -> Integers:
        """The weight of each row."""
        return np.ones(self.rows, np.int64) if self.counts is None else self.counts

    def take(self, selection: Selection) -> Weights:
        """Return the weights of some rows."""
        if self.counts is None:
            return Weights(_size(selection))
        counts = self.counts[selection]
        return Weights(counts.size, counts)

    def sum_of(self, selection: Selection) -> int:
        """Count the records of some rows."""
        return _size(selection) if self.counts is None else int(self.counts[selection].sum())

    def count_by(self, codes: NDArray[np.int32] | Integers, size: int = 0) -> Integers:
        """Count the records with each code, given the code of each row; `size` is the least number of codes.

        >>> Weights(3, np.array([5, 1, 1])).count_by(np.array([0, 2, 0])).tolist()
        [6, 0, 1]
        """
        return count_codes(codes, size, self.counts)

    def count_distinct(self, numbers: Integers) -> tuple[Integers, Integers]:
        """Return the different numbers in ascending order, and the records of each, given the number of each row.

        >>> [each.tolist() for each in Weights(3).count_distinct(np.array([7, 3, 7]))]
        [[3, 7], [1, 2]]
        """
        if self.counts is None:
            ordered, weights = np.sort(numbers), None
        else:
            order = np.argsort(numbers, kind="stable")
            ordered, weights = numbers[order], self.counts[order]
        first = np.flatnonzero(np.diff(ordered, prepend=-1))
        if weights is None:
            return ordered[first], freeze(np.diff(first, append=ordered.size))
        return ordered[first], freeze(np.add.reduceat(weights, first) if first.size else weights)


@dataclass(frozen=True, eq=False)
class Owners:
    """The owner of each of some rows, as a code, and what an attacker may know of an owner.

    Without codes, every record is a person.
    """

    rows: int
    codes: NDArray[np.int32] | None = None
    knows: Knows = "one row"

    @staticmethod
    def of(table: pa.Table, column: str | None, knows: Knows = "one row") -> Owners:
        """Read the column of a table that distinguishes people; None if every record is one.

        >>> Owners.of(pa.table({"patient": ["b", "a", "b"]}), "patient").codes.tolist()
        [0, 1, 0]
        """
        if column is None:
            return Owners(table.num_rows)
        return Owners.coded(encode_people(table[column], column)[1], knows)

    @staticmethod
    def coded(codes: NDArray[np.int32], knows: Knows = "one row") -> Owners:
        """Return owners by their codes."""
        return Owners(codes.size, codes, knows)

    @property
    def are_records(self) -> bool:
        """Whether every record is a person."""
        return self.codes is None

    @property
    def noun(self) -> str:
        """What they are called, if there are several: records, if every record is a person."""
        return "records" if self.codes is None else "people"

    @property
    def know_all_rows(self) -> bool:
        """Whether an attacker may know all rows of an owner, so that classes are those of signatures."""
        return self.codes is not None and self.knows == "all rows"

    @property
    def array(self) -> NDArray[np.int32]:
        """The code of the owner of each row, if a row is one record."""
        return np.arange(self.rows, dtype=np.int32) if self.codes is None else self.codes

    def have_one_record(self, weights: Weights) -> bool:
        """Whether no owner has two records, so that records can be counted instead of owners."""
        return self.codes is None or bool(weights.count_by(self.codes).max(initial=0) <= 1)

    def take(self, selection: Selection) -> Owners:
        """Return the owners of some rows."""
        if self.codes is None:
            return Owners(_size(selection), None, self.knows)
        return Owners.coded(self.codes[selection], self.knows)


@dataclass(frozen=True, eq=False)
class Rows:
    """A table with the weight and the owner of each row.

    >>> visits = pa.table({"patient": ["b", "a", "b"], "ward": ["x", "x", "y"]})
    >>> rows = Rows.of(visits, owners=Owners.of(visits, "patient"))
    >>> rows.records, rows.people, rows.spell(1), rows.people_in(np.array([0, 2]))
    (3, 2, '1 person', 1)
    """

    table: pa.Table
    weights: Weights
    owners: Owners

    @staticmethod
    def of(table: pa.Table, weights: Weights | Integers | None = None, owners: Owners | None = None) -> Rows:
        """Return rows; without `weights` each is one record, and without `owners` every record is a person."""
        if not isinstance(weights, Weights):
            weights = Weights(table.num_rows, weights)
        return Rows(table, weights, Owners(table.num_rows) if owners is None else owners)

    @property
    def records(self) -> int:
        """Number of records."""
        return self.weights.total

    @functools.cached_property
    def people(self) -> int:
        """Number of people with a row."""
        return self.records if self.owners.codes is None else int(np.unique(self.owners.codes).size)

    def people_in(self, selection: Selection) -> int:
        """Count the people with one of some rows."""
        if self.owners.codes is None:
            return self.weights.sum_of(selection)
        return int(np.unique(self.owners.codes[selection]).size)

    def spell(self, number: int) -> str:
        """Write a number of people: of records, if these are the people."""
        return plural(number, "record") if self.owners.are_records else plural(number, "person", "people")

    def take(self, selection: Selection) -> Rows:
        """Return some rows."""
        selected = pa.array(selection)
        table = self.table.filter(selected) if selection.dtype == np.bool_ else self.table.take(selected)
        return Rows(table, self.weights.take(selection), self.owners.take(selection))

    def showing(self, table: pa.Table, origins: Selection | None = None) -> Rows:
        """Return rows with other cells; `origins` are those that they come from, by default all in their order."""
        if origins is None:
            return replace(self, table=table)
        return Rows(table, self.weights.take(origins), self.owners.take(origins))

    def reduced(self) -> Rows:
        """Return the rows without codes of owners, if no owner has two records: these are the people then.

        >>> Rows.of(pa.table({"age": [30, 41]}), owners=Owners.coded(np.array([1, 0]))).reduced().owners.are_records
        True
        """
        if self.owners.have_one_record(self.weights):
            return self.owned(Owners(self.owners.rows, None, self.owners.knows))
        return self

    def owned(self, owners: Owners) -> Rows:
        """Return the same rows with other owners."""
        return replace(self, owners=owners)


def _size(selection: Selection) -> int:
    return int(np.count_nonzero(selection)) if selection.dtype == np.bool_ else selection.size
