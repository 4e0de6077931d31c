"""Lightning (best first from the bottom, with dives) and its mirror image from the top."""

from __future__ import annotations

import heapq
from typing import Annotated, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.lattice.search import Rank, Search, Strategy
from veil.quality.base import Evaluation


@declared(kind_of=Strategy)
class Lightning(Strategy):
    """Best-first search from the bottom, with a greedy dive after as many steps as the lattice is high.

    After Prasser et al., "Lightning: Utility-driven anonymization of high-dimensional data". A step takes the
    node that loses least so far, its violating classes suppressed, and evaluates all its successors. Nodes
    are skipped where a bound proves that neither they nor anything more general can win, so that an empty
    queue is a proof. With `minimal`, the search ends with the first step that finds a solution.
    """

    minimal: Annotated[bool, Field(description="end with the first step that finds a solution")] = False
    kind: Literal["Lightning"] = Field(default="Lightning", repr=False, kw_only=True)

    def run(self, search: Search) -> None:
        _Climb(search, minimal=self.minimal).run()


class _Climb:
    def __init__(self, search: Search, *, minimal: bool) -> None:
        self.search = search
        self.minimal = minimal
        self.queue: list[Rank] = []
        self.expanded: set[Levels] = set()

    @property
    def done(self) -> bool:
        return self.minimal and self.search.best is not None

    def run(self) -> None:
        space = self.search.space
        interval = max(1, sum(space.maximum) - sum(space.minimum))
        self._enqueue(self.search.check([space.minimum]))
        steps = 0
        while self.queue and not self.done:
            levels = heapq.heappop(self.queue)[2]
            if levels in self.expanded or self._cannot_win_above(self.search.check([levels])[0]):
                continue
            steps += 1
            if steps % interval == 0:
                self._dive(levels)
            else:
                self._enqueue(self._expand(levels))
        self.search.proven = not self.done
        if self.search.proven:
            self.search.bound = self.search.best_score

    def _dive(self, levels: Levels) -> None:
        while not self.done:
            children = sorted(self._expand(levels), key=_rank)
            self._enqueue(children[1:])
            if not children:
                return
            levels = children[0].levels
            if self._cannot_win_above(children[0]):
                return

    def _expand(self, levels: Levels) -> list[Evaluation]:
        """Evaluate the new successors that may be optimal, or lie below a node that may."""
        self.expanded.add(levels)
        return self.search.check(
            [
                successor
                for _, successor in self.search.space.successors(levels)
                if successor not in self.expanded and not self._loses_too_much(successor)
            ]
        )

    def _enqueue(self, evaluations: list[Evaluation]) -> None:
        for evaluation in evaluations:
            heapq.heappush(self.queue, _rank(evaluation))

    def _loses_too_much(self, levels: Levels) -> bool:
        """Return whether bounds rule out this node and everything above it, without evaluation."""
        search = self.search
        if search.best is None:
            return False
        bound = search.measure.bound(levels, 0, search.evaluator.sample.records)
        return search.hopeless((bound, sum(levels), levels))

    def _cannot_win_above(self, evaluation: Evaluation) -> bool:
        # Everything above has a larger sum of levels; its levels are left open.
        return self.search.hopeless((evaluation.base, sum(evaluation.levels) + 1, ()))


@declared(kind_of=Strategy)
class TopDown(Strategy):
    """Best-first search from the top: a step evaluates all predecessors of the node that loses least so far.

    Nodes are not expanded where a monotone model proves that nothing more specific can be anonymous, so
    that an empty queue is a proof. With `minimal`, only the best anonymous predecessor is followed, until
    there is none.
    """

    minimal: Annotated[bool, Field(description="follow the best anonymous predecessor only")] = False
    kind: Literal["TopDown"] = Field(default="TopDown", repr=False, kw_only=True)

    def run(self, search: Search) -> None:
        if self.minimal:
            descend(search)
            return
        space = search.space
        queue = [_rank(search.check([space.maximum])[0])]
        expanded: set[Levels] = set()
        while queue:
            levels = heapq.heappop(queue)[2]
            evaluation = search.check([levels])[0]
            hopeless = not evaluation.possible or evaluation.least > search.evaluator.allowed
            if levels in expanded or hopeless:
                continue
            expanded.add(levels)
            fresh = [each for _, each in space.predecessors(levels) if each not in expanded]
            for each in search.check(fresh):
                heapq.heappush(queue, _rank(each))
        search.proven = True
        search.bound = search.best_score


def descend(search: Search) -> None:
    """Descend from the top to the best anonymous predecessor, as long as that is an improvement.

    Predecessors are evaluated in the order of their bounds, until these exclude the rest. An attribute whose
    predecessor cannot be anonymous under a monotone model is never tried again.
    """
    evaluator, measure = search.evaluator, search.measure
    here = search.check([search.space.maximum])[0]
    open_attributes = set(range(len(here.levels)))
    while True:
        candidates = [
            (measure.bound(levels, here.least, evaluator.sample.records), j, levels)
            for j, levels in search.space.predecessors(here.levels)
            if j in open_attributes
        ]
        best: Evaluation | None = None
        candidates.sort()
        for start in range(0, len(candidates), 2):
            pair = [
                each
                for each in candidates[start : start + 2]
                if best is None or each[0] < (best.score or best.base)
            ]
            if not pair:
                break
            for (_, j, _), node in zip(pair, search.check([levels for *_, levels in pair]), strict=True):
                if not node.possible or node.least > evaluator.allowed:
                    open_attributes.discard(j)
                if node.anonymous and (best is None or _rank(node) < _rank(best)):
                    best = node
        if best is None or (here.anonymous and _rank(best) >= _rank(here)):
            return
        here = best


def _rank(evaluation: Evaluation) -> Rank:
    assert evaluation.score is not None  # `check` scores every node
    return evaluation.score, sum(evaluation.levels), evaluation.levels
