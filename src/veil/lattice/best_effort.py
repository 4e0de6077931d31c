"""Best effort: a greedy descent, then optimal searches of sub-lattices around the best node so far.

Optimal search is infeasible in high dimensions because of the number of attributes, not the work at a node.
So most attributes are fixed at the levels of the best node, a few are free, and branch and bound finds the
best node of that sub-lattice, with the best score so far as its cutoff. Two to twenty free attributes are
decided together in a few hundred checks, most of them on small tables: attributes fixed at a high level make
every class table of the sub-lattice small.

The number of free attributes follows from the cost of the last sub-lattices. Between a quarter and three
quarters of them can still be generalized, because a better node mostly trades one unknown attribute for
another. After many sub-lattices without improvement, more checks are allowed for each, until one of them is
the whole space and the search ends with a proof.
"""

from __future__ import annotations

import random
from typing import Annotated, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.lattice.cuts import cuts_for
from veil.lattice.lightning import descend
from veil.lattice.optimal import BranchAndBound
from veil.lattice.search import Search, Strategy

CHECKS = 200
"""Initial number of checks for a sub-lattice."""

PATIENCE = 64
"""Number of sub-lattices without improvement after which the checks for each are doubled."""


@declared(kind_of=Strategy)
class BestEffort(Strategy):
    """Greedy descent from the top, then optimal searches of sub-lattices around the best node so far.

    The strategy of choice for spaces too large for a complete search. With enough time it ends with a proof.
    """

    seed: Annotated[int, Field(description="the same seed and number of checks give the same result")] = 0
    kind: Literal["BestEffort"] = Field(default="BestEffort", repr=False, kw_only=True)

    def run(self, search: Search) -> None:
        Neighbourhoods(search, self.seed).run()


class Neighbourhoods:
    """The state of a best-effort search, which can be interrupted between sub-lattices and resumed."""

    def __init__(self, search: Search, seed: int) -> None:
        self.search = search
        self.random = random.Random(seed)
        self.movable = [
            j
            for j, (low, high) in enumerate(zip(search.space.minimum, search.space.maximum, strict=True))
            if low < high
        ]
        self.cuts = cuts_for(search.evaluator)
        # Number of free attributes by reach: one level up and down, or all levels.
        self.sizes = {1: 6, 999: 5}
        self.checks = CHECKS
        self.fruitless = 0
        self.has_descended = False

    def run(self, *, until: float = float("inf")) -> None:
        """Search until the whole space has been covered, or so many seconds have passed."""
        search = self.search
        if not self.has_descended:
            descend(search)
            self.has_descended = True
        while search.elapsed < until:
            reach = self.random.choice(tuple(self.sizes))
            boxes = BranchAndBound(search, *self._around(self._centre(), reach), self.cuts)
            before = search.best
            finished = boxes.run(checks=self.checks)
            if boxes.is_whole and finished:
                boxes.conclude()
                return
            self._learn(reach, finished, search.best != before)

    def _centre(self) -> Levels:
        """Return the best node; as long as there is none, the one with the fewest suppressed records."""
        if self.search.best is not None:
            return self.search.best[2]
        evaluations = self.search.space.evaluated.values()
        return min(evaluations, key=lambda each: (each.tally.suppressed, each.levels)).levels

    def _around(self, centre: Levels, reach: int) -> tuple[Levels, Levels]:
        """Choose the free attributes, and return the corners of the sub-lattice."""
        space, size = self.search.space, self.sizes[reach]
        rising = [j for j in self.movable if centre[j] < space.maximum[j]]
        at_top = [j for j in self.movable if centre[j] == space.maximum[j]]
        self.random.shuffle(rising)
        self.random.shuffle(at_top)
        share = self.random.randint(size // 4, size - size // 4)
        half = max(share, size - len(at_top))
        free = {*rising[:half], *at_top[: size - min(half, len(rising))]}
        low = tuple(
            max(space.minimum[j], level - reach) if j in free else level for j, level in enumerate(centre)
        )
        high = tuple(
            min(space.maximum[j], level + reach) if j in free else level for j, level in enumerate(centre)
        )
        return low, high

    def _learn(self, reach: int, finished: bool, improved: bool) -> None:
        """Adapt the size of the next sub-lattices to the allowed checks."""
        if not finished:
            self.sizes[reach] = max(2, self.sizes[reach] - 1)
        else:
            self.sizes[reach] = min(len(self.movable), self.sizes[reach] + 1)
        self.fruitless = 0 if improved else self.fruitless + 1
        if self.fruitless == PATIENCE:
            self.fruitless = 0
            self.checks *= 2
