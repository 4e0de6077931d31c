"""What an engine counts about parts of a table, counted row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from veil.engines.parts.ranked import Marginals, RankRange, entries
from veil.masking import Mondrian
from veil.masking.partition.columns import Scheme
from veil.masking.partition.mondrian import partition
from veil.masking.partition.partitioning import Partitioning
from veil.tables import rows


class Rows:
    """What `Numbered` knows, counted row by row in plain Python."""

    def __init__(self, table: pa.Table, method: Mondrian) -> None:
        self.work = Partitioning(
            rows.Rows.of(table),
            method.quasi_identifiers,
            method.models,
            style=method.labels,
            grids=method.grids,
        )
        self.scheme = Scheme.of(self.work.columns)
        self.domains = [len(each.values) for each in self.work.attributes]
        self.whole = RankRange(
            (0,) * len(self.work.columns), tuple(each.size - 1 for each in self.work.columns)
        )
        self.whole_marginals = Marginals(self.work.ranks, self.work.weights)
        self.ranks = self.work.ranks[self.work.item_of_row].tolist()
        self.codes = [each.codes.tolist() for each in self.work.attributes]
        self.asked = 0

    def rows(self, box: RankRange) -> list[int]:
        return [
            row
            for row, ranks in enumerate(self.ranks)
            if all(low <= rank <= high for low, rank, high in zip(box.lows, ranks, box.highs, strict=True))
        ]

    def marginals(self, boxes: list[RankRange]) -> list[Marginals]:
        self.asked += 1
        made = [np.array([self.ranks[row] for row in self.rows(box)], np.int32) for box in boxes]
        return [Marginals(each, np.ones(len(each), np.int64)) for each in made]

    def histograms(self, boxes: list[RankRange]) -> Any:
        pairs = [(p, row) for p, box in enumerate(boxes) for row in self.rows(box)]
        part, ones = np.array([p for p, _ in pairs]), np.ones(len(pairs), np.int64)
        return tuple(
            entries(part, np.array([codes[row] for _, row in pairs]), ones, len(boxes), domain)
            for codes, domain in zip(self.codes, self.domains, strict=True)
        )

    def combinations(self, boxes: list[RankRange]) -> Any:
        return np.array([len({self.cells(row) for row in self.rows(box)}) for box in boxes])

    def cells(self, row: int) -> tuple[int, ...]:
        return (*self.ranks[row], *(codes[row] for codes in self.codes))

    def classes(self, box: RankRange) -> list[frozenset[int]]:
        """The classes that Mondrian makes of a part in memory; every row is an item."""
        rows = self.rows(box)
        ones = np.ones(len(rows), np.int64)
        held = tuple(
            entries(np.arange(len(rows)), np.array([codes[row] for row in rows]), ones, len(rows), domain)
            for codes, domain in zip(self.codes, self.domains, strict=True)
        )
        found = partition(self.work.some(np.array([self.ranks[row] for row in rows], np.int32), ones, held))
        return [
            frozenset(rows[item] for item in found.order[begin:end].tolist())
            for begin, end in zip(found.begins, found.ends, strict=True)
        ]
