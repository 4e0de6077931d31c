"""Level costs: the least loss of any release that keeps all promises with an attribute at a level.

That is one search of the lattice for each attribute and level, with that level fixed. They evaluate many of
the same nodes, so they share evaluations, beginning with those of the search before them: with a good node
known, most of the next search is pruned before it begins.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from veil.classes.encoding import Levels
from veil.lattice.auto import Auto
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import BestNode, Limits, Search, Strategy
from veil.lattice.space import Space
from veil.quality.base import Evaluation


class LevelChoice(NamedTuple):
    """The best node with an attribute at a level; None if no evaluated node there keeps all promises."""

    attribute: int
    level: int
    best: Evaluation | None
    proven: bool


def level_costs(
    evaluator: Evaluator,
    previous: BestNode,
    *,
    fixed: Mapping[int, int],
    seconds: float = math.inf,
    threads: int | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[LevelChoice]:
    """Yield the cost of every level of every attribute, with the levels of some attributes fixed for all.

    Choices next to the best node come first, as a baseline. Evaluations are added to the space of the
    previous search. The `seconds` are for all together; choices left at the end get the costs known by then.
    """
    space = previous.space
    low = tuple(fixed.get(j, level) for j, level in enumerate(space.minimum))
    high = tuple(fixed.get(j, level) for j, level in enumerate(space.maximum))
    tables = Search(evaluator, low, high, explored=space).tables
    end = time.perf_counter() + seconds
    centre = space.minimum if previous.best is None else previous.best.levels
    choices = [
        (j, level)
        for j, (first, last) in enumerate(zip(low, high, strict=True))
        for level in range(first, last + 1)
    ]
    choices.sort(key=lambda each: abs(each[1] - centre[each[0]]))
    for number, (attribute, level) in enumerate(choices):
        minimum, maximum = _with(low, attribute, level), _with(high, attribute, level)
        if _is_decided(previous, minimum, maximum):
            yield LevelChoice(attribute, level, previous.best, True)
            continue
        share = (end - time.perf_counter()) / (len(choices) - number)
        limits = Limits(share, cancelled=cancelled)
        search = Search(
            evaluator, minimum, maximum, limits=limits, threads=threads, explored=space, tables=tables
        )
        result = search.run(Auto())
        yield LevelChoice(attribute, level, result.best, result.proven)


class Everything(Strategy):
    """Exhaustive evaluation of a space that is small enough."""

    def run(self, search: Search) -> None:
        nodes = search.space.nodes()
        while batch := list(itertools.islice(nodes, _AT_ONCE)):
            search.check(batch)
        search.proven = True


_AT_ONCE = 1000


def _with(levels: Levels, attribute: int, level: int) -> Levels:
    return (*levels[:attribute], level, *levels[attribute + 1 :])


def _is_decided(previous: BestNode, minimum: Levels, maximum: Levels) -> bool:
    """Return whether the proven best node of the whole space is among these."""
    best = previous.best
    return best is not None and previous.proven and best.levels in Space(minimum, maximum, 0)
