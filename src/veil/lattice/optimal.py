"""Optimal search: best-first branch and bound over boxes of the lattice.

A box is the set of all nodes between a low and a high corner. Two facts hold for each of its nodes:

* It generalizes at least as much as the low corner, so it loses at least what that generalization costs.
* It suppresses at least the records that the high corner must suppress under the models that are monotone
  under suppression (a part of a rejected class is rejected), and at least one record if a conjunction of
  models that are monotone under generalization fails at the high corner.

The quality model turns both into a score that no node of the box can beat. A box that cannot contain a
better node than the best one found so far, or that must suppress more than allowed, is dropped whole.
Otherwise it is cut in two along one attribute: the lower half gets a new high corner and the upper half a new
low corner, both of which are evaluated from the class table of the low corner. The box with the least bound
is always cut first, so that no box is cut that any search with these bounds could have spared.

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

from veil.classes.encoding import Levels
from veil.classes.table import ClassTable, keep, roll_up
from veil.lattice.evaluator import Evaluator
from veil.lattice.space import Box, Space
from veil.quality.base import Evaluation, Score

BATCH = 4
"""Boxes cut in one round. Fixed, so that what is explored does not depend on the number of threads."""

WORTH_A_THREAD = 40_000
"""Class visits in a round below which threads cost more than they save."""

TABLE_MEMORY = 400 * 2**20
"""Bytes of class tables kept for later; what is dropped is derived again from the bottom node."""

Rank = tuple[Score, int, Levels]
"""The order of nodes: score, then sum of levels, then the levels themselves."""

Progress = Callable[[int, int, Score | None], None]
"""Called with the number of evaluated nodes, the nodes decided so far, and the best score so far."""


class _Open(NamedTuple):
    """A box that may still hold the optimum; ordered by the best rank that any of its nodes can have."""

    rank: Rank
    high: Levels
    room: int


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
    return _Search(evaluator, minimum, maximum, progress).run(threads or len(os.sched_getaffinity(0)))


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
        self.heap: list[_Open] = []
        self.decided = 0
        self.spreads = [
            [math.log(max(1, distinct)) for distinct in levels] for levels in evaluator.sample.distinct
        ]

    def run(self, threads: int) -> Found:
        low, high = self.space.minimum, self.space.maximum
        bottom = self.tables[low]
        top, room = self._evaluate_high(high, bottom)
        self._remember(top)
        if low != high:
            self._remember(self.evaluator.evaluate(low, bottom)[0])
        self._open(low, high, room)
        with ThreadPoolExecutor(threads) as pool:
            while self.heap:
                batch = []
                while self.heap and len(batch) < BATCH:
                    box = heapq.heappop(self.heap)
                    if self._hopeless(box.rank):
                        self._rule_out(box.rank[2], box.high, box.rank[0])
                    else:
                        batch.append(box)
                work = sum(len(self.tables[box.rank[2]]) for box in batch)
                side_by_side = threads > 1 and len(batch) > 1 and work > WORTH_A_THREAD
                run = pool.map if side_by_side else map
                for box, halves in zip(batch, list(run(self._cut, batch)), strict=True):
                    self._take(box, halves)
                if self.progress:
                    self.progress(len(self.space.evaluated), self.decided, self.best and self.best[0])
        best = self.space.evaluated[self.best[2]] if self.best else None
        return Found(best, self.space, None, self.curve)

    # One round: cut boxes (on any thread, changing nothing shared), then take in the halves (in order).

    def _cut(self, box: _Open) -> _Halves:
        low, high, room = box.rank[2], box.high, box.room
        attribute, level = self._where(low, high)
        new_high = (*high[:attribute], level, *high[attribute + 1 :])
        new_low = (*low[:attribute], level + 1, *low[attribute + 1 :])
        source = self.tables[low]

        below, below_room = self._evaluate_high(new_high, source)
        above = table = None
        above_room = room
        least = self.space.evaluated[high].least
        if not self._hopeless((self.measure.bound(new_low, least, room), sum(new_low), new_low)):
            above, scratch = self.evaluator.evaluate(new_low, source)
            table = keep(scratch)
            if self.measure.counts_classes and new_low != high:
                above_room = min(room, self._evaluate_high(high, table)[1])
        return _Halves(new_high, below, min(room, below_room), new_low, above, table, above_room)

    def _take(self, box: _Open, halves: _Halves) -> None:
        low, high = box.rank[2], box.high
        self._remember(halves.below)
        if halves.above is None or halves.table is None:
            least = self.space.evaluated[high].least
            self._rule_out(halves.new_low, high, self.measure.bound(halves.new_low, least, box.room))
        else:
            self.tables.add(halves.table)
            self._remember(halves.above)
            self._open(halves.new_low, high, halves.above_room)
        self._open(low, halves.new_high, halves.below_room)

    def _evaluate_high(self, levels: Levels, source: ClassTable) -> tuple[Evaluation, int]:
        """Evaluate a high corner and bound the classes that nodes between it and the source can keep."""
        evaluation, table = self.evaluator.evaluate(levels, source)
        if not self.measure.counts_classes:
            return evaluation, 0
        return evaluation, self.evaluator.room(source, len(table))

    def _remember(self, evaluation: Evaluation) -> None:
        self.space.evaluated[evaluation.levels] = evaluation
        if evaluation.score is None:
            return
        rank = (evaluation.score, sum(evaluation.levels), evaluation.levels)
        if evaluation.anonymous and (self.best is None or rank < self.best):
            self.best = rank
            self.curve.append((time.perf_counter() - self.started, evaluation.score))

    def _open(self, low: Levels, high: Levels, room: int) -> None:
        corner = self.space.evaluated[low]
        least = self.space.evaluated[high].least
        bound = max(corner.base, self.measure.bound(low, least, room))
        if low == high or least > self.evaluator.allowed or self._hopeless((bound, sum(low), low)):
            self._rule_out(low, high, bound)
        else:
            heapq.heappush(self.heap, _Open((bound, sum(low), low), high, room))

    def _hopeless(self, rank: Rank) -> bool:
        """Whether no node of a box can come before the best one so far: not even a tie would be won."""
        return self.best is not None and rank >= self.best

    def _rule_out(self, low: Levels, high: Levels, bound: Score) -> None:
        self.decided += math.prod(b - a + 1 for a, b in zip(low, high, strict=True))
        if low != high:
            self.space.ruled_out.append(Box(low, high, bound, self.space.evaluated[high].least))

    def _where(self, low: Levels, high: Levels) -> tuple[int, int]:
        """Choose the attribute whose number of values differs most between the corners; cut in the middle."""
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


class _Halves(NamedTuple):
    """What cutting a box yields: its lower half (new high corner) and its upper half (new low corner)."""

    new_high: Levels
    below: Evaluation
    below_room: int
    new_low: Levels
    above: Evaluation | None
    table: ClassTable | None
    above_room: int


class _Tables:
    """Class tables of low corners, the most recently used first to stay."""

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

    def add(self, table: ClassTable) -> None:
        self.tables[table.levels] = table
        self.bytes += table.nbytes
        while self.bytes > TABLE_MEMORY:
            _, dropped = self.tables.popitem(last=False)
            self.bytes -= dropped.nbytes
