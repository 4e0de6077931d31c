"""Recoding cell by cell for k-anonymity: the search for the cheapest release, and the proof of a bound beside it.

Labels are facilities: one node of each hierarchy, a cost for each record, and no record or at least `smallest`. The
problem is a facility location problem with lower bounds, whose linear relaxation has prices as its dual.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from veil.base.compiled import compiling_seconds
from veil.base.wording import plural
from veil.classes.encoding import Levels
from veil.errors import ImpossibleError
from veil.lattice.search import cores
from veil.recoding.cells.bound import Prover
from veil.recoding.cells.improve import Items, LocalSearch
from veil.recoding.cells.labels import Classes, DistinctRows, Labels, cheapest_labels, fallbacks, walk
from veil.recoding.cells.recoding import CellRecoding, CellSolution
from veil.recoding.problem import UNIT, CellProblem

MOVES = 2_000
"""Moves of the local search between two looks at the clock."""
HOT, COLD = 0.15, 0.01
"""Temperatures of the search at its start and its end, as shares of the cost of a suppressed record."""


def solve(
    problem: CellProblem,
    *,
    seconds: float,
    start: CellRecoding | None = None,
    threads: int | None = None,
    cancel: Callable[[], bool] = lambda: False,
    progress: Callable[[float, float | None], None] | None = None,
    seed: int = 0,
    bound: bool = True,
) -> CellSolution:
    """Return the best recoding after some seconds, with a bound.

    `start` is a recoding that the result is to be no worse than. `progress` receives the loss of each better
    recoding and the bound, as shares of the cost of suppressing everything.
    """
    return _Solver(problem, seconds, start, threads or cores(), cancel, progress, seed, bound).run()


class _Solver:
    """One run."""

    def __init__(
        self,
        problem: CellProblem,
        seconds: float,
        start: CellRecoding | None,
        threads: int,
        cancel: Callable[[], bool],
        progress: Callable[[float, float | None], None] | None,
        seed: int,
        bound: bool,
    ) -> None:
        self.problem, self.seconds, self.start, self.threads = problem, seconds, start, threads
        self.cancel, self.progress, self.seed, self.wants_bound = cancel, progress, seed, bound
        self.began = time.perf_counter() - compiling_seconds()
        self.cpu = time.process_time() - compiling_seconds()
        self.curve: list[tuple[float, int, int | None]] = []
        self.stopped = False
        self.prover: Prover | None = None
        self.best: tuple[int, CellRecoding] | None = None

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - compiling_seconds() - self.began

    def keep(self) -> bool:
        """Whether to go on."""
        return not (self.stopped or self.proven or self.cancel()) and self.elapsed < self.seconds

    @property
    def proven(self) -> bool:
        """Whether no recoding costs less than the best so far."""
        return self.prover is not None and self.best is not None and self.prover.proof.bound == self.best[0]

    def run(self) -> CellSolution:
        problem = self.problem
        rows = DistinctRows.of(problem)
        further = fallbacks(rows, problem.smallest, problem.maximum)
        self._check(rows, further)
        cheapest = np.full(len(rows), 2 * UNIT if not problem.allowed else UNIT, np.int64)
        cheapest_labels(rows, problem.smallest, cheapest, lambda: not self.cancel())
        if self.cancel():
            cheapest[:] = 0  # labels that were not visited may be violated
        if self.start is not None:
            further += _classes_of(problem, rows, self.start)
        caps = cheapest + cheapest // 2 + (cheapest > 0) * (UNIT // 200)
        found = list(walk(rows, problem.smallest, caps, lambda: not self.cancel()))
        items = Items(problem, rows)
        search = LocalSearch(problem, rows, items, Labels.of([*found, *further]), self.seed)
        search.start()
        if self.start is not None:
            self._record(self._cost_of(self.start), self.start)
        self._accept(search)
        if self.wants_bound:
            self.prover = Prover(problem, rows, cheapest, further, self.keep)
            self._improve(search, self.prover.pieces())
        else:
            self._improve(search, iter(()))
        return self._solution(rows)

    def _improve(self, search: LocalSearch, pieces: Iterator[None]) -> None:
        """Search while a proof goes on: on a thread of its own, or in turns."""
        if self.threads > 1:
            with ThreadPoolExecutor(1) as pool:
                proving = pool.submit(lambda: [None for _ in pieces])
                try:
                    self._search(search, iter(()))
                    self.stopped = True
                finally:
                    self.stopped = True
                    proving.result()
        else:
            self._search(search, pieces)

    def _search(self, search: LocalSearch, pieces: Iterator[None]) -> None:
        while self.keep() and len(search.pool):
            next(pieces, None)
            share = min(1.0, self.elapsed / self.seconds)
            search.run(MOVES, HOT * (COLD / HOT) ** share)
            self._accept(search)

    def _accept(self, search: LocalSearch) -> None:
        total = search.total
        # Rows of many records, which do not part, may leave others without a class.
        if search.suppressed <= self.problem.allowed and (self.best is None or total < self.best[0]):
            self._record(total, search.recoding(search.state.label))

    def _record(self, total: int, recoding: CellRecoding) -> None:
        if self.best is not None and total >= self.best[0]:
            return
        self.best = (total, recoding)
        bound = self.prover.proof.bound if self.prover else None
        self.curve.append((time.process_time() - compiling_seconds() - self.cpu, total, bound))
        if self.progress:
            whole = UNIT * self.problem.records
            self.progress(total / whole, None if bound is None else bound / whole)

    def _check(self, rows: DistinctRows, further: list[tuple[Levels, Classes]]) -> None:
        """Refuse a problem in which more records have no label at all than may be suppressed."""
        placeable = np.zeros(len(rows), np.bool_)
        for _, classes in further:
            placeable[classes.rows] = True
        stuck = int(rows.records[~placeable].sum())
        if stuck > self.problem.allowed:
            raise ImpossibleError(
                f"{plural(stuck, 'record')} cannot be in a class of {self.problem.smallest} on any levels that are "
                f"allowed, and {self.problem.allowed:,} may be suppressed: raise the suppression limit or the "
                "maximum levels"
            )

    def _cost_of(self, recoding: CellRecoding) -> int:
        costs = self.problem.cost_of(recoding.levels)
        costs[recoding.suppressed] = UNIT
        return int(costs @ self.problem.counts)

    def _solution(self, rows: DistinctRows) -> CellSolution:
        assert self.best is not None
        total, recoding = self.best
        ending = "cancelled" if self.cancel() else "time limit"
        if self.prover is None:
            return CellSolution(recoding, total, None, 0, None, ending, self.curve)
        proof = self.prover.proof
        if self.proven:
            ending = "finished"
        self.curve.append((time.process_time() - compiling_seconds() - self.cpu, total, proof.bound))
        return CellSolution(
            recoding,
            total,
            proof.prices[rows.of_row],
            proof.suppression_price,
            proof.bound,
            ending,
            self.curve,
        )


def _classes_of(
    problem: CellProblem, rows: DistinctRows, recoding: CellRecoding
) -> list[tuple[Levels, Classes]]:
    """Return the labels of a recoding, each with the rows that have it."""
    result: list[tuple[Levels, Classes]] = []
    shown = np.flatnonzero(~recoding.suppressed)
    nodes, node = np.unique(recoding.levels[shown], axis=0, return_inverse=True)
    costs = problem.cost_of(recoding.levels)
    for number, levels in enumerate(nodes):
        members = shown[node.ravel() == number]
        labels = np.stack(
            [
                h.label_map(int(levels[j]))[problem.codes[members, j]]
                for j, h in enumerate(problem.hierarchies)
            ]
        )
        order = np.lexsort(labels)
        new = np.append(True, (labels[:, order[1:]] != labels[:, order[:-1]]).any(axis=0))
        pairs = np.unique(np.stack([np.cumsum(new) - 1, rows.of_row[members[order]]]), axis=1)
        starts = np.searchsorted(pairs[0], np.arange(int(new.sum()) + 1)).astype(np.int64)
        result.append(
            (
                tuple(int(level) for level in levels),
                Classes(pairs[1].astype(np.int32), starts, costs[members[order[new]]]),
            )
        )
    return result
