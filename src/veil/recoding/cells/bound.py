"""The proof of a bound: labels that matter, prices that rise, and more labels where prices met their caps."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from veil.base.arrays import Floats, Integers
from veil.base.compiled import compiling_seconds
from veil.classes.encoding import Levels
from veil.recoding.cells.labels import CellLabels, DistinctRows, NodeClasses, cheapest_labels, fallbacks, walk
from veil.recoding.cells.prices import Ascent
from veil.recoding.problem import UNIT, CellProblem

MOST_PAIRS = 12_000_000
"""Pairs of a label and a row under it that memory is used for."""


@dataclass(frozen=True, eq=False)
class Proof:
    """Prices of distinct rows, the price of suppression, and the bound that they prove."""

    prices: Integers
    suppression_price: int
    bound: int


def prove(rows: DistinctRows, problem: CellProblem, prices: Integers) -> Proof:
    """Return the bound of prices that violate no label; where records may be suppressed, prices are cut off.

    Suppressing a record costs `UNIT`, and each of those that may be suppressed is also paid for by the price of
    suppression: the best is that above which the prices of as many records are as may be suppressed.
    """
    if not problem.allowed:
        return Proof(prices, 0, int(prices @ rows.records))
    order = np.argsort(-prices, kind="stable")
    above = np.cumsum(rows.records[order])
    place = int(np.searchsorted(above, problem.allowed, side="right"))
    price = max(0, int(prices[order[place]]) - UNIT) if place < len(order) else 0
    prices = np.minimum(prices, UNIT + price)
    return Proof(prices, price, int(prices @ rows.records) - price * problem.allowed)


def labels_that_matter(
    problem: CellProblem,
    rows: DistinctRows,
    prices: Integers,
    caps: Integers,
    further: list[tuple[Levels, NodeClasses]],
    keep: Callable[[], bool],
    room: int = MOST_PAIRS,
) -> tuple[CellLabels, Integers] | None:
    """Return the labels that matter for caps, and the caps: where memory is too small, these come closer to prices.

    None if there is no time for it.
    """
    while keep():
        nodes, pairs = [], 0
        for node in walk(rows, problem.smallest, caps, keep):
            nodes.append(node)
            pairs += len(node[1].rows)
            if pairs > room:
                break
        else:
            return (CellLabels.of([*nodes, *further]), caps) if keep() else None
        caps = prices + (caps - prices) // 2
    return None


class Prover:
    """Raises a bound, piece by piece: `prices` are the best so far, and `generation` counts how often they changed."""

    def __init__(
        self,
        problem: CellProblem,
        rows: DistinctRows,
        cheapest: Integers,
        further: list[tuple[Levels, NodeClasses]],
        keep: Callable[[], bool],
    ) -> None:
        self.problem, self.rows, self.cheapest = problem, rows, cheapest
        self.further, self.keep = further, keep
        self.proof = prove(rows, problem, cheapest)
        self.prices: Floats = cheapest / UNIT
        self.generation = 0
        # A record never pays less than its cheapest label, so that only the rest says what a price may be.
        self.least = np.minimum(rows.least, cheapest)
        self.dear = cheapest > self.least
        self.first = self._labels(2 * cheapest - self.least + self.dear * (UNIT // 50))

    def pieces(self) -> Iterator[None]:
        """Work for a moment at each step; `proof` and `prices` are then what has been reached."""
        dear, least = self.dear, self.least
        mean = (self.cheapest - least)[dear].mean() / UNIT if dear.any() else 0.0
        matter = self.first
        for generation in itertools.count():
            if matter is None:
                return
            labels, caps = matter
            yield
            before = self.proof.bound
            ascent = Ascent(labels, self.rows, self.prices, caps, self.problem.smallest)
            step = mean / 4 / 2**generation
            finest = mean / min(1000, 20 * 4**generation)
            while step > finest and self.keep():
                gain = ascent.run(step, 5)
                if gain < 1e-3 / (1 + generation):
                    step *= 0.7
                yield
            proof = prove(self.rows, self.problem, ascent.whole())
            if proof.bound > self.proof.bound:
                self.proof = proof
            self.prices = ascent.best
            self.generation += 1
            yield
            if not self.keep() or (generation and self.proof.bound - before <= before // 5000):
                return
            near = np.floor(1.15 * ascent.best * UNIT - 0.15 * least).astype(np.int64) + dear * (UNIT // 500)
            matter = self._labels(np.where(ascent.clipped(), 2 * caps - least, near))

    def _labels(self, caps: Integers) -> tuple[CellLabels, Integers] | None:
        prices = np.floor(self.prices * UNIT).astype(np.int64)
        return labels_that_matter(self.problem, self.rows, prices, caps, self.further, self.keep)


def best_prices(
    problem: CellProblem,
    seconds: float,
    cancel: Callable[[], bool] = lambda: False,
    progress: Callable[[float, int], None] = lambda share, bound: None,
) -> tuple[Integers, int] | None:
    """Return the price of each row, and of suppression, that prove the highest bound found; None if there was no time.

    The first walk through all labels takes at most half of the seconds. As long as it takes is left at the end, since
    whoever checks the prices walks through them once more. `progress` receives the share of the time that is over, and
    the bound.
    """
    began, limit = time.perf_counter() - compiling_seconds(), seconds / 2

    def elapsed() -> float:
        return time.perf_counter() - compiling_seconds() - began

    def keep() -> bool:
        return elapsed() < limit and not cancel()

    rows = DistinctRows.of(problem)
    cheapest = np.full(len(rows), UNIT if problem.allowed else 2 * UNIT, np.int64)
    cheapest_labels(rows, problem.smallest, cheapest, keep)
    if not keep():
        return None  # prices may violate labels
    prover = Prover(problem, rows, cheapest, fallbacks(rows, problem.smallest, problem.maximum), keep)
    limit = seconds - elapsed()
    for _ in prover.pieces():
        progress(min(1.0, elapsed() / seconds), prover.proof.bound)
    return prover.proof.prices[rows.of_row], prover.proof.suppression_price
