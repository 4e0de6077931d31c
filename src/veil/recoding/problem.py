"""The problem of recoding cell by cell: which label each record gets, and what that costs.

A label is one node of each hierarchy. A record may get any label above it; a label with any record needs at least
`smallest` of them. Costs are whole numbers of `UNIT`, rounded down, so that sums are exact and a bound of the rounded
problem is a bound of the true one. They come from the quality model: see `veil.recoding.costs`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from veil.base.arrays import Codes, Integers, Mask
from veil.base.exact import largest_count
from veil.classes.encoding import Levels
from veil.hierarchies import Hierarchy
from veil.plan.prepare import Prepared
from veil.recoding.costs import UNIT as UNIT
from veil.recoding.costs import costs_by


@dataclass(frozen=True, eq=False)
class CellProblem:
    """Rows with their codes, the cost of each label of each column, and the least size of a class.

    Attributes
    ----------
    codes : array of rows x columns
        Level-0 code of each cell.
    counts : array
        Number of records of each row.
    costs : tuple by column, of tuples by level, of arrays by label
        Cost of a cell, in `UNIT`s of a record, times the weight of the column (weights add up to 1).
    base : int
        What no recoding of all records costs less than, because their values cost it.
    minimum, maximum : tuple
        The least and the highest level of each column.
    smallest : int
        Number of records that every class needs at least.
    allowed : int
        Number of records that may be suppressed.
    """

    hierarchies: tuple[Hierarchy, ...]
    codes: Codes
    counts: Integers
    costs: tuple[tuple[Integers, ...], ...]
    base: int
    minimum: Levels
    maximum: Levels
    smallest: int
    allowed: int

    @staticmethod
    def of(prepared: Prepared, smallest: int) -> CellProblem:
        """Return the problem of a prepared plan; each row of the table is one of its rows."""
        hierarchies = tuple(prepared.encoding.hierarchies)
        counts = prepared.rows.weights.array
        return CellProblem(
            hierarchies,
            np.stack(prepared.codes, axis=1).astype(np.int32),
            counts,
            *costs_by(prepared.plan.quality, prepared.encoding.names, hierarchies, prepared.codes, counts),
            prepared.minimum,
            prepared.maximum,
            smallest,
            largest_count(prepared.plan.suppression_limit, prepared.rows.records),
        )

    @functools.cached_property
    def records(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    def share(self, cost: int) -> float:
        """Return a cost as a share of that of suppressing everything, both without that of the input itself."""
        return max(0.0, (cost - self.base) / max(1, UNIT * self.records - self.base))

    def cost_of(self, levels: np.ndarray, rows: np.ndarray | slice = slice(None)) -> Integers:
        """Return the cost of each of some rows, given their levels (rows x columns)."""
        codes = self.codes[rows]
        total = np.zeros(len(codes), np.int64)
        for j, (hierarchy, by_level) in enumerate(zip(self.hierarchies, self.costs, strict=True)):
            costs = np.stack([each[hierarchy.label_map(level)] for level, each in enumerate(by_level)])
            total += costs[levels[:, j], codes[:, j]]
        return total

    def total_cost(self, levels: np.ndarray, suppressed: Mask) -> int:
        """Return the cost of all records, given the levels of each row."""
        costs = self.cost_of(levels)
        costs[suppressed] = UNIT
        return int(costs @ self.counts)
