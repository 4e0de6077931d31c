"""Subtree recoding of a prepared plan.

Each column gets a cut of its hierarchy: one label for each value, on any level, with which all values below that
label are released. Records whose class breaks a model are suppressed, up to the limit of the plan. Costs add up over
cells, as the quality model says (`veil.recoding.costs`).

The search starts from the full-domain optimum for the same quality model, and never returns a dearer cut.
"""

from __future__ import annotations

import functools
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes
from veil.base.compiled import compiling_seconds
from veil.base.progress import Progress, ProgressLike, following
from veil.classes import kernels as class_kernels
from veil.errors import NoSolutionError
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Ending, Limits, Search, cores
from veil.models.base import PrivacyModel
from veil.plan.prepare import Prepared
from veil.recoding.costs import of_cells
from veil.recoding.subtree import kernels
from veil.recoding.subtree.annealing import Annealing
from veil.recoding.subtree.branch_and_bound import CutSearch
from veil.recoding.subtree.forest import Cut, CutForest, forest_of
from veil.recoding.subtree.judge import CutJudge

SHARE = 0.5
"""Largest share of the time for each search of a full-domain optimum, which hardly ever needs it."""

EXACT = 0.1
"""Share of the time for the exact search where records may be suppressed; of that for annealing where not."""


@dataclass(frozen=True, eq=False)
class SubtreeSolution:
    """A subtree recoding of the rows of a plan.

    Attributes
    ----------
    levels : array of rows x columns
        Level of each cell.
    suppressed : array by row
        Which rows are suppressed.
    cuts : tuple by column, of arrays
        Level of each domain value.
    cost : int
        In `UNIT`s of a record.
    bound : int, optional
        What no subtree recoding costs less than.
    proven : bool
        Whether there is no better one.
    ending : str
        Why the search ended.
    curve : list
        Seconds after the start, cost and bound from then on.
    """

    levels: NDArray[np.uint8]
    suppressed: NDArray[np.bool_]
    cuts: tuple[Codes, ...]
    cost: int
    bound: int | None
    proven: bool
    ending: str
    curve: list[tuple[float, int, int | None]]


def recode_subtree(
    prepared: Prepared,
    models: Sequence[PrivacyModel],
    *,
    seconds: float,
    threads: int | None = None,
    cancel: Callable[[], bool] = lambda: False,
    progress: ProgressLike | Progress = None,
    seed: int = 0,
) -> SubtreeSolution:
    """Return the cheapest subtree recoding that the search finds within the time."""
    with following(progress) as tracker:
        search = _Search(prepared, models, seconds, cancel, tracker)
        tracker.phase("searching for the best transformation of all records alike")
        search.full_domain(threads)
        tracker.phase("searching for the best label of each value")
        if not search.prove():
            search.improve(threads or cores(), seed)
        return search.solution()


@dataclass
class _Search:
    """The best cut so far."""

    prepared: Prepared
    models: Sequence[PrivacyModel]
    seconds: float
    cancel: Callable[[], bool]
    progress: Progress
    best: tuple[Codes, ...] | None = None
    cost: int = 0
    bound: int | None = None
    proven: bool = False
    ending: Ending = "time limit"
    curve: list[tuple[float, int, int | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.started = time.perf_counter() - compiling_seconds()
        prepared = self.prepared
        self.judge = CutJudge(prepared, self.models)
        self.forest: CutForest = forest_of(
            self.judge.hierarchies, self.judge.costs, prepared.codes, prepared.minimum, prepared.maximum
        )
        self.starts: list[Cut] = []

    @property
    def elapsed(self) -> float:
        """Seconds since the start, without compiling kernels."""
        return time.perf_counter() - compiling_seconds() - self.started

    def over(self) -> bool:
        """Return whether the search should end."""
        return self.cancel() or self.elapsed >= self.seconds

    def consider(self, levels: tuple[Codes, ...]) -> bool:
        """Judge a cut, and return whether it is allowed and the best so far."""
        verdict = self.judge.verdict(levels)
        if not verdict.allowed or (self.best is not None and verdict.cost >= self.cost):
            return False
        self.best, self.cost = levels, verdict.cost
        self.bound = None if self.bound is None else min(self.bound, self.cost)
        self.curve.append((self.elapsed, self.cost, self.bound))
        share, done = self.judge.problem.share(self.cost), self.elapsed / self.seconds
        self.progress.better(share, None)
        self.progress.advance(min(1000, round(1000 * done)), 1000, f"score {share:.6g}")
        return True

    def full_domain(self, threads: int | None) -> None:
        """Start from the best nodes of the lattice, with the suppression of the plan and without any."""
        prepared, plan = self.prepared, self.prepared.plan
        quality = of_cells(plan.quality)
        for limit in dict.fromkeys((plan.suppression_limit, 0.0)):
            evaluator = Evaluator(prepared.sample, self.models, quality, limit)
            limits = Limits(self.seconds * SHARE, plan.check_limit or math.inf, self.cancel)
            search = Search(evaluator, prepared.minimum, prepared.maximum, limits=limits, threads=threads)
            if (node := search.run(plan.strategy).best) is None:
                continue
            pairs = zip(self.judge.hierarchies, node.levels, strict=True)
            self.consider(tuple(np.full(hierarchy.size, level, np.int32) for hierarchy, level in pairs))
            self.starts.append(self.forest.at(node.levels))
        self.starts += [self.forest.top(), self.forest.at(prepared.minimum)]
        for cut in self.starts:
            self.consider(self.forest.levels(cut))

    def prove(self) -> bool:
        """Search all cuts for a part of the time, and return whether that was enough.

        With suppression, few tables are small enough.
        """
        share = EXACT if self.judge.evaluator.allowed else 1 - EXACT
        end = self.elapsed + share * (self.seconds - self.elapsed)
        exact = CutSearch(self.forest, self.rows, self.judge, self._report)
        finished = exact.run(
            lambda: sys.maxsize if self.best is None else self.cost,
            lambda: self.over() or self.elapsed >= end,
        )
        if self.best is not None and not self.forest.ambiguous:
            self.proven, self.bound = finished, exact.bound(self.cost)
            self.curve.append((self.elapsed, self.cost, self.bound))
        if finished:
            self.ending = "finished"
        return finished

    def improve(self, threads: int, seed: int) -> None:
        """Anneal until the time is over."""
        annealing = Annealing(self.forest, self.rows, self.judge, self.starts, self._report, self.over, seed)
        if annealing.run(threads):
            self.ending = "finished"

    def _report(self, cut: Cut) -> bool:
        return self.consider(self.forest.levels(cut))

    @functools.cached_property
    def rows(self) -> kernels.CutRows:
        """Return the distinct rows of the sample."""
        table, encoding = self.prepared.sample.table, self.prepared.encoding
        places = np.empty((len(table), len(encoding.names)), np.int32)
        codes = np.empty(len(table), np.int32)
        for j, (word, shift, mask) in enumerate(encoding.layout.tolist()):
            class_kernels.unpack(table.keys[word], shift, mask, codes)
            places[:, j] = self.forest.places[j][codes]
        return kernels.rows_of(self.forest, table.count, places)

    def solution(self) -> SubtreeSolution:
        """Return the best cut as levels of rows; raise if there is none."""
        if self.best is None:
            raise NoSolutionError(
                "no subtree recoding was found that fulfils the plan. Give the search more time, raise "
                "`suppression_limit`, or ask for less"
            )
        columns = zip(self.best, self.prepared.codes, strict=True)
        return SubtreeSolution(
            np.stack([levels[codes] for levels, codes in columns], axis=1).astype(np.uint8),
            self.judge.suppressed_rows(self.best),
            self.best,
            self.cost,
            self.bound,
            self.proven,
            "cancelled" if self.cancel() else self.ending,
            self.curve,
        )
