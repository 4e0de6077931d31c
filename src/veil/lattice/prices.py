"""What each choice costs: the least loss of any release that keeps all promises with an attribute at a level.

That is one search of the lattice for each attribute and level, with that level fixed. They look at the same nodes again
and again, so they share what was evaluated, beginning with what the search before them has seen: where a node is known
to be good, most of the next search is ruled out before it begins.
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


class Priced(NamedTuple):
    """The best node with an attribute at a level; None if nothing keeps all promises there, as far as was looked."""

    attribute: int
    level: int
    best: Evaluation | None
    proven: bool


def price_choices(
    evaluator: Evaluator,
    found: BestNode,
    *,
    fixed: Mapping[int, int],
    seconds: float = math.inf,
    threads: int | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Priced]:
    """Price every level of every attribute, with the levels of some attributes fixed for all of them.

    Choices next to the best node come first: their prices are what the others are measured by. What is evaluated is added
    to the space that was found. The `seconds` are for all together; whoever is left when they are over gets what is known.
    """
    space = found.space
    low = tuple(fixed.get(j, level) for j, level in enumerate(space.minimum))
    high = tuple(fixed.get(j, level) for j, level in enumerate(space.maximum))
    tables = Search(evaluator, low, high, known=space).tables
    end = time.perf_counter() + seconds
    centre = space.minimum if found.best is None else found.best.levels
    choices = [
        (j, level)
        for j, (first, last) in enumerate(zip(low, high, strict=True))
        for level in range(first, last + 1)
    ]
    choices.sort(key=lambda each: abs(each[1] - centre[each[0]]))
    for number, (attribute, level) in enumerate(choices):
        minimum, maximum = _with(low, attribute, level), _with(high, attribute, level)
        if _is_settled(found, minimum, maximum):
            yield Priced(attribute, level, found.best, True)
            continue
        share = (end - time.perf_counter()) / (len(choices) - number)
        limits = Limits(share, cancelled=cancelled)
        search = Search(
            evaluator, minimum, maximum, limits=limits, threads=threads, known=space, tables=tables
        )
        result = search.run(Auto())
        yield Priced(attribute, level, result.best, result.proven)


class Everything(Strategy):
    """Looks at every node: no way to search, but to know all of a space that is small enough."""

    def run(self, search: Search) -> None:
        nodes = search.space.nodes()
        while batch := list(itertools.islice(nodes, _AT_ONCE)):
            search.check(batch)
        search.proven = True


_AT_ONCE = 1000


def _with(levels: Levels, attribute: int, level: int) -> Levels:
    return (*levels[:attribute], level, *levels[attribute + 1 :])


def _is_settled(found: BestNode, minimum: Levels, maximum: Levels) -> bool:
    """Whether the best node of the whole space, being among these, is the best of these."""
    best = found.best
    return best is not None and found.proven and best.levels in Space(minimum, maximum, 0)
