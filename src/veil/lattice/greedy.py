"""DataFly and its improvement: one path from the bottom to the first anonymous node."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.classes.table import roll_up
from veil.lattice.search import Search, Strategy


@declared(kind_of=Strategy)
class DataFly(Strategy):
    """Generalize the attribute with the most distinct values until the data are anonymous.

    After Sweeney, "Datafly: A system for providing anonymity in medical data". Ties are broken by the order
    of attributes. The result is the end of one path, seldom the best node; it serves comparison.
    """

    kind: Literal["DataFly"] = Field(default="DataFly", repr=False, kw_only=True)

    def run(self, search: Search) -> None:
        levels = search.space.minimum
        while not search.check([levels])[0].anonymous:
            steps = search.space.successors(levels)
            if not steps:
                return
            levels = most_distinct(search, levels, steps)


@declared(kind_of=Strategy)
class ImprovedGreedy(Strategy):
    """Take the generalization whose smallest class is largest, until the data are anonymous.

    After Babu et al., "Achieving k-anonymity using improved greedy heuristics for very large relational
    databases". Ties are broken as in DataFly. (Prasser et al. describe the rule with "smallest", which would
    lead away from anonymity; they mean the larger one.)
    """

    kind: Literal["ImprovedGreedy"] = Field(default="ImprovedGreedy", repr=False, kw_only=True)

    def run(self, search: Search) -> None:
        levels = search.space.minimum
        while not search.check([levels])[0].anonymous:
            steps = search.space.successors(levels)
            if not steps:
                return
            search.check([step for _, step in steps])
            smallest = [smallest_class(search, step) for _, step in steps]
            best = [step for step, size in zip(steps, smallest, strict=True) if size == max(smallest)]
            levels = most_distinct(search, levels, best)


def most_distinct(search: Search, levels: Levels, steps: list[tuple[int, Levels]]) -> Levels:
    """Return the step of the attribute with the most distinct values in the data, the first among ties."""
    distinct = search.evaluator.sample.distinct
    return max(steps, key=lambda step: (distinct[step[0]][levels[step[0]]], -step[0]))[1]


def smallest_class(search: Search, levels: Levels) -> int:
    """Return the size of the smallest class of a node."""
    evaluator = search.evaluator
    table = roll_up(evaluator.encoding, search.tables.source(levels), levels, evaluator.work)
    return int(np.min(table.count[table.count > 0], initial=evaluator.sample.records))
