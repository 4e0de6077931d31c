"""The people of a table with sets of items: one row each, or one row for each of their items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.errors import PlanError
from veil.masking.items.baskets import Baskets
from veil.masking.items.problem import ItemProblem
from veil.masking.items.taxonomy import ItemTaxonomy
from veil.plan.owners import number_people
from veil.published.table import Published
from veil.tables.columns import column_of, groups
from veil.tables.rows import Rows

Integers = NDArray[np.int64]


class ItemRecords(NamedTuple):
    """The people of a table: a row of each, their sets, and their classes, which an attacker knows.

    `owners` is the owner of each row, if people have several.
    """

    rows: Integers
    owners: Integers
    baskets: Baskets
    classes: Integers

    @staticmethod
    def of_rows(
        table: pa.Table, column: str, within: tuple[str, ...], separator: str, method: object
    ) -> ItemRecords:
        """Read one person from each row; rows without any value are left out."""
        rows = np.arange(table.num_rows)
        if within:
            rows = np.flatnonzero(~Published(Rows.of(table), list(within)).suppressed)
        visible = table if rows.size == table.num_rows else table.take(pa.array(rows))
        baskets = Baskets.of_column(column_of(visible, column, method), column, separator)
        return ItemRecords(rows, rows, baskets, groups(visible, within, method))

    @staticmethod
    def of_people(
        table: pa.Table, person: str, column: str, within: tuple[str, ...], method: object
    ) -> ItemRecords:
        """Read the set of each person from their rows."""
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
        return ItemRecords(rows, owners, baskets, groups(table.take(pa.array(rows)), within, method))


def problem_of(records: ItemRecords, k: int, m: int) -> tuple[ItemProblem, Integers]:
    """Return the distinct sets of each class, and the set of each person."""
    baskets = records.baskets
    width = baskets.starts.size - 1
    pairs, pair_of, counts = np.unique(
        records.classes * width + baskets.set_of, return_inverse=True, return_counts=True
    )
    classes, sets = np.divmod(pairs, max(1, width))
    lengths = np.diff(baskets.starts)[sets]
    starts = np.append(0, np.cumsum(lengths))
    place = np.arange(starts[-1]) + np.repeat(baskets.starts[:-1][sets] - starts[:-1], lengths)
    flat = ItemTaxonomy.flat(np.arange(len(baskets.items)))
    problem = ItemProblem(flat, starts, baskets.codes[place], counts.astype(np.int64), classes, k, m)
    return problem, pair_of.astype(np.int64)
