"""The proof of a bound: labels that matter, prices that rise, and more labels where prices met their caps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from veil.base.arrays import Codes, Floats, Integers
from veil.recoding.cells.labels import Classes, DistinctRows, Labels, walk
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


def first_caps(cheapest: Integers) -> Integers:
    """Return the caps of prices to begin with."""
    return cheapest + cheapest // 2 + (cheapest > 0) * (UNIT // 200)


class Prover:
    """Raises a bound, piece by piece; `labels` are all that matter for the first caps, if they are known."""

    def __init__(
        self,
        problem: CellProblem,
        rows: DistinctRows,
        cheapest: Integers,
        further: list[tuple[tuple[int, ...], Classes]],
        keep: Callable[[], bool],
        labels: Labels | None = None,
    ) -> None:
        self.problem, self.rows, self.cheapest, self.further, self.keep = (
            problem,
            rows,
            cheapest,
            further,
            keep,
        )
        self.proof = prove(rows, problem, cheapest)
        self.labels = labels
        self.slacks: Floats | None = None
        self.generation = 0

    def pieces(self) -> Iterator[None]:
        """Work for a moment at each step; `proof`, `labels` and `slacks` are then what has been reached."""
        dear = self.cheapest > 0
        prices = self.cheapest / UNIT
        caps = first_caps(self.cheapest)
        mean = self.cheapest[dear].mean() / UNIT if dear.any() else 0.0
        for generation in itertools.count():
            labels = self.labels if generation == 0 else None
            if labels is None:
                labels = self._labels(np.floor(prices * UNIT).astype(np.int64), caps)
            if labels is None:
                return
            yield
            before = self.proof.bound
            ascent = Ascent(labels, self.rows, prices, caps, self.problem.smallest)
            step = mean / 4 / 2**generation
            finest = mean / min(1000, 20 * 4**generation)
            while step > finest and self.keep():
                gain = ascent.run(step, 5)
                if gain < 1e-3 / (1 + generation):
                    step *= 0.7
                yield
            self._accept(ascent, labels)
            yield
            clipped = ascent.clipped()
            if not self.keep() or (generation and self.proof.bound - before <= before // 5000):
                return
            prices = ascent.best
            near = np.floor(1.15 * prices * UNIT).astype(np.int64) + dear * (UNIT // 500)
            caps = np.where(clipped, 2 * caps, near)

    def _labels(self, prices: Integers, caps: Integers) -> Labels | None:
        """Return the labels that matter for caps; where memory is too small for them, the caps come closer to prices."""
        while self.keep():
            nodes, pairs = [], 0
            for node in walk(self.rows, self.problem.smallest, caps, self.keep):
                nodes.append(node)
                pairs += len(node[1].rows)
                if pairs > MOST_PAIRS:
                    break
            else:
                return Labels.of([*nodes, *self.further]) if self.keep() else None
            caps[:] = prices + (caps - prices) // 2
        return None

    def _accept(self, ascent: Ascent, labels: Labels) -> None:
        proof = prove(self.rows, self.problem, ascent.whole())
        if proof.bound > self.proof.bound:
            self.proof = proof
        self.slacks, self.labels = ascent.slacks(), labels
        self.generation += 1


def numbers_after(labels: Labels, mask: np.ndarray) -> Codes:
    """Return the number of each label among those of a mask, -1 for the others."""
    return np.where(mask, np.cumsum(mask) - 1, -1).astype(np.int32)
