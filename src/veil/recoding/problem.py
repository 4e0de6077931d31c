"""The problem of recoding cell by cell: which label each record gets, and what that costs.

A label is one node of each hierarchy. A record may get any label above it; a label with any record needs at least
`smallest` of them. Costs are whole numbers of `UNIT`, rounded down, so that sums are exact and a bound of the rounded
problem is a bound of the true one.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from veil.base.arrays import Codes, Integers
from veil.base.exact import largest_count
from veil.classes.encoding import Levels
from veil.hierarchies import Hierarchy
from veil.plan.prepare import Prepared

UNIT = 2**32
"""The cost of a record without any information: of a suppressed one, for example."""


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
        Cost of a cell, in `UNIT`s of a record: the share of the other values of the domain that the label covers,
        times the weight of the column (weights add up to 1).
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
    minimum: Levels
    maximum: Levels
    smallest: int
    allowed: int

    @staticmethod
    def of(prepared: Prepared, smallest: int) -> CellProblem:
        """Return the problem of a prepared plan; each row of the table is one of its rows."""
        hierarchies = tuple(prepared.encoding.hierarchies)
        given = getattr(prepared.plan.quality, "weights", {})
        weights = [Fraction(given.get(name, 0.5)) for name in prepared.encoding.names]
        total = sum(weights)
        return CellProblem(
            hierarchies,
            np.stack(prepared.codes, axis=1).astype(np.int32),
            prepared.rows.weights.array,
            tuple(
                cell_costs(hierarchy, weight / total if total else Fraction(1, len(weights)))
                for hierarchy, weight in zip(hierarchies, weights, strict=True)
            ),
            prepared.minimum,
            prepared.maximum,
            smallest,
            largest_count(prepared.plan.suppression_limit, prepared.rows.records),
        )

    @functools.cached_property
    def records(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    def cost_of(self, levels: np.ndarray, rows: np.ndarray | slice = slice(None)) -> Integers:
        """Return the cost of each of some rows, given their levels (rows x columns)."""
        codes = self.codes[rows]
        total = np.zeros(len(codes), np.int64)
        for j, (hierarchy, by_level) in enumerate(zip(self.hierarchies, self.costs, strict=True)):
            costs = np.stack([each[hierarchy.label_map(level)] for level, each in enumerate(by_level)])
            total += costs[levels[:, j], codes[:, j]]
        return total


def cell_costs(hierarchy: Hierarchy, weight: Fraction) -> tuple[Integers, ...]:
    """Return the cost of each label of each level, in `UNIT`s times the weight of the column, rounded down.

    >>> from veil.hierarchies import Hierarchy
    >>> [costs.tolist() for costs in cell_costs(Hierarchy.from_rows([["f", "*"], ["m", "*"]]), Fraction(1))]
    [[0, 0], [4294967296]]
    """
    size = Fraction(hierarchy.domain_size)
    if size <= 1:
        return tuple(np.zeros(len(shares), np.int64) for shares in hierarchy.shares)
    lowest = 1 / size
    return tuple(
        np.array(
            [
                int(
                    min(max((_exact(share, size) - lowest) / (1 - lowest), Fraction(0)), Fraction(1))
                    * weight
                    * UNIT
                )
                for share in shares.tolist()
            ],
            np.int64,
        )
        for shares in hierarchy.shares
    )


def _exact(share: float, size: Fraction) -> Fraction:
    """Return a share as the count of values that it stands for, if there is one; shares are quotients in floats."""
    exact = Fraction(round(share * size)) / size
    return exact if float(exact) == share else Fraction(share)
