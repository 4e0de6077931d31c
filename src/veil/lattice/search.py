"""The base of all strategies: checking nodes on all cores, the best one so far, and limits."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from veil.base.compiled import compiling_seconds
from veil.classes.encoding import Levels
from veil.classes.table import ClassTable, keep, roll_up
from veil.lattice.cache import TableCache
from veil.lattice.evaluator import Evaluator
from veil.lattice.space import Space
from veil.quality.base import Evaluation, Score

BATCH = 8
"""Nodes evaluated in one round. Fixed, so that the explored nodes do not depend on the number of threads."""

WORTH_A_THREAD = 30_000
"""Visits of classes and their values in a round below which threads cost more than they save."""

MOST_REMEMBERED = 500_000
"""Largest number of recorded evaluations and boxes, so that a long search does not fill the memory."""

Rank = tuple[Score, int, Levels]
"""The order of nodes: score, then sum of levels, then the levels themselves."""

Ending = Literal["finished", "time limit", "check limit", "cancelled"]


class Strategy:
    """Base of all search strategies: a declaration with `run`, independent of the models."""

    time_limit: ClassVar[float] = 30.0
    """Seconds after which the search ends if the plan sets no limit."""

    def run(self, search: Search) -> None:
        """Search for the best node until done, or until the search raises `Stop`."""
        raise NotImplementedError


class Stop(Exception):
    """A limit is reached, or the caller has cancelled: unwinds a strategy, never leaves the search."""


@dataclass(frozen=True)
class Limits:
    """Limits of a search: seconds, number of checked nodes, and a callback between rounds."""

    seconds: float = math.inf
    checks: float = math.inf
    cancelled: Callable[[], bool] = lambda: False


@dataclass
class BestNode:
    """The result of a search: the best node, the explored space, and a proven bound.

    Attributes
    ----------
    proven : bool
        Whether no node of the space comes before the best one.
    bound : Score, optional
        A score that no node beats; None if there is no bound.
    curve : list
        Seconds after the start, number of checked nodes, and the best score from then on.
    ending : str
        Why the search ended.
    """

    best: Evaluation | None
    space: Space
    proven: bool = True
    bound: Score | None = None
    curve: list[tuple[float, int, Score]] = field(default_factory=list)
    ending: Ending = "finished"
    checks: int = 0
    seconds: float = 0.0


class Search:
    """One search of one space. Strategies call `check` and read `best`; all other state is here."""

    def __init__(
        self,
        evaluator: Evaluator,
        minimum: Levels,
        maximum: Levels,
        *,
        limits: Limits | None = None,
        threads: int | None = None,
        progress: Callable[[Search], None] | None = None,
        explored: Space | None = None,
        tables: TableCache | None = None,
    ) -> None:
        """Start with the evaluations of `explored`, add to them, and roll up from `tables`."""
        self.evaluator = evaluator
        self.measure = evaluator.measure
        self.space = Space(minimum, maximum, evaluator.allowed)
        self.limits = limits or Limits()
        self.threads = threads or cores()
        self.progress = progress
        self.tables = _tables_from(evaluator, minimum) if tables is None else tables
        self.best: Rank | None = None
        if explored is not None:
            self.space.evaluated = explored.evaluated
            self.best = min(self._ranks(), default=None)
        self.curve: list[tuple[float, int, Score]] = []
        self.checks = 0
        self.decided = 0
        self.proven = False
        self.bound: Score | None = None
        self.ending: Ending = "finished"
        self.started = time.perf_counter() - compiling_seconds()

    def _ranks(self) -> Iterator[Rank]:
        """Yield the ranks of all evaluated nodes of the space that keep every promise."""
        for levels, each in self.space.evaluated.items():
            if each.anonymous and each.score is not None and levels in self.space:
                yield each.score, sum(levels), levels

    def run(self, strategy: Strategy) -> BestNode:
        """Run a strategy, and return its result."""
        with ThreadPoolExecutor(self.threads) as self.pool, contextlib.suppress(Stop):
            strategy.run(self)
        best = self.best_evaluation
        if best is not None and self.bound is not None and self.bound >= self.best_score:
            self.bound = best.score
        return BestNode(
            best, self.space, self.proven, self.bound, self.curve, self.ending, self.checks, self.elapsed
        )

    @property
    def elapsed(self) -> float:
        """Seconds since the start, without compiling kernels, which would dominate on a new machine."""
        return time.perf_counter() - compiling_seconds() - self.started

    @property
    def best_score(self) -> Score:
        """Score of the best node so far; infinite if there is none."""
        return (math.inf,) if self.best is None else self.best[0]

    @property
    def best_evaluation(self) -> Evaluation | None:
        """The best node so far."""
        return None if self.best is None else self.space.evaluated[self.best[2]]

    def hopeless(self, rank: Rank) -> bool:
        """Return whether a node of that rank, or any after it, cannot come before the best one so far."""
        return self.best is not None and rank >= self.best

    def expect(self, count: int) -> int:
        """Return how many of `count` checks are allowed now: at least one, or the search stops here."""
        if self.limits.cancelled():
            self.ending = "cancelled"
        elif self.elapsed >= self.limits.seconds:
            self.ending = "time limit"
        elif self.checks >= self.limits.checks:
            self.ending = "check limit"
        else:
            return int(min(count, self.limits.checks - self.checks))
        raise Stop

    def check(self, nodes: Sequence[Levels]) -> list[Evaluation]:
        """Evaluate nodes on all cores, each once; those evaluated already cost nothing."""
        evaluated = self.space.evaluated
        fresh: dict[Levels, Evaluation] = {}
        new = [levels for levels in dict.fromkeys(nodes) if levels not in evaluated]
        while new:
            batch = new[: self.expect(min(BATCH, len(new)))]
            new = new[len(batch) :]
            jobs = [(levels, self.tables.source(levels)) for levels in batch]
            visits = [source.visits for _, source in jobs]
            for evaluation, table in self.side_by_side(self._evaluate, jobs, visits):
                fresh[evaluation.levels] = evaluation
                self.remember(evaluation)
                if table is not None:
                    self.tables.add(table)
            self.report_progress()
        return [evaluated[levels] if levels in evaluated else fresh[levels] for levels in nodes]

    def _evaluate(self, job: tuple[Levels, ClassTable]) -> tuple[Evaluation, ClassTable | None]:
        levels, source = job
        evaluation, table = self.evaluator.evaluate(levels, source, score=True)
        # A table is worth caching if rolling up from it is much cheaper than from its source.
        return evaluation, keep(table) if 3 * len(table) < 2 * len(source) else None

    def side_by_side(
        self, function: Callable[[Any], Any], jobs: Sequence[Any], visits: Sequence[int]
    ) -> Iterable[Any]:
        """Map a function over jobs, on threads if their visits are worth it; results are in order.

        The calling thread works as well, and each takes the next largest job as soon as it is free:
        submitting jobs one by one would take as long as many of them do.
        """
        if self.threads == 1 or len(jobs) == 1 or sum(visits) <= WORTH_A_THREAD:
            return map(function, jobs)
        waiting = iter(sorted(range(len(jobs)), key=lambda i: -visits[i]))
        results: list[Any] = [None] * len(jobs)

        def work() -> None:
            for i in waiting:
                results[i] = function(jobs[i])

        others = [self.pool.submit(work) for _ in range(min(self.threads, len(jobs)) - 1)]
        try:
            work()
        finally:
            for other in others:
                other.result()
        return results

    def remember(self, evaluation: Evaluation) -> None:
        """Record an evaluated node."""
        self.checks += 1
        levels, score = evaluation.levels, evaluation.score
        rank = None if score is None else (score, sum(levels), levels)
        better = evaluation.anonymous and rank is not None and (self.best is None or rank < self.best)
        if better or len(self.space.evaluated) < MOST_REMEMBERED:
            self.space.evaluated[levels] = evaluation
        if better and rank is not None:
            self.best = rank
            self.curve.append((self.elapsed, self.checks, rank[0]))

    def report_progress(self) -> None:
        """Report progress."""
        if self.progress:
            self.progress(self)


def _tables_from(evaluator: Evaluator, minimum: Levels) -> TableCache:
    finest = evaluator.table
    if finest.levels != minimum:
        finest = keep(roll_up(evaluator.encoding, finest, minimum, evaluator.work))
    return TableCache(finest)


def cores() -> int:
    """Return the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
