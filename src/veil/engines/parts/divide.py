"""Division of a table on an engine into parts: its columns are in memory, its rows on the engine.

Mondrian chooses a cut by the frequencies of values of single columns in a class, and accepts it by histograms
of single attributes. Both are small, and the engine counts them. So the first cuts of a table that exceeds
memory are made on the engine, by the same code as in memory; a part that fits is finished there. A class
is a box: a range of ranks of each column, which the engine finds by comparing numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veil.engines.parts.ranked import Marginals, RankedRelation, RankRange
from veil.masking.partition.items import RecordItems
from veil.masking.partition.kernels import ItemOrder
from veil.masking.partition.mondrian_kernels import propose, survey


class Block(NamedTuple):
    """A part that is finished by itself; with its marginals, if no cut of it is acceptable."""

    box: RankRange
    records: int
    final: Marginals | None


@dataclass
class _Open:
    """A part that is too large for memory: the distribution of its ranks, and the number of columns tried."""

    box: RankRange
    marginals: Marginals
    tried: int = 0


def divide_table(numbered: RankedRelation, most: int) -> list[Block]:
    """Cut the table on the engine, as Mondrian does, until no part has more than `most` combinations.

    For each class the kernels of Mondrian read the lowest and highest rank and the counts of ranks, column by
    column, and the criterion reads histograms of attributes. The engine counts both, so every cut is the one
    that Mondrian makes of the same class, and the classes do not depend on `most`.
    """
    return _Dividing(numbered, most).run()


class _Dividing:
    def __init__(self, numbered: RankedRelation, most: int) -> None:
        self.numbered, self.most = numbered, most
        self.judge = numbered.work.judge
        self.done: list[Block] = []

    def run(self) -> list[Block]:
        numbered = self.numbered
        waiting = self._too_large([numbered.whole], [numbered.whole_marginals])
        while waiting:
            waiting = self._round(waiting)
        return self.done

    def _too_large(self, boxes: list[RankRange], marginals: list[Marginals]) -> list[_Open]:
        """Return the parts that do not fit into memory; the others are ready."""
        possible = [self._possible(each) for each in marginals]
        doubtful = [p for p, number in enumerate(possible) if number > self.most]
        if doubtful:
            # The columns leave it open, so the engine has to count.
            counts = self.numbered.combinations([boxes[p] for p in doubtful])
            for p, number in zip(doubtful, counts.tolist(), strict=True):
                possible[p] = number
        large = []
        for box, each, number in zip(boxes, marginals, possible, strict=True):
            if number > self.most:
                large.append(_Open(box, each))
            else:
                self.done.append(Block(box, int(each.weights.sum()), None))
        return large

    def _possible(self, marginals: Marginals) -> int:
        """Return an upper bound of the number of combinations in a part."""
        different = [len(np.unique(column)) for column in marginals.ranks.T]
        return min(int(marginals.weights.sum()), math.prod(different) * math.prod(self.numbered.domains))

    def _round(self, waiting: list[_Open]) -> list[_Open]:
        """Propose one cut of each part, make the accepted ones, and return the parts that are too large."""
        proposals = self._proposals(waiting)
        again, sides, owners = [], [], []
        for p, (each, proposed) in enumerate(zip(waiting, proposals, strict=True)):
            if not proposed:
                self.done.append(Block(each.box, int(each.marginals.weights.sum()), each.marginals))
            sides += proposed
            owners += [p] * len(proposed)
        accepted = np.ones(len(waiting), np.bool_)
        if sides and self.judge.looks_at_values:
            places = np.arange(len(sides))
            records = np.array([records for _, records in sides], np.int64)
            entries = self.numbered.histograms([box for box, _ in sides])
            judge = self.judge.over(RecordItems(records, entries))
            accepted[np.array(owners)[~judge.accept(places, places, places + 1, records)]] = False
        for p, each in enumerate(waiting):
            if not accepted[p]:
                each.tried += 1
                again.append(each)
        new_sides = [side for side, owner in zip(sides, owners, strict=True) if accepted[owner]]
        small = [side for side in new_sides if side[1] <= self.most]
        self.done += [Block(box, records, None) for box, records in small]
        large = [box for box, records in new_sides if records > self.most]
        return again + (self._too_large(large, self.numbered.marginals(large)) if large else [])

    def _proposals(self, waiting: list[_Open]) -> list[list[tuple[RankRange, int]]]:
        """Return the next cut that Mondrian tries in each part: the boxes on its sides, with records."""
        ranks = np.concatenate([each.marginals.ranks for each in waiting])
        weights = np.concatenate([each.marginals.weights for each in waiting])
        ends = np.cumsum([each.marginals.weights.size for each in waiting])
        begins = np.concatenate([[0], ends[:-1]])
        items = ItemOrder(ranks, weights, np.arange(weights.size))
        shape = ends.size, ranks.shape[1]
        lows, highs = np.empty(shape, np.int32), np.empty(shape, np.int32)
        turns, tried = np.empty(shape, np.int16), np.array([each.tried for each in waiting], np.int64)
        part, parts = np.empty(weights.size, np.int32), np.empty(ends.size, np.int64)
        survey(items, begins, ends, self.numbered.scheme, lows, highs, turns)
        propose(
            items, begins, ends, lows, highs, turns, tried, self.numbered.scheme, self.judge.smallest, False, part, parts
        )  # fmt: skip
        proposals = []
        for p, each in enumerate(waiting):
            each.tried = int(tried[p])
            sides = []
            for side in range(int(parts[p])):
                j = int(turns[p, each.tried])
                rows = begins[p] + np.flatnonzero(part[begins[p] : ends[p]] == side)
                box = each.box.cut(j, int(ranks[rows, j].min()), int(ranks[rows, j].max()))
                sides.append((box, int(weights[rows].sum())))
            proposals.append(sides)
        return proposals
