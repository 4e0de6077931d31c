"""The people of a table with sets of items: one row each, or one row for each of their items."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from veil.base.arrays import Integers
from veil.base.randomness import Randomness
from veil.errors import PlanError
from veil.masking.items.baskets import Baskets
from veil.masking.items.problem import ItemProblem, rows_of
from veil.masking.items.publishing import PublishedSets
from veil.masking.items.taxonomy import ItemTaxonomy
from veil.plan.owners import number_people
from veil.published.linked_tables import blank_rows
from veil.published.table import Published
from veil.tables.columns import column_of, groups, is_text, replace_column
from veil.tables.rows import Rows

MARKER = "*"
"""Text of suppressed cells in a table that may have some."""


@dataclass(frozen=True, eq=False)
class ItemRecords:
    """The people of a table: a row of each, their sets, and their classes, which an attacker knows.

    `owners` is the owner of each row, and `origins` the input row of each row of the table.
    """

    table: pa.Table
    column: str
    origins: Integers
    rows: Integers
    owners: Integers
    baskets: Baskets
    classes: Integers

    @abstractmethod
    def publish(
        self, sets: PublishedSets, set_of: Integers, separator: str, randomness: Randomness
    ) -> tuple[pa.Table, Integers]:
        """Return the published table, given the set of each person, and the input row of each of its rows."""


class SetRecords(ItemRecords):
    """A set in each row."""

    @staticmethod
    def of(
        table: pa.Table, column: str, within: tuple[str, ...], separator: str, method: object
    ) -> SetRecords:
        """Read one person from each row; rows without any value are left out."""
        rows = np.arange(table.num_rows)
        if within:
            rows = np.flatnonzero(~Published(Rows.of(table), list(within)).suppressed)
        visible = table if rows.size == table.num_rows else table.take(pa.array(rows))
        baskets = Baskets.of_column(column_of(visible, column, method), column, separator)
        return SetRecords(visible, column, rows, rows, rows, baskets, groups(visible, within, method))

    def publish(
        self, sets: PublishedSets, set_of: Integers, separator: str, randomness: Randomness
    ) -> tuple[pa.Table, Integers]:
        kind = column_of(self.table, self.column, self).type  # categories as what they stand for
        text = is_text(kind)
        masked = sets.as_text(set_of, separator, self.column) if text else sets.as_lists(set_of, kind)
        return replace_column(self.table, self.column, masked), self.origins


@dataclass(frozen=True, eq=False)
class PersonRecords(ItemRecords):
    """One item in each row of a person."""

    person: str

    @staticmethod
    def of(
        table: pa.Table, column: str, within: tuple[str, ...], person: str, method: object
    ) -> PersonRecords:
        """Read the set of each person from their rows; suppressed rows have no owner and are left out."""
        origins = np.flatnonzero(~blank_rows(table, MARKER))
        table = table if origins.size == table.num_rows else table.take(pa.array(origins))
        owners = number_people(column_of(table, person, method), person).astype(np.int64)
        rows = np.unique(owners, return_index=True)[1]
        for name in table.column_names:
            if name in (person, column):
                continue
            if np.unique([owners, groups(table, (name,), method)], axis=1).shape[1] > rows.size:
                raise PlanError(
                    f"{method}: column {name!r} differs between rows of the same {person!r}, but the rows "
                    "of a person are merged. Drop it, or make it the same for each person"
                )
        baskets = Baskets.of_rows(owners, column_of(table, column, method), rows.size)
        classes = groups(table.take(pa.array(rows)), within, method)
        return PersonRecords(table, column, origins, rows, owners, baskets, classes, person)

    def publish(
        self, sets: PublishedSets, set_of: Integers, separator: str, randomness: Randomness
    ) -> tuple[pa.Table, Integers]:
        """Publish a row for each item of a person, who gets a random number."""
        rows, items = sets.as_rows(set_of, self.owners, self.baskets.item_of)
        pseudonyms = randomness.permutation(set_of.size)[self.owners[rows]] + 1
        masked = replace_column(self.table.take(pa.array(rows)), self.column, pa.chunked_array([items]))
        return replace_column(masked, self.person, pseudonyms), self.origins[rows]


def problem_of(records: ItemRecords, k: int, m: int) -> tuple[ItemProblem, Integers]:
    """Return the distinct sets of each class, and the set of each person."""
    baskets = records.baskets
    width = baskets.starts.size - 1
    pairs, pair_of, counts = np.unique(
        records.classes * width + baskets.set_of, return_inverse=True, return_counts=True
    )
    classes, sets = np.divmod(pairs, max(1, width))
    place, starts = rows_of(baskets.starts, sets)
    flat = ItemTaxonomy.flat(np.arange(len(baskets.items)))
    problem = ItemProblem(flat, starts, baskets.codes[place], counts.astype(np.int64), classes, k, m)
    return problem, pair_of.astype(np.int64)
