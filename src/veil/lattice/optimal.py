"""Optimal search: best-first branch and bound over boxes of the lattice.

A box is the set of all nodes between a low and a high corner. Two facts hold for each of its nodes:

* It generalizes at least as much as the low corner, so it loses at least what that generalization costs.
* It suppresses at least the records that the high corner must suppress under the models that are monotone
  under suppression (a part of a rejected class is rejected); at least what no part of a class can keep under
  models that hold for a union if they hold for its parts; and at least one record if such a model fails at the
  high corner.

The quality model turns both into a score that no node of the box can beat. A box that cannot contain a
better node than the best one found so far, or that must suppress more than allowed, is dropped whole.
Otherwise it is cut in two along one attribute: the lower half gets a new high corner, the upper half a new low
corner, and both are evaluated from the class table of the old low corner (the new low corner only if the search
comes back to its box). The box with the least bound is always cut first, so that no box is cut that any search
with these bounds could have spared.

With a monotone model and no suppression this is what Flash does with paths: the high corner's failure
excludes everything below it, the low corner's success excludes everything above it.
"""

from __future__ import annotations

import heapq
import math
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.classes.encoding import Levels
from veil.classes.table import ClassTable, keep, roll_up
from veil.lattice.evaluator import Evaluator
from veil.lattice.space import Box, Space
from veil.quality.base import Evaluation, Score

BATCH = 8
"""Boxes cut in one round. Fixed, so that what is explored does not depend on the number of threads."""

WORTH_A_THREAD = 20_000
"""Class visits in a round below which threads cost more than they save."""

TABLE_MEMORY = 400 * 2**20
"""Bytes of class tables kept for later; what is dropped is derived again from the bottom node."""

Rank = tuple[Score, int, Levels]
"""The order of nodes: score, then sum of levels, then the levels themselves."""

Progress = Callable[[int, int, Score | None], None]
"""Called with the number of evaluated nodes, the nodes decided so far, and the best score so far."""


class _Box(NamedTuple):
    """A box that may still hold the optimum; ordered by the best rank that any of its nodes can have.

    `origin` is the low corner that this box's low corner is yet to be evaluated from; None once it has been.
    """

    rank: Rank
    high: Levels
    room: int
    origin: Levels | None

    @property
    def low(self) -> Levels:
        return self.rank[2]


@dataclass
class Found:
    """What a search returns: the best node, the explored space, and how good the best node provably is."""

    best: Evaluation | None
    space: Space
    bound: Score | None
    curve: list[tuple[float, Score]] = field(default_factory=list)

    @property
    def proven(self) -> bool:
        """Whether no node of the space is better."""
        return self.bound is None


def optimal(
    evaluator: Evaluator,
    minimum: Levels,
    maximum: Levels,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Found:
    """Find the best anonymous node between two nodes, or prove that there is none."""
    return _Search(evaluator, minimum, maximum, progress).run(threads or _cores())


class _Search:
    def __init__(
        self, evaluator: Evaluator, minimum: Levels, maximum: Levels, progress: Progress | None
    ) -> None:
        self.evaluator = evaluator
        self.measure = evaluator.measure
        self.space = Space(minimum, maximum, evaluator.allowed)
        self.tables = _Tables(evaluator, minimum)
        self.progress = progress
        self.started = time.perf_counter()
        self.best: Rank | None = None
        self.curve: list[tuple[float, Score]] = []
        self.heap: list[_Box] = []
        self.decided = 0
        # How much an attribute tells on each level. Measured: where classes may be suppressed, bounds that count
        # them like boxes cut by entropy best; all others like them cut by number of values.
        by_entropy = self.measure.counts_classes and evaluator.allowed > 0
        tells = _entropy if by_entropy else _log_distinct
        self.spreads = [[tells(level) for level in levels] for levels in evaluator.sample.frequencies]

    def run(self, threads: int) -> Found:
        low, high = self.space.minimum, self.space.maximum
        top, room = self._evaluate_high(high, self.tables[low])
        self._remember(top)
        if low != high:
            self._remember(self.evaluator.evaluate(low, self.tables[low])[0])
        self._open(low, high, room, None)
        with ThreadPoolExecutor(threads) as pool:
            while self.heap:
                batch = self._next_boxes()
                work = sum(self.tables.size(box.origin or box.low) for box in batch)
                side_by_side = threads > 1 and len(batch) > 1 and work > WORTH_A_THREAD
                run = pool.map if side_by_side else map
                for box, result in zip(batch, list(run(self._look, batch)), strict=True):
                    self._take(box, *result)
                if self.progress:
                    self.progress(len(self.space.evaluated), self.decided, self.best and self.best[0])
        best = self.space.evaluated[self.best[2]] if self.best else None
        return Found(best, self.space, None, self.curve)

    def _next_boxes(self) -> list[_Box]:
        batch: list[_Box] = []
        while self.heap and len(batch) < BATCH:
            box = heapq.heappop(self.heap)
            if self._hopeless(box.rank):
                self._rule_out(box.low, box.high, box.rank[0])
            else:
                batch.append(box)
        return batch

    # One round: look into boxes (on any thread, changing nothing shared), then take in what was seen (in order).

    def _look(self, box: _Box) -> tuple[Evaluation, int, ClassTable | None]:
        """Evaluate the low corner of a box if that is still to be done, else the high corner of its lower half."""
        if box.origin is None:
            new_high, _ = self._cut(box)
            if new_high == box.low:
                return self.space.evaluated[new_high], box.room, None
            return (*self._evaluate_high(new_high, self.tables[box.low]), None)
        source = self.tables[box.origin]
        evaluation = self.space.evaluated.get(box.low)
        if evaluation is None:
            evaluation, scratch = self.evaluator.evaluate(box.low, source)
        else:
            scratch = roll_up(self.evaluator.encoding, source, box.low, self.evaluator.work)
        table = keep(scratch)
        room = box.room
        if self.measure.counts_classes and box.low != box.high:
            above = roll_up(self.evaluator.encoding, table, box.high, self.evaluator.work, groups=True)
            room = self.evaluator.room(table, len(above))
        return evaluation, room, table

    def _take(self, box: _Box, evaluation: Evaluation, room: int, table: ClassTable | None) -> None:
        self._remember(evaluation)
        room = min(room, box.room)
        if table is not None:
            self.tables.add(table)
            self._open(box.low, box.high, room, None)
        else:
            new_high, new_low = self._cut(box)
            self._open(box.low, new_high, room, None)
            self._open(new_low, box.high, box.room, box.low)

    def _cut(self, box: _Box) -> tuple[Levels, Levels]:
        """Return the high corner of the lower half and the low corner of the upper half."""
        low, high = box.low, box.high
        attribute, level = self._where(low, high)
        new_high = (*high[:attribute], level, *high[attribute + 1 :])
        new_low = (*low[:attribute], level + 1, *low[attribute + 1 :])
        return new_high, new_low

    def _evaluate_high(self, levels: Levels, source: ClassTable) -> tuple[Evaluation, int]:
        """Evaluate a high corner and bound the classes that nodes between it and the source can keep."""
        evaluation, table = self.evaluator.evaluate(levels, source, high=True)
        if not self.measure.counts_classes:
            return evaluation, 0
        return evaluation, self.evaluator.room(source, len(table))

    def _remember(self, evaluation: Evaluation) -> None:
        known = self.space.evaluated.get(evaluation.levels)
        if known is not None and known.least >= evaluation.least:
            return  # Evaluated before, as a high corner: with more effort.
        self.space.evaluated[evaluation.levels] = evaluation
        if evaluation.score is None:
            return
        rank = (evaluation.score, sum(evaluation.levels), evaluation.levels)
        if evaluation.anonymous and (self.best is None or rank < self.best):
            self.best = rank
            self.curve.append((time.perf_counter() - self.started, evaluation.score))

    def _open(self, low: Levels, high: Levels, room: int, origin: Levels | None) -> None:
        # Exactly one box has this high corner, and its low corner only rises: what was found out when the
        # high corner was evaluated from a lower one still holds.
        least, possible = self.space.evaluated[high].least, self.space.evaluated[high].possible
        bound = self.measure.bound(low, least, room)
        corner = self.space.evaluated.get(low)
        if corner is not None:
            bound = max(bound, corner.base)
        rank = (bound, sum(low), low)
        done = low == high and corner is not None
        if done or not possible or least > self.evaluator.allowed or self._hopeless(rank):
            self._rule_out(low, high, bound)
        else:
            heapq.heappush(self.heap, _Box(rank, high, room, origin))

    def _hopeless(self, rank: Rank) -> bool:
        """Whether no node of a box can come before the best one so far: not even a tie would be won."""
        return self.best is not None and rank >= self.best

    def _rule_out(self, low: Levels, high: Levels, bound: Score) -> None:
        self.decided += math.prod(b - a + 1 for a, b in zip(low, high, strict=True))
        if low != high or low not in self.space.evaluated:
            corner = self.space.evaluated[high]
            self.space.ruled_out.append(Box(low, high, bound, corner.least, corner.possible))

    def _where(self, low: Levels, high: Levels) -> tuple[int, int]:
        """Choose the attribute that tells most less at the high corner than at the low one; cut in the middle."""
        widths = [
            spread[a] - spread[b] if a < b else -1.0
            for spread, a, b in zip(self.spreads, low, high, strict=True)
        ]
        attribute = max(range(len(widths)), key=widths.__getitem__)
        spread = self.spreads[attribute]
        middle = (spread[low[attribute]] + spread[high[attribute]]) / 2
        level = low[attribute]
        while level + 1 < high[attribute] and spread[level + 1] > middle:
            level += 1
        return attribute, level


def _cores() -> int:
    """Number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _log_distinct(frequencies: NDArray[np.int64]) -> float:
    return math.log(max(1, int(np.count_nonzero(frequencies))))


def _entropy(frequencies: NDArray[np.int64]) -> float:
    shares = frequencies[frequencies > 0] / frequencies.sum()
    return float(-np.sum(shares * np.log(shares)))


class _Tables:
    """Class tables of low corners; the newest are kept."""

    def __init__(self, evaluator: Evaluator, bottom: Levels) -> None:
        self.evaluator = evaluator
        self.tables: OrderedDict[Levels, ClassTable] = OrderedDict()
        self.bytes = 0
        self.bottom = self._derive(evaluator.sample.table, bottom)

    def _derive(self, source: ClassTable, levels: Levels) -> ClassTable:
        if source.levels == levels:
            return source
        return keep(roll_up(self.evaluator.encoding, source, levels, self.evaluator.work))

    def __getitem__(self, levels: Levels) -> ClassTable:
        if levels == self.bottom.levels:
            return self.bottom
        table = self.tables.get(levels)
        return self._derive(self.bottom, levels) if table is None else table

    def size(self, levels: Levels) -> int:
        """Number of classes to visit in order to roll up from this node."""
        return len(self.tables.get(levels, self.bottom))

    def add(self, table: ClassTable) -> None:
        self.tables[table.levels] = table
        self.bytes += table.nbytes
        while self.bytes > TABLE_MEMORY:
            _, dropped = self.tables.popitem(last=False)
            self.bytes -= dropped.nbytes
