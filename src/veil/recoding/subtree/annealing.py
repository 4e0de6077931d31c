"""Simulated annealing over cuts: round after round, each from the best cut or another start.

Rounds get longer, until the time is over or several in a row have found nothing better.

Where only the size of classes decides, rounds are compiled and run side by side. Otherwise the models judge each cut
that would be accepted for its sizes alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from veil.recoding.problem import UNIT
from veil.recoding.subtree import kernels
from veil.recoding.subtree.forest import Cut, CutForest
from veil.recoding.subtree.judge import CutJudge

TEMPERATURES = 24
"""Number of temperatures of a round."""

HOTTEST, COLDEST = 2e-3, 2e-6
"""First and last temperature of a round, in shares of the cost of suppressing everything."""

VISITS = 2**20
"""Rows that compiled steps visit before they look at the time."""

VERDICTS = 8
"""Number of verdicts at each temperature of the first round."""

LONGEST = 64
"""How many times longer than the first round the longest one is."""

PATIENCE = 8
"""Number of rounds in a row without a better cut after which the search ends."""

PENALTIES = (4.0, 16.0, 64.0)
"""Costs of a record that is suppressed beyond the limit, in `UNIT`s, by round."""


class Annealing:
    """The rows and nodes of a search, the cuts to start from, and the best cut of all rounds.

    `report` receives the best cut of a round, and returns whether it is better than all before.
    """

    def __init__(
        self,
        forest: CutForest,
        rows: kernels.CutRows,
        judge: CutJudge,
        starts: Sequence[Cut],
        report: Callable[[Cut], bool],
        over: Callable[[], bool],
        seed: int,
    ) -> None:
        self.forest, self.rows, self.judge, self.starts = forest, rows, judge, starts
        self.report, self.over, self.seed = report, over, seed
        self.nodes = kernels.nodes_of(forest, seed)
        self.best = starts[0]
        self.everything = float(rows.counts.sum()) * UNIT
        # Records that may be suppressed where people are limited are bounded by those that their rows have.
        self.limits = judge.evaluator.smallest, judge.evaluator.allowed

    def run(self, threads: int) -> bool:
        """Anneal; return whether the search ended before the time was over."""
        if not self.nodes.inner.size:  # there is one cut only
            return True
        side_by_side, fruitless = threads if self.judge.by_size else 1, 0
        with ThreadPoolExecutor(side_by_side) as pool:
            for first in itertools.count(0, side_by_side):
                for cut in pool.map(self._round, range(first, first + side_by_side)):
                    fruitless += 1
                    if cut is not None and self.report(cut):
                        self.best, fruitless = cut, 0
                if self.over():
                    return False
                if fruitless >= PATIENCE:
                    return True
        return True

    def _round(self, number: int) -> Cut | None:
        """Return the best cut of a round; None if it has none that is allowed."""
        start = self.best if number % 2 else self.starts[number // 2 % len(self.starts)]
        state = kernels.state_of(start, self.rows, self.nodes, self.limits[0], self.seed + number)
        length = min(2 ** (number // 2), LONGEST)
        penalty = PENALTIES[number % len(PENALTIES)] * UNIT
        steps = self._by_size if self.judge.by_size else self._by_models
        # The first round only descends.
        temperatures = self._temperatures() if number else iter([0.0] * TEMPERATURES)
        return steps(state, temperatures, penalty, length)

    def _temperatures(self) -> Iterator[float]:
        ratio = COLDEST / HOTTEST
        for step in range(TEMPERATURES):
            yield self.everything * HOTTEST * ratio ** (step / (TEMPERATURES - 1))
        yield 0.0

    def _by_size(
        self, state: kernels.CutState, temperatures: Iterator[float], penalty: float, length: int
    ) -> Cut | None:
        room = kernels.room_for(self.rows)
        for temperature in temperatures:
            for _ in range(length):
                if self.over():
                    break
                kernels.anneal(self.rows, self.nodes, state, room, *self.limits, penalty, temperature, VISITS)
        return state.best if state.totals[2] < np.iinfo(np.int64).max else None

    def _by_models(
        self, state: kernels.CutState, temperatures: Iterator[float], penalty: float, length: int
    ) -> Cut | None:
        room, best, least = kernels.room_for(self.rows), None, np.inf
        current = self._cost(state.cut, penalty)
        for temperature in temperatures:
            for _ in range(VERDICTS * length):
                if self.over():
                    break
                node, highest, _ = kernels.propose(
                    self.rows, self.nodes, state, room, *self.limits, penalty, temperature, current[0], VISITS
                )
                if node < 0:
                    continue
                cut = state.cut.copy()
                places = slice(self.forest.low[node], self.forest.high[node])
                cut[places] = room.fresh[places]
                new = self._cost(cut, penalty)
                if new[0] > highest:
                    continue
                kernels.accept(self.rows, self.nodes, state, room, node)
                current = new
                if new[1] and new[0] < least:
                    best, least = cut, new[0]
        return best

    def _cost(self, cut: Cut, penalty: float) -> tuple[float, bool]:
        """Return the cost of a cut with its penalty, and whether it is allowed."""
        verdict = self.judge.verdict(self.forest.levels(cut))
        excess = 0 if verdict.allowed else max(1, verdict.suppressed - self.limits[1])
        return verdict.cost + penalty * excess, verdict.allowed
