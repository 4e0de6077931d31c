"""The local search of a problem: its items, and what it has reached."""

from __future__ import annotations

import numpy as np

from veil.base.arrays import Codes, Floats, Integers, Mask
from veil.base.distinct import distinct_rows
from veil.recoding.cells.labels import CellLabels, DistinctRows, gather
from veil.recoding.cells.prices import exact_slacks
from veil.recoding.cells.recoding import CellRecoding
from veil.recoding.cells.ruin_and_recreate import (
    COARSE,
    SLACK,
    TOLERANCES,
    Guide,
    Ruin,
    recreate,
    ruin_and_recreate,
)
from veil.recoding.cells.search import (
    Field,
    LabelState,
    MoveScratch,
    anneal,
    place,
    place_rest,
    start_ascending,
    transpose,
)
from veil.recoding.problem import UNIT, CellProblem

MOST = 100
"""Most items of a neighbourhood."""

MOVES_PER_RUIN = 25
"""Moves of single labels for each neighbourhood that is made anew."""

HELPERS = 50
"""Most records of a distinct row that may help other rows, in classes of least size."""


class Items:
    """What a search moves: the rows of the problem, but for those of distinct rows with plenty of records.

    Of a distinct row with at least twice `smallest` records, as many as make one class stay where they are, on the
    minimum levels, and some of the others may move to help other rows. With `every`, all rows move.
    """

    def __init__(self, problem: CellProblem, rows: DistinctRows, *, every: bool = False) -> None:
        smallest = problem.smallest
        order = np.lexsort((problem.counts, rows.of_row))
        owner = rows.of_row[order]
        counts = problem.counts[order]
        running = np.cumsum(counts)
        first = np.searchsorted(owner, np.arange(len(rows)))
        before = running - counts - (running - counts)[first[owner]] if len(owner) else running
        left = rows.records[owner] - before - counts
        self.plenty = (rows.records >= 2 * smallest) & (not every)
        mobile = ~self.plenty[owner] | ((before < HELPERS * smallest) & (left >= smallest))
        self.origin: Integers = order[mobile]
        self.row: Codes = owner[mobile].astype(np.int32)
        self.weights: Integers = counts[mobile].astype(np.int64)
        self.starts = np.searchsorted(self.row, np.arange(len(rows) + 1)).astype(np.int64)
        self.fixed = rows.records - np.bincount(self.row, weights=self.weights, minlength=len(rows)).astype(
            np.int64
        )


class LocalSearch:
    """A recoding that gets better: `labels` are those that it may use, and `tops` the maximum label of each row."""

    def __init__(
        self, problem: CellProblem, rows: DistinctRows, items: Items, labels: CellLabels, seed: int
    ) -> None:
        self.problem, self.rows, self.items = problem, rows, items
        self.random = np.array([(seed * 0x9E3779B97F4A7C15 + 88172645463325252) % 2**63 | 1], np.uint64)
        self.tally = np.zeros(4, np.int64)
        self.pool = np.flatnonzero(rows.records[items.row] < problem.smallest).astype(np.int32)
        self._lay_out(labels)
        size = min(MOST, len(items.row))
        self.near = Ruin(
            np.empty(size, np.int32),
            np.empty(size, np.int32),
            np.zeros(len(items.row), np.bool_),
            np.full(len(labels.costs), -1, np.int32),
        )
        self.guide: Guide | None = None
        self._clear()

    def _lay_out(self, labels: CellLabels) -> None:
        self.labels = labels
        items = self.items
        fixed = np.zeros(len(labels.costs) + 1, np.int64)
        single = np.flatnonzero(
            (labels.nodes[labels.node] == self.rows.minimum).all(axis=1) & (np.diff(labels.starts) == 1)
        )
        alone, first = np.unique(labels.rows[labels.starts[single]], return_index=True)
        fixed[single[first]] = items.fixed[alone]
        home = np.full(len(self.rows), -1, np.int32)
        home[alone] = np.where(items.plenty[alone], single[first], -1)
        self.field = Field(
            np.append(labels.costs / UNIT, 1.0),
            labels.starts,
            labels.rows,
            *transpose(labels.starts, labels.rows, len(self.rows)),
            items.starts,
            items.row,
            items.weights,
            fixed,
            home,
        )
        entries = len(items.row)
        self.scratch = MoveScratch(
            np.empty(4 * entries + 8, np.int32),
            np.empty(4 * entries + 8, np.int32),
            np.zeros(len(fixed), np.int64),
            np.empty(len(fixed), np.int32),
            np.empty(4 * self.problem.smallest + 16, np.int32),
            np.empty(4 * self.problem.smallest + 16, np.float64),
        )
        self.tops = np.full(len(self.rows), -1, np.int32)
        for f in np.flatnonzero((labels.nodes[labels.node] == self.problem.maximum).all(axis=1)):
            self.tops[labels.rows[labels.starts[f] : labels.starts[f + 1]]] = f

    def _clear(self) -> None:
        """Take all items out of their labels."""
        free = np.full(len(self.items.row), -1, np.int32)
        self.state = LabelState(
            free,
            self.field.fixed.copy(),
            np.full(len(self.field.costs), -1, np.int32),
            free.copy(),
            free.copy(),
        )

    def start(self) -> None:
        """Open the cheapest labels that enough records are left for."""
        order = np.arange(len(self.labels.costs), dtype=np.int32)
        start_ascending(self.field, self.state, order, self.problem.smallest)
        self._place_rest()

    def _place_rest(self) -> None:
        place_rest(
            self.field, self.state, self.scratch, self.tops, self.problem.smallest, self.problem.allowed
        )

    def start_at(self, recoding: CellRecoding) -> None:
        """Start with the labels of a recoding; items that stay where they are may leave too few for one of them."""
        labels, items = self.labels, self.items
        levels = recoding.levels[items.origin]
        target = np.full(len(items.row), -1, np.int32)
        one_of, node = distinct_rows(levels.T, len(levels))
        for number, vector in enumerate(levels[one_of]):
            here = np.flatnonzero((labels.nodes == vector).all(axis=1)[labels.node])
            above = np.full(len(self.rows), -1, np.int32)
            above[gather(here, labels.starts, labels.rows)] = np.repeat(here, np.diff(labels.starts)[here])
            some = np.flatnonzero(node == number)
            target[some] = above[items.row[some]]
        home = self.field.home[items.row]
        target = np.where((home >= 0) & (levels == self.problem.minimum).all(axis=1), home, target)
        target[recoding.suppressed[items.origin]] = len(labels.costs)
        size = self.field.fixed.copy()
        np.add.at(size, target[target >= 0], items.weights[target >= 0])
        few = size < self.problem.smallest
        few[-1] = False
        target[few[target]] = -1
        self._clear()
        place(self.field, self.state, target.astype(np.int32))
        self._place_rest()

    def follow(self, prices: Floats) -> None:
        """Go on by the prices of rows: they say which labels are worth opening, and for which records."""
        labels = self.labels
        slack = np.empty(len(labels.costs))
        exact_slacks(
            prices, labels.starts, labels.rows, labels.costs / UNIT, self.rows.records,
            self.problem.smallest, slack,
        )  # fmt: skip
        near = np.flatnonzero(slack <= SLACK)
        starts = np.append(0, np.cumsum(np.diff(labels.starts)[near]))
        row_starts, above = transpose(starts, gather(near, labels.starts, labels.rows), len(self.rows))
        self.guide = Guide(prices, slack, row_starts, near[above].astype(np.int32))

    def start_anew(self) -> None:
        """Start again, with the labels that the guide opens."""
        assert self.guide is not None
        self._clear()
        items = np.arange(len(self.items.row), dtype=np.int32)
        recreate(
            self.field, self.state, self.guide, items, self.near.numbers, self.random, 0.0,
            np.array(TOLERANCES), self.problem.smallest,
        )  # fmt: skip
        self.start()

    def run(self, moves: int, temperature: float) -> None:
        """Try some moves."""
        anneal(
            self.field, self.state, self.scratch, self.pool, self.random, moves, temperature,
            self.problem.smallest, self.problem.allowed, self.tally,
        )  # fmt: skip
        if self.guide is not None:
            ruin_and_recreate(
                self.field, self.state, self.guide, self.near, self.pool, self.random, np.array(COARSE),
                moves // MOVES_PER_RUIN, temperature, self.problem.smallest, self.problem.allowed,
            )  # fmt: skip

    @property
    def costs(self) -> Integers:
        """Cost of a record of each label, suppression at last."""
        return np.append(self.labels.costs, UNIT)

    @property
    def total(self) -> int:
        """Cost of the recoding."""
        return int(self.costs @ self.state.size)

    @property
    def suppressed(self) -> int:
        """Number of suppressed records."""
        return int(self.state.size[-1])

    def recoding(self, label: Codes, labels: CellLabels) -> CellRecoding:
        """Return the recoding that gives each item one of some labels."""
        problem = self.problem
        levels = np.tile(np.array(problem.minimum, np.uint8), (len(problem.codes), 1))
        suppressed: Mask = np.zeros(len(problem.codes), np.bool_)
        gone = label == len(labels.costs)
        suppressed[self.items.origin[gone]] = True
        levels[self.items.origin[~gone]] = labels.nodes[labels.node[label[~gone]]]
        return CellRecoding(levels, suppressed)
