"""Optimal search: best-first branch and bound over boxes of the lattice.

A box is the set of all nodes between a low and a high corner. Two facts hold for each of its nodes:

* It generalizes at least as much as the low corner, so it loses at least what that generalization costs.
* It suppresses at least the records that the high corner must suppress under the models that are monotone
  under suppression (a part of a rejected class is rejected); at least what no part of a class can keep under
  models that hold for a union if they hold for its parts; and at least one record if such a model fails at
  the high corner.

The quality model turns both into a lower bound on the score of all nodes of the box. A box that cannot
contain a better node than the best one so far, or that must suppress more than allowed, is pruned. Otherwise
it is cut in two along one attribute. The lower half gets a new high corner, which is evaluated from the class
table of its low corner. The upper half gets a new low corner, which is evaluated before the box is cut only
if it may be as good as the bound: otherwise the box will shrink to that corner alone, or be pruned with it.
The box with the least bound is always cut first: every cut is necessary with these bounds.

With a monotone model and no suppression this is what Flash does with paths: the high corner's failure
excludes everything below it, and the success of a node everything above it, which costs more.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from typing import ClassVar, Generic, Literal, NamedTuple, TypeVar

from pydantic import Field

from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.classes.table import ClassTable, keep, roll_up
from veil.lattice.cache import MEMORY
from veil.lattice.cuts import Cuts, cuts_for
from veil.lattice.search import BATCH, MOST_REMEMBERED, Rank, Search, Strategy
from veil.lattice.space import Box
from veil.models.base import BoundsSuppression
from veil.quality.base import Evaluation, Score

Thing = TypeVar("Thing")

MOST_BOXES = 2_000_000
"""Approximate number of boxes in the queue: each takes half a kilobyte."""


@declared(kind_of=Strategy)
class Optimal(Strategy):
    """Find the best transformation and prove that no other is better, however long it takes.

    Stopped by a limit, it returns the best transformation so far and a score that none can beat.
    """

    kind: Literal["Optimal"] = Field(default="Optimal", repr=False, kw_only=True)

    time_limit: ClassVar[float] = math.inf

    def run(self, search: Search) -> None:
        boxes = BranchAndBound(search, search.space.minimum, search.space.maximum)
        try:
            boxes.run()
        finally:
            boxes.conclude()


class _Box(NamedTuple):
    """A box that may contain the optimum; ordered by the best rank that any of its nodes can have.

    All of its nodes suppress at least `least` records and keep at most `room` classes. `origin` is the low
    corner from which this box's low corner is still to be evaluated; None if it is not.
    """

    rank: Rank
    high: Levels
    least: int
    room: int
    origin: Levels | None

    @property
    def low(self) -> Levels:
        return self.rank[2]


class _BoxResult(NamedTuple):
    """The result of examining a box: an evaluated corner, a bound on kept classes, a table worth caching.

    `new_low` is the low corner of the upper half, if the box was cut.
    """

    evaluation: Evaluation
    room: int
    fresh: bool = False
    table: ClassTable | None = None
    new_low: Levels | None = None


class BranchAndBound:
    """The search of one box, perhaps the whole space. It can be interrupted after any round and resumed."""

    def __init__(self, search: Search, low: Levels, high: Levels, cuts: Cuts | None = None) -> None:
        self.search = search
        self.evaluator = search.evaluator
        self.measure = search.measure
        self.space = search.space
        self.low, self.high = low, high
        self.is_whole = (low, high) == (self.space.minimum, self.space.maximum)
        self.corners: _Newest[Evaluation] = _Newest()
        self.tables = _Tables(search, low)
        self.heap: list[_Box] = []
        self.has_begun = False
        self.cuts = cuts or cuts_for(self.evaluator)
        # Without these, the bound on suppression does not depend on the table a node was evaluated from.
        evaluator = self.evaluator
        self.shares_corners = not (evaluator.keeping or evaluator.on_sample or self.measure.counts_classes)
        # Whether high corners give no bound on the suppressed records below them.
        self.lacks_bounds = not all(isinstance(each, BoundsSuppression) for each in evaluator.on_sample)

    def run(self, *, checks: float = math.inf, until: float = math.inf) -> bool:
        """Cut boxes until none is left, or until so many checks are made or seconds have passed.

        Return whether none is left: no node of the box then comes before the best one.
        """
        most = self.search.checks + checks
        if not self.has_begun:
            self._begin()
        while self.heap:
            if self.search.checks >= most or self.search.elapsed >= until:
                return False
            batch = self._next_boxes(self.search.expect(BATCH))
            visits = [self.tables.visits(box.origin or box.low) for box in batch]
            results = self.search.side_by_side(self._examine, batch, visits)
            for box, result in zip(batch, results, strict=True):
                self._process(box, result)
            if self.is_whole:
                self.search.bound = self.bound
            self.search.report_progress()
        return True

    @property
    def bound(self) -> Score | None:
        """A lower bound on the score of all nodes of the box and of the best one so far."""
        if not self.has_begun:
            return None
        return min((self.heap[0].rank[0], self.search.best_score)) if self.heap else self.search.best_score

    def conclude(self) -> None:
        """Report to the search what is proven about the whole space."""
        self.search.bound = self.bound
        self.search.proven = self.has_begun and (not self.heap or self.search.hopeless(self.heap[0].rank))

    def _begin(self) -> None:
        low, high = self.low, self.high
        self.search.expect(1)
        top, room = self._evaluate_high(high, self.tables.bottom)
        self._record_tightest(top, True)
        if low != high and low not in self.space.evaluated:
            self.search.expect(1)
            self._record_tightest(self.evaluator.evaluate(low, self.tables.bottom)[0], True)
        self._open(low, high, top.least, top.possible, room, None)
        self.has_begun = True

    def _next_boxes(self, most: int) -> list[_Box]:
        batch: list[_Box] = []
        while self.heap and len(batch) < most:
            # The best box while the queue has room for its descendants; else a bad one, which has few.
            box = heapq.heappop(self.heap) if len(self.heap) < MOST_BOXES else self.heap.pop()
            if self.search.hopeless(box.rank):
                self._rule_out(box.low, box.high, box.rank[0], box.least, True)
            else:
                batch.append(box)
        return batch

    # One round: examine boxes (on any thread, changing nothing shared), then process the results (in order).

    def _examine(self, box: _Box) -> _BoxResult:
        """Cut a box, and evaluate the high corner of its lower half; or evaluate its low corner first."""
        if box.origin is not None:
            return self._examine_low(box, box.origin)
        attribute, level = self.cuts.where(box.low, box.high)
        new_high = (*box.high[:attribute], level, *box.high[attribute + 1 :])
        new_low = (*box.low[:attribute], level + 1, *box.low[attribute + 1 :])
        if new_high == box.low and (corner := self.corners.get(new_high)) is not None:
            return _BoxResult(corner, box.room, new_low=new_low)
        if self.shares_corners and (corner := self.space.evaluated.get(new_high)) is not None:
            return _BoxResult(corner, 0, new_low=new_low)
        source, derived = self.tables.table_at(box.low)
        evaluation, room = self._evaluate_high(new_high, source)
        return _BoxResult(evaluation, room, fresh=True, table=source if derived else None, new_low=new_low)

    def _examine_low(self, box: _Box, origin: Levels) -> _BoxResult:
        """Evaluate the low corner of a box."""
        evaluation = self._corner(box.low)
        fresh = evaluation is None
        if evaluation is not None:
            evaluation = evaluation._replace(least=0, possible=True)
            if not self.measure.counts_classes:
                return _BoxResult(evaluation, box.room)  # its table may never be needed
        source = self.tables.table_at(origin)[0]
        if evaluation is None:
            evaluation, scratch = self.evaluator.evaluate(box.low, source)
        else:
            scratch = roll_up(self.evaluator.encoding, source, box.low, self.evaluator.work)
        table = keep(scratch)
        room = box.room
        if self.measure.counts_classes and box.low != box.high:
            above = roll_up(self.evaluator.encoding, table, box.high, self.evaluator.work, groups=True)
            room = self.evaluator.room(table, len(above))
        return _BoxResult(evaluation, room, fresh, table)

    def _process(self, box: _Box, result: _BoxResult) -> None:
        corner = self._record_tightest(result.evaluation, result.fresh)
        room = min(result.room, box.room)
        if result.table is not None:
            self.tables.add(result.table)
        if result.new_low is None:
            self._open(box.low, box.high, box.least, True, room, None)
        else:
            self._open(box.low, corner.levels, corner.least, corner.possible, room, None)
            self.tables.origins.add(result.new_low, box.low)
            origin = box.low if self._asks_low_corners(box.least) else None
            self._open(result.new_low, box.high, box.least, True, box.room, origin)

    def _asks_low_corners(self, least: int) -> bool:
        """Return whether it pays to evaluate the low corner of a box before the box is cut.

        It does where that bounds the box, and where the low corner may attain the bound: by the high corner,
        nothing has to be suppressed (`least` records). That holds for all boxes without suppression, and for
        many with loose bounds on the records that can be kept.
        """
        evaluator = self.evaluator
        tight = evaluator.allowed > 0 and not evaluator.keeping
        may_be_best = least == 0 and (tight or self.lacks_bounds)
        return self.measure.bounds_by_corners or may_be_best

    def _evaluate_high(self, levels: Levels, source: ClassTable) -> tuple[Evaluation, int]:
        """Evaluate a high corner and bound the classes that nodes between it and the source can keep."""
        evaluation, table = self.evaluator.evaluate(levels, source, high=levels != source.levels)
        room = self.evaluator.room(source, len(table)) if self.measure.counts_classes else 0
        return evaluation, room

    def _corner(self, levels: Levels) -> Evaluation | None:
        return self.corners.get(levels) or self.space.evaluated.get(levels)

    def _record_tightest(self, evaluation: Evaluation, fresh: bool) -> Evaluation:
        """Record the evaluation of a corner; return it, or an earlier one whose bound is at least as tight."""
        earlier = self.corners.get(evaluation.levels)
        if fresh:
            self.search.remember(evaluation)
        if earlier is not None and earlier.least >= evaluation.least:
            return earlier
        self.corners.add(evaluation.levels, evaluation)
        return evaluation

    def _open(
        self, low: Levels, high: Levels, least: int, possible: bool, room: int, origin: Levels | None
    ) -> None:
        """Add a box whose high corner was evaluated from its low corner, or from a lower one before a cut."""
        bound = self.measure.bound(low, least, room)
        corner = self._corner(low)
        if corner is not None:
            bound = max(bound, corner.base)
        rank = (bound, sum(low), low)
        if low == high or not possible or least > self.evaluator.allowed or self.search.hopeless(rank):
            self._rule_out(low, high, bound, least, possible)
        else:
            heapq.heappush(self.heap, _Box(rank, high, least, room, origin))

    def _rule_out(self, low: Levels, high: Levels, bound: Score, least: int, possible: bool) -> None:
        if not self.is_whole:
            return
        self.search.decided += math.prod(b - a + 1 for a, b in zip(low, high, strict=True))
        single = low == high and low in self.space.evaluated
        if not single and len(self.space.ruled_out) < MOST_REMEMBERED:
            self.space.ruled_out.append(Box(low, high, bound, least, possible))


class _Newest(Generic[Thing]):
    """A mapping of nodes that drops the oldest entries, so that a long search does not fill the memory."""

    def __init__(self) -> None:
        self.new: dict[Levels, Thing] = {}
        self.old: dict[Levels, Thing] = {}

    def get(self, levels: Levels) -> Thing | None:
        thing = self.new.get(levels)
        return self.old.get(levels) if thing is None else thing

    def add(self, levels: Levels, thing: Thing) -> None:
        if len(self.new) >= MOST_REMEMBERED:
            self.old, self.new = self.new, {}
        self.new[levels] = thing


class _Tables:
    """The newest class tables of low corners.

    `origins` maps each low corner to the more specific one that it was cut off from.
    """

    def __init__(self, search: Search, bottom: Levels) -> None:
        self.evaluator = search.evaluator
        self.tables: OrderedDict[Levels, ClassTable] = OrderedDict()
        self.origins: _Newest[Levels] = _Newest()
        self.bytes = 0
        self.bottom = self._derive(search.tables.source(bottom), bottom)

    def _derive(self, source: ClassTable, levels: Levels) -> ClassTable:
        if source.levels == levels:
            return source
        return keep(roll_up(self.evaluator.encoding, source, levels, self.evaluator.work))

    def table_at(self, levels: Levels) -> tuple[ClassTable, bool]:
        """Return the table of a low corner, and whether it had to be derived."""
        source = self._nearest(levels)
        return self._derive(source, levels), source.levels != levels

    def _nearest(self, levels: Levels) -> ClassTable:
        at: Levels | None = levels
        while at is not None and at != self.bottom.levels:
            table = self.tables.get(at)
            if table is not None:
                return table
            at = self.origins.get(at)
        return self.bottom

    def visits(self, levels: Levels) -> int:
        """Return the number of visits for rolling up from this node."""
        return self._nearest(levels).visits

    def add(self, table: ClassTable) -> None:
        if table.levels in self.tables:
            return
        self.tables[table.levels] = table
        self.bytes += table.nbytes
        while self.bytes > MEMORY:
            _, dropped = self.tables.popitem(last=False)
            self.bytes -= dropped.nbytes
