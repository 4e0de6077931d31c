"""Recoding cell by cell for k-anonymity: the search for the cheapest release, and the proof of a bound beside it.

Labels are facilities: one node of each hierarchy, a cost for each record, and no record or at least `smallest`. The
problem is a facility location problem with lower bounds, whose linear relaxation has prices as its dual.
"""

from __future__ import annotations

import functools
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
from veil.recoding.cells.labels import (
    CellLabels,
    DistinctRows,
    NodeClasses,
    cheapest_labels,
    fallbacks,
    labels_of,
    lower,
)
from veil.recoding.cells.recoding import CellRecoding, CellSolution
from veil.recoding.problem import UNIT, CellProblem

MOVES = 500
"""Moves of the local search between two looks at the clock."""

IDLE = 400
"""Moves for each record after which a search that has found nothing better ends."""

HOT, COLD = 0.03, 0.002
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
) -> CellSolution:
    """Return the best recoding after some seconds, with a bound.

    `start` is a recoding that the result is to be no worse than. `progress` receives the cost of each better
    recoding and the bound, as shares of that of suppressing everything.
    """
    return _Solver(problem, seconds, start, threads or cores(), cancel, progress, seed).run()


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
    ) -> None:
        self.problem, self.seconds, self.start, self.threads = problem, seconds, start, threads
        self.cancel, self.progress, self.seed = cancel, progress, seed
        self.began = time.perf_counter() - compiling_seconds()
        self.cpu = time.process_time() - compiling_seconds()
        self.curve: list[tuple[float, int, int | None]] = []
        self.stopped = self.converged = False
        self.prover: Prover | None = None
        self.best: tuple[int, Callable[[], CellRecoding]] | None = None

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
        problem, start = self.problem, self.start
        rows = DistinctRows.of(problem)
        further = fallbacks(rows, problem.smallest, problem.maximum)
        self._check(rows, further)
        cheapest = np.full(len(rows), 2 * UNIT if not problem.allowed else UNIT, np.int64)
        if start is not None:
            self._record(self._cost_of(start), lambda: start)
            used = labels_of(rows, start.levels, ~start.suppressed)
            for _, classes in used:
                lower(*classes, cheapest)
            further += used
        cheapest_labels(rows, problem.smallest, cheapest, self.keep)
        if not self.keep():
            cheapest[:] = 0  # they may violate a label
        self.prover = prover = Prover(problem, rows, cheapest, further, self.keep)
        if start is None or self.keep():
            labels = CellLabels.of(further) if prover.first is None else prover.first[0]
            search = LocalSearch(problem, rows, Items(problem, rows), labels, self.seed)
            search.start()
            if start is not None and self._cost_of(start) < search.total:
                search.start_at(start)
            self._accept(search)
            self._improve(search, prover)
        return self._solution(rows)

    def _improve(self, search: LocalSearch, prover: Prover) -> None:
        """Search while a proof goes on: on a thread of its own, or in turns."""
        if self.threads > 1:
            with ThreadPoolExecutor(1) as pool:
                proving = pool.submit(lambda: [None for _ in prover.pieces()])
                try:
                    self._search(search, prover, iter(()))
                except BaseException:
                    self.stopped = True
                    raise
                finally:
                    proving.result()
        else:
            pieces = prover.pieces()
            self._search(search, prover, pieces)
            for _ in pieces:
                pass

    def _search(self, search: LocalSearch, prover: Prover, pieces: Iterator[None]) -> None:
        """Search from the cheapest labels; once there are prices, anew from those that these open.

        It gets colder with time, or with moves that lead to nothing better, and ends with either.
        """
        generation, idle, most_idle = 0, 0, IDLE * len(search.pool)
        while self.keep() and idle < most_idle:
            next(pieces, None)
            if prover.generation > generation:
                search.follow(prover.prices)
                if generation == 0:
                    search.start_anew()
                generation, idle = prover.generation, 0
            share = max(min(1.0, self.elapsed / self.seconds), idle / most_idle)
            search.run(MOVES, HOT * (COLD / HOT) ** share)
            idle = 0 if self._accept(search) else idle + MOVES
        self.converged = self.keep()

    def _accept(self, search: LocalSearch) -> bool:
        total = search.total
        # Rows of many records, which do not part, may leave others without a class.
        if search.suppressed <= self.problem.allowed and (self.best is None or total < self.best[0]):
            # Spelling out a recoding takes longer than finding a better one.
            self._record(total, functools.partial(search.recoding, search.state.label.copy(), search.labels))
            return True
        return False

    def _record(self, total: int, recoding: Callable[[], CellRecoding]) -> None:
        self.best = (total, recoding)
        bound = self.prover.proof.bound if self.prover else None
        self.curve.append((time.process_time() - compiling_seconds() - self.cpu, total, bound))
        if self.progress:
            share = self.problem.share
            self.progress(share(total), None if bound is None else share(bound))

    def _check(self, rows: DistinctRows, further: list[tuple[Levels, NodeClasses]]) -> None:
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
        assert self.prover is not None
        total, recoding = self.best[0], self.best[1]()
        proof = self.prover.proof
        ending = "cancelled" if self.cancel() else "converged" if self.converged else "time limit"
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
